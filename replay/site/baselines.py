"""What others would do on the same site: reactive scalers with one rule for leaving and one for giving back.

Cluster-autoscaler and Karpenter are modelled by their documented defaults, not by their code: any pod that cannot be
scheduled buys at once; nodes without pods go after a delay (10 min after use and after the last growth; at once). They
may not move running training jobs, so that consolidation means empty nodes. Placement is the shipped one, so that the
difference is when to rent and when to give back. Sources: kubernetes/autoscaler FAQ; karpenter.sh, disruption.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.core.decision import PoolChange, Reason, ReasonCode
from agent.core.drain import shrink_by
from agent.core.placement import offers, place
from agent.core.rules.placement import PlacementRules
from agent.core.snapshot import QueuedTask, Snapshot, Unknown
from contract.units import Nodes

_ANY_STEP = Nodes(100_000)
_BACK_OFF = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Habit:
    """`leaves(task, waited)`: whether a task that waits is worth a rented node now. `idle`: then a node goes back.

    `after_growth`: no node goes back sooner after the last purchase. `keep`: so many nodes always stand.
    """

    leaves: Callable[[QueuedTask, timedelta], bool]
    idle: timedelta
    after_growth: timedelta = timedelta(0)
    keep: int = 0


@dataclass(slots=True, eq=False)
class Reactive:
    """A decider with a habit and its own memory."""

    habit: Habit
    rules: PlacementRules
    _idle_since: dict[str, datetime] = field(default_factory=dict)
    _grown_at: datetime | None = None
    _shut_until: dict[str, datetime] = field(default_factory=dict)

    def __call__(self, snapshot: Snapshot) -> Sequence[PoolChange]:
        """The changes for now: what did not come is given up, else growth, else what is idle goes back."""
        self._watch(snapshot)
        return self._give_up(snapshot) or self._grow(snapshot) or self._give_back(snapshot)

    def _watch(self, snapshot: Snapshot) -> None:
        empty = {node.instance_id for pool in snapshot.pools for node in pool.nodes() if node.is_empty}
        before = self._idle_since
        self._idle_since = {name: before.get(name, snapshot.taken_at) for name in empty}

    def _give_up(self, snapshot: Snapshot) -> tuple[PoolChange, ...]:
        """Orders that the cloud refused, and nodes past their deadline."""
        now = snapshot.taken_at
        late = [
            node
            for pool in snapshot.pools
            for node in pool.nodes()
            if not node.gpus and now - node.since > snapshot.row(pool).boot.deadline
        ]
        if late:
            return shrink_by(snapshot, late)
        short = [pool for pool in snapshot.pools if pool.standing < pool.configured]
        self._shut_until |= {pool.pool: now + _BACK_OFF for pool in short}
        return tuple(
            PoolChange(pool=pool.pool, stack=pool.stack, before=pool.configured, after=pool.standing) for pool in short
        )

    def _grow(self, snapshot: Snapshot) -> tuple[PoolChange, ...]:
        now = snapshot.taken_at
        shut = Reason(code=ReasonCode.BACKED_OFF, text="it could not deliver")
        closed = {pool: shut for pool, until in self._shut_until.items() if until > now}
        market = offers(snapshot, closed)
        changes = self._kept(snapshot, closed)
        if not changes and not isinstance(snapshot.queue, Unknown):
            tasks = [task for task in snapshot.queue if self.habit.leaves(task, now - task.queued_since)]
            placed = place(snapshot, tasks, market, _ANY_STEP, self.rules) if tasks else None
            changes = () if placed is None else tuple(_more(snapshot, pool, int(n)) for pool, n in placed.new_nodes)
        if changes:
            self._grown_at = now
        return changes

    def _kept(self, snapshot: Snapshot, closed: dict[str, Reason]) -> tuple[PoolChange, ...]:
        missing, changes = self.habit.keep - int(snapshot.cloud_nodes()), []
        for offer in offers(snapshot, closed):
            if missing > 0 and not offer.closed and not offer.row.is_preemptible:
                count = min(missing, int(offer.room))
                missing -= count
                changes += [_more(snapshot, offer.row.pool, count)] if count else []
        return tuple(changes)

    def _give_back(self, snapshot: Snapshot) -> tuple[PoolChange, ...]:
        now = snapshot.taken_at
        if self._grown_at is not None and now - self._grown_at < self.habit.after_growth:
            return ()
        idle = [
            node
            for pool in snapshot.pools
            for node in pool.nodes()
            if node.instance_id in self._idle_since and now - self._idle_since[node.instance_id] >= self.habit.idle
        ]
        idle.sort(key=lambda node: (node.since, node.instance_id))
        spare = int(snapshot.cloud_nodes()) - self.habit.keep
        return shrink_by(snapshot, idle[: max(0, spare)]) if idle else ()


def _more(snapshot: Snapshot, pool: str, count: int) -> PoolChange:
    state = snapshot.pool(pool)
    after = Nodes(state.configured + count)
    return PoolChange(pool=pool, stack=state.stack, before=state.configured, after=after)
