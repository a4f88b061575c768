"""Which rented pools take the waiting tasks, and why the others lost (R6.1 to R6.3, R4.7).

Tasks are served by tier, then by waiting time. Each goes first into capacity that is there or on its way,
then to new nodes of the pool where its work costs least (ranking.py) among those that may take it
(eligibility.py). A gang lies in one pool, whole or not at all. Tasks of one shape share what was found
out: a pool that has no place for one has none for the next until something is bought.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.core.decision import Alternative, Reason, ReasonCode
from agent.core.eligibility import Demand, Misfits, demand_of
from agent.core.grounds import Ground, ends_before, ground_of
from agent.core.lost_offers import Shape, alternatives, limited
from agent.core.market import Offer, offers
from agent.core.ranking import Weight, rank, runtime_class, weigh
from agent.core.rules.placement import DEFAULT, PlacementRules
from agent.core.snapshot import QueuedTask, Snapshot
from contract.units import Nodes, show_duration

__all__ = ["Offer", "Placement", "offers", "place"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """New nodes by pool, in the order chosen; tasks that nothing can take; why other offers lost.

    `units`: by pool the new nodes in the order bought, each count worth something only whole, and only with
    those before it. `limits`: what kept the pools that were chosen from taking more. `homes`: task and pool,
    of all that found one.
    """

    new_nodes: tuple[tuple[str, Nodes], ...]
    covered: int
    homeless: int
    alternatives: tuple[Alternative, ...]
    units: tuple[tuple[str, tuple[int, ...]], ...] = ()
    limits: tuple[Reason, ...] = ()
    homes: tuple[tuple[str, str], ...] = ()

    @property
    def nodes(self) -> Nodes:
        """New nodes in all."""
        return Nodes(sum(count for _, count in self.new_nodes))


def place(
    snapshot: Snapshot,
    tasks: Iterable[QueuedTask],
    market: Sequence[Offer],
    most: Nodes,
    rules: PlacementRules = DEFAULT,
) -> Placement:
    """Place tasks in the order of service and buy at most `most` new nodes. Pure; ties always fall alike.

    The only way beyond `most`: a gang larger than it, when nothing was bought before and the policy allows it.
    """
    grounds = [ground_of(snapshot, index, offer) for index, offer in enumerate(market)]
    misfits = Misfits([ground.host for ground in grounds], rules)
    filling = _Filling(snapshot.taken_at, grounds, rules, misfits, int(most), int(most))
    covered, homes = 0, []
    for task in sorted(tasks, key=_service):
        shape = filling.shape(task)
        home = filling.take(shape)
        covered += home is not None
        if home := home or filling.buy(shape):
            homes.append((task.task, home.host.row.pool))
    chosen = [grounds[index] for index in filling.chosen]
    shapes = tuple(filling.shapes.values())
    return Placement(
        new_nodes=tuple((ground.host.row.pool, Nodes(ground.new)) for ground in chosen),
        covered=covered,
        homeless=sum(shape.tasks for shape in shapes) - len(homes),
        alternatives=alternatives(snapshot, grounds, shapes, int(most)),
        units=tuple((ground.host.row.pool, tuple(ground.units)) for ground in chosen),
        limits=tuple(_limit(ground, limit) for ground in chosen if (limit := limited(ground, shapes, int(most)))),
        homes=tuple(homes),
    )


def _service(task: QueuedTask) -> tuple[int, float, str]:
    """R6.1: by tier, then by waiting time; ties by name."""
    return task.tier.rank, task.queued_since.timestamp(), task.task


def _limit(ground: Ground, limit: Reason) -> Reason:
    return Reason(code=limit.code, text=f"{ground.host.row.pool} takes no more: {limit.text}")


_Key = tuple[Demand, int, timedelta | None]
_Ranked = list[tuple[Ground, Weight]]


@dataclass(slots=True)
class _Filling:
    """All pools while being filled; what was found out by shape; how many nodes may still be bought."""

    now: datetime
    grounds: list[Ground]
    rules: PlacementRules
    misfits: Misfits
    most: int
    left: int
    shapes: dict[_Key, Shape] = field(default_factory=dict)
    bought: list[Ground] = field(default_factory=list)
    _ranked: dict[tuple[int, int, timedelta | None], _Ranked] = field(default_factory=dict)

    @property
    def chosen(self) -> dict[int, None]:
        """The pools that something was bought in, in that order."""
        return dict.fromkeys(ground.index for ground in self.bought)

    def shape(self, task: QueuedTask) -> Shape:
        """What is known of tasks like this one, brought up to date with what was bought since."""
        key = (demand_of(task), task.pods, runtime_class(task.runtime))
        shape = self.shapes.get(key)
        if shape is None:
            shape = self.shapes[key] = self._new_shape(*key)
        else:
            for ground in self.bought[shape.seen :]:
                shape.look_again(ground)
        shape.tasks += 1
        shape.seen = len(self.bought)
        return shape

    def take(self, shape: Shape) -> Ground | None:
        """A pool whose free places hold the task, now taken."""
        while shape.take_from < len(shape.fits):
            ground, _ = shape.fits[shape.take_from]
            if ground.take(shape.demand.gpus_per_pod, shape.pods):
                return ground
            shape.take_from += 1
        return None

    def buy(self, shape: Shape) -> Ground | None:
        """A pool with new nodes that hold the task, now bought."""
        if self.left == 0:
            shape.is_cut = True
            return None
        while shape.buy_from < len(shape.fits):
            ground, _ = shape.fits[shape.buy_from]
            nodes = self._affordable(ground, shape)
            if nodes:
                ground.buy(nodes, shape.demand.gpus_per_pod, shape.pods)
                self.left = max(0, self.left - nodes)
                self.bought.append(ground)
                shape.winner = shape.winner or ground
                return ground
            shape.buy_from += 1
        return None

    def _affordable(self, ground: Ground, shape: Shape) -> int:
        """New nodes that the task needs there; 0 when they cannot be had."""
        nodes = ground.nodes_for(shape.demand.gpus_per_pod, shape.pods)
        if ground.offer.closed or not ground.has_room(nodes, shape.gpus):
            return 0
        is_first = self.most > 0 and not self.bought
        if nodes <= self.left or (nodes > 1 and is_first and self.rules.gang_may_exceed_step):
            return nodes
        text = f"a gang of {shape.gpus} GPUs needs {nodes} nodes, of this step of {self.most} are {self.left} left"
        ground.refuse(ReasonCode.STEP_LIMIT, text)
        return 0

    def _new_shape(self, demand: Demand, pods: int, runtime: timedelta | None) -> Shape:
        misfits = {**self._too_long(runtime), **self.misfits.of(demand)}
        ranked = self._in_order(demand.gpus_per_pod, pods, runtime)
        return Shape(demand, pods, [entry for entry in ranked if entry[0].index not in misfits], misfits)

    def _too_long(self, runtime: timedelta | None) -> dict[int, Reason]:
        """The pools with hours in which such work would still run when they end."""
        found = {}
        for ground in self.grounds:
            if ground.offer.closes_at is not None and not ends_before(ground, runtime, self.now):
                end = ground.offer.closes_at.isoformat(timespec="minutes")
                text = f"its hours end at {end}, before work of {_show(runtime)} would"
                found[ground.index] = Reason(code=ReasonCode.OFF_HOURS, text=text)
        return found

    def _in_order(self, per_pod: int, pods: int, runtime: timedelta | None) -> _Ranked:
        key = (per_pod, pods, runtime)
        ranked = self._ranked.get(key)
        if ranked is None:
            weighed = [
                (ground, weigh(ground.offer, runtime, _spread(ground, per_pod, pods), self.rules))
                for ground in self.grounds
            ]
            ranked = self._ranked[key] = sorted(weighed, key=lambda entry: rank(entry[0].offer, entry[1]))
        return ranked


def _spread(ground: Ground, per_pod: int, pods: int) -> int:
    """Nodes that the pods would lie on, were all of them new; any number where they do not fit."""
    return -(-pods // max(1, ground.host.row.gpus_per_node // max(1, per_pod)))


def _show(runtime: timedelta | None) -> str:
    return "unknown length" if runtime is None else f"about {show_duration(runtime)}"
