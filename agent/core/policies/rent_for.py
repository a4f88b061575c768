"""Nodes for tasks that wait: which tasks leave, which pools take them, how many nodes that is.

Shared by the two pressures that rent for the queue; when to rent is theirs to say, caps are arbitrate's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from agent.core.deadlines import keep_deadlines
from agent.core.decision import Alternative, PoolChange, Reason, ReasonCode
from agent.core.memory import Memory
from agent.core.patience import Parting, Stay, part
from agent.core.placement import Offer, Placement, offers, place
from agent.core.policies.grow_by import closed_pools, more
from agent.core.policy import Policy
from agent.core.postpone import postpone
from agent.core.rules.wait_or_pay import Join
from agent.core.snapshot import LocalState, QueuedTask, Snapshot, Unknown
from contract.units import Nodes, zero

# So many staying tasks are told of one by one; the rest is a number.
_TOLD = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The changes that take who leaves, or none and the reason."""

    changes: tuple[PoolChange, ...]
    reason: Reason
    alternatives: tuple[Alternative, ...] = ()


Who = Callable[[Snapshot, Sequence[Offer], Policy], Parting | Unknown]


def overdue(snapshot: Snapshot, policy: Policy) -> tuple[QueuedTask, ...]:
    """Tasks that have waited for as long as their tier allows at all; none while the queue is unknown."""
    queue = () if isinstance(snapshot.queue, Unknown) else snapshot.queue
    longest = policy.wait_or_pay.longest
    return tuple(task for task in queue if snapshot.taken_at - task.queued_since >= longest[task.tier])


def overdue_leave(snapshot: Snapshot, market: Sequence[Offer], policy: Policy) -> Parting | Unknown:
    """The overdue ones leave, whatever else is judged of the others; not those that could start at home now."""
    local = snapshot.local
    if isinstance(local, Unknown):
        return Unknown(f"nobody can say whether overdue tasks could start at home: {local.why}")
    late = tuple(task for task in overdue(snapshot, policy) if not _fits_home(task, local))
    return keep_deadlines(Parting(leaving=late, staying=()), market, policy, snapshot.taken_at)


def _fits_home(task: QueuedTask, local: LocalState) -> bool:
    """Whether the owned nodes have room for it as they are: then something else than GPUs holds it up."""
    if not local.nodes:
        return task.gpus <= local.gpus - local.gpus_used
    return sum(node.free // max(1, task.gpus_per_pod) for node in local.nodes) >= task.pods


def as_joined(snapshot: Snapshot, market: Sequence[Offer], policy: Policy) -> Parting | Unknown:
    """Who leaves and who stays, as `wait_or_pay.join` says."""
    queue, rules = snapshot.queue, policy.wait_or_pay
    if isinstance(queue, Unknown):
        return Unknown(f"the queue is unknown: {queue.why}")
    now = snapshot.taken_at
    if rules.join is Join.THRESHOLDS:
        return keep_deadlines(Parting(leaving=queue, staying=()), market, policy, now)
    parting = part(snapshot, queue, rules)
    if isinstance(parting, Unknown):
        return parting
    return keep_deadlines(postpone(parting, market, policy, now), market, policy, now)


def rent_for(snapshot: Snapshot, policy: Policy, memory: Memory, least: Nodes, who: Who = as_joined) -> Wanted:
    """What those who leave need in rented nodes now, at least `least` if any, at most a step."""
    rules = policy.placement
    market = offers(snapshot, closed_pools(snapshot, memory), rules, memory.failures)
    parting = who(snapshot, market, policy)
    if isinstance(parting, Unknown):
        return Wanted(changes=(), reason=Reason(code=ReasonCode.SIGNAL_UNKNOWN, text=parting.why))
    stay = _staying(snapshot, parting.staying)
    if not parting.leaving and parting.staying:
        text = f"all {len(parting.staying)} waiting tasks do better to wait"
        return Wanted(changes=(), reason=Reason(code=ReasonCode.WORTH_WAITING, text=text), alternatives=stay)
    placed = place(snapshot, parting.leaving, market, policy.queue_pressure.max_step, rules)
    alternatives = (*placed.alternatives, *stay)
    if not placed.nodes:
        return Wanted(changes=(), reason=_no_need(placed, snapshot), alternatives=alternatives)
    return Wanted(
        changes=_changes(snapshot, _at_least(placed, snapshot, least), dict(placed.units)),
        reason=Reason(code=ReasonCode.TRIGGERED, text=_need(parting, placed)),
        alternatives=alternatives,
    )


def _need(parting: Parting, placed: Placement) -> str:
    leaving: Sequence[QueuedTask] = parting.leaving
    gpus = sum(task.gpus for task in leaving)
    stay = f"; {len(parting.staying)} others do better to wait" if parting.staying else ""
    limits = "".join(f"; {limit.text}" for limit in placed.limits)
    fits = f"{placed.covered} of them fit in what is there or coming"
    return f"{len(leaving)} tasks wait for {gpus} GPUs; {fits}{stay}{limits}"


def _staying(snapshot: Snapshot, staying: Sequence[Stay]) -> tuple[Alternative, ...]:
    """Why the tasks that stay do not leave, as alternatives that lost."""
    nothing = zero(snapshot.catalog.home_currency)
    told = tuple(
        Alternative(
            what=f"leave: {stay.task.task}",
            cost_per_hour=nothing,
            lost_because=Reason(code=ReasonCode.WORTH_WAITING, text=stay.why),
        )
        for stay in staying[:_TOLD]
    )
    if len(staying) <= _TOLD:
        return told
    rest = Reason(code=ReasonCode.WORTH_WAITING, text="they do better to wait")
    return (*told, Alternative(what=f"leave: {len(staying) - _TOLD} more", cost_per_hour=nothing, lost_because=rest))


def _no_need(placed: Placement, snapshot: Snapshot) -> Reason:
    if placed.homeless:
        text = f"no pool can take the {placed.homeless} tasks that do not fit in what is there or coming"
        return Reason(code=ReasonCode.NOTHING_FITS, text=text)
    text = f"the {snapshot.cloud_nodes()} rented nodes, ready or coming, take all tasks that are to leave"
    return Reason(code=ReasonCode.COVERED_BY_COMING, text=text)


def _at_least(placed: Placement, snapshot: Snapshot, least: Nodes) -> dict[str, int]:
    """Bring the step up to its minimum in the chosen pools, in their order, within quota."""
    new = {pool: int(count) for pool, count in placed.new_nodes}
    for pool in new:
        short = least - sum(new.values())
        room = snapshot.catalog.pools[pool].quota - snapshot.pool(pool).rented - new[pool]
        new[pool] += max(0, min(short, room))
    return new


def _changes(
    snapshot: Snapshot, new: Mapping[str, int], units: Mapping[str, tuple[int, ...]]
) -> tuple[PoolChange, ...]:
    """The changes, each with the counts at which a cap may cut it; what was added for the least step is loose."""
    changes = []
    for pool, count in new.items():
        whole = units.get(pool, ())
        loose = (1,) * (count - sum(whole))
        changes.append(replace(more(snapshot.pool(pool), count), units=(*whole, *loose)))
    return tuple(changes)
