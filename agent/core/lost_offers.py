"""Why each pool that takes nothing new lost, with the figures (R9.2, R4.7).

In the order of what a person would ask first: may it grow now, may it take the work at all, had it room,
was another cheaper.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from agent.core.costing import node_cost
from agent.core.decision import Alternative, Reason, ReasonCode
from agent.core.eligibility import Demand
from agent.core.grounds import Ground
from agent.core.ranking import Weight, show_weight
from agent.core.snapshot import Snapshot
from contract.catalog import Billing

# So many different misfits of one pool are told; the rest is a number.
_TOLD = 3


@dataclass(slots=True, eq=False)
class Shape:
    """Tasks that fit the same pools in the same order. `fits`: those pools, best first; `misfits`: why not the others.

    All pools before `take_from` have no free place for such a task, all before `buy_from` no new nodes. `is_cut`:
    the step was used up when one of them came.
    """

    demand: Demand
    pods: int
    fits: list[tuple[Ground, Weight]]
    misfits: Mapping[int, Reason]
    tasks: int = 0
    seen: int = 0
    take_from: int = 0
    buy_from: int = 0
    winner: Ground | None = None
    is_cut: bool = False
    places: dict[int, int] = field(init=False)

    def __post_init__(self) -> None:
        self.places = {ground.index: place for place, (ground, _) in enumerate(self.fits)}

    @property
    def gpus(self) -> int:
        """GPUs of one such task."""
        return self.demand.gpus_per_pod * self.pods

    def look_again(self, ground: Ground) -> None:
        """Something was bought there, so that it may have free places now."""
        if (place := self.places.get(ground.index)) is not None:
            self.take_from = min(self.take_from, place)
            self.buy_from = min(self.buy_from, place)


def alternatives(
    snapshot: Snapshot, grounds: Sequence[Ground], shapes: Sequence[Shape], most: int
) -> tuple[Alternative, ...]:
    """Each pool without new nodes, as if it had brought what the busiest one brings."""
    nodes = max((ground.new for ground in grounds), default=0) or 1
    return tuple(
        Alternative(
            what=f"{ground.host.row.pool} +{nodes}",
            cost_per_hour=node_cost(snapshot.catalog, ground.host.row) * nodes,
            lost_because=_why(ground, shapes, most),
        )
        for ground in grounds
        if not ground.new
    )


def limited(ground: Ground, shapes: Sequence[Shape], most: int) -> Reason | None:
    """What kept the pool from taking more: the first thing that did, or else the end of the step."""
    if ground.limit:
        return ground.limit
    if not any(shape.is_cut and ground.index in shape.places for shape in shapes):
        return None
    if ground.offer.room == ground.new:
        return _full(ground)
    return Reason(code=ReasonCode.STEP_LIMIT, text=f"the rest of the queue is beyond this step of {most}")


def _full(ground: Ground) -> Reason:
    return Reason(code=ReasonCode.QUOTA, text=f"its quota of {ground.host.row.quota} leaves room for 0")


def _why(ground: Ground, shapes: Sequence[Shape], most: int) -> Reason:
    if ground.offer.closed:
        return ground.offer.closed
    if not shapes:
        return Reason(code=ReasonCode.NOTHING_TO_DO, text="no task waits for it")
    suited = [shape for shape in shapes if ground.index in shape.places]
    if not suited:
        return _unsuited(ground, shapes)
    if ground.limit:
        return ground.limit
    won = [(shape, shape.winner) for shape in suited if shape.winner]
    if won:
        return _dearer(ground, *won[0]) if ground.offer.room else _full(ground)
    covered = Reason(code=ReasonCode.COVERED_BY_COMING, text="what is there or coming takes all that would fit it")
    return limited(ground, suited, most) or covered


def _unsuited(ground: Ground, shapes: Sequence[Shape]) -> Reason:
    """What most tasks miss gives the code; the commonest are told."""
    counts: Counter[Reason] = Counter()
    for shape in shapes:
        counts[shape.misfits[ground.index]] += shape.tasks
    # Equal counts stay in the order of service.
    common = counts.most_common(_TOLD)
    if len(counts) == 1:
        return common[0][0]
    told = [f"{count} x {reason.text}" for reason, count in common]
    if len(counts) > _TOLD:
        told.append(f"and {len(counts) - _TOLD} other reasons")
    return Reason(code=common[0][0].code, text="; ".join(told))


def _dearer(ground: Ground, shape: Shape, winner: Ground) -> Reason:
    own, other = (shape.fits[shape.places[each.index]] for each in (ground, winner))
    text = f"{show_weight(own[0].offer, own[1])} against {show_weight(other[0].offer, other[1])} of {_name(winner)}"
    if winner.host.row.billing is Billing.RESERVED is not ground.host.row.billing:
        text += ", which is reserved and paid anyway"
    elif own[1].useful == other[1].useful:
        text += ", and ties go by name"
    return Reason(code=ReasonCode.DEARER, text=text)


def _name(ground: Ground) -> str:
    return ground.host.row.pool
