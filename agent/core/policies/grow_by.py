"""So many nodes more, whoever waits for them: from the cheapest pools that are open, several if need be.

For pressures that know a number and no tasks (calendar, warm pool, a person's order). Pools come first that
can take some of what waits now or, when nothing waits, cards no smaller than the owned ones: cheap nodes
that nobody can use are no help. Which pools are open is the same for all; caps and cool-downs are not its
business.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent.core.costing import node_cost
from agent.core.decision import Alternative, PoolChange, Reason, ReasonCode
from agent.core.eligibility import Host, demand_of, misfit
from agent.core.memory import Memory
from agent.core.placement import Offer, offers
from agent.core.policy import Policy
from agent.core.rules.placement import PlacementRules
from agent.core.snapshot import PoolState, Snapshot, Unknown
from contract.units import Nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """The changes that bring `found` nodes, and why the other pools bring none."""

    changes: tuple[PoolChange, ...]
    found: int
    alternatives: tuple[Alternative, ...]


def is_steady(offer: Offer) -> bool:
    """Whether its cloud does not take nodes back: what is kept ready must be there when it is needed."""
    return not offer.row.is_preemptible


def in_pools(pools: Sequence[str]) -> Callable[[Offer], bool]:
    """The pools named, or all that are steady where none is."""
    return (lambda offer: offer.row.pool in pools) if pools else is_steady


def grow_by(snapshot: Snapshot, policy: Policy, memory: Memory, nodes: int, suits: Callable[[Offer], bool]) -> Growth:
    """Up to `nodes` more in the pools that suit, useful ones first, cheapest GPU-hour first; none beyond its quota."""
    market = offers(snapshot, closed_pools(snapshot, memory), policy.placement, memory.failures)
    is_useful = _usefulness(snapshot, policy.placement)
    left, changes, alternatives = nodes, [], []
    for offer in sorted(market, key=lambda offer: not is_useful(offer)):
        if not suits(offer):
            continue
        count = 0 if offer.closed else min(left, offer.room)
        if count:
            changes.append(more(offer.state, count))
        else:
            alternatives.append(_lost(snapshot, offer, nodes, left))
        left -= count
    return Growth(changes=tuple(changes), found=nodes - left, alternatives=tuple(alternatives))


def more(state: PoolState, count: int) -> PoolChange:
    """`count` nodes more in a pool."""
    before = state.configured
    return PoolChange(pool=state.pool, stack=state.stack, before=before, after=Nodes(before + count))


def closed_pools(snapshot: Snapshot, memory: Memory) -> dict[str, Reason]:
    """The pools that must not grow now, each with the reason."""
    closed = ((pool.pool, _why_closed(pool, snapshot.taken_at, memory)) for pool in snapshot.pools)
    return {pool: reason for pool, reason in closed if reason}


def blindness(snapshot: Snapshot) -> Reason | None:
    """What is rented is not wholly known: nobody who counts nodes may buy more."""
    if not snapshot.blind_stacks:
        return None
    text = f"what is rented is not known: {', '.join(snapshot.blind_stacks)} cannot be read"
    return Reason(code=ReasonCode.SIGNAL_UNKNOWN, text=text)


def shortfall(growth: Growth, wanted: int) -> str:
    """A clause for the reason, when not all could be found."""
    return "" if growth.found == wanted else f"; no open pool has room for the other {wanted - growth.found}"


def _usefulness(snapshot: Snapshot, rules: PlacementRules) -> Callable[[Offer], bool]:
    """Whether a pool can take any task that waits; when none does, whether its cards are as large as an owned one."""
    queue = () if isinstance(snapshot.queue, Unknown) else snapshot.queue
    demands = {demand_of(task) for task in queue}
    if demands:
        return lambda offer: any(
            misfit(each, Host(offer.row, offer.row.node_labels()), rules) is None for each in demands
        )
    least = min((row.gpu_memory for row in snapshot.catalog.onprem_pools()), default=0)
    return lambda offer: offer.row.gpu_memory >= least


def _why_closed(pool: PoolState, now: datetime, memory: Memory) -> Reason | None:
    if isinstance(pool.observed, Unknown):
        return Reason(code=ReasonCode.POOL_UNKNOWN, text=f"its nodes are unknown: {pool.observed.why}")
    if unsettled := pool.unsettled_because():
        return Reason(code=ReasonCode.NOT_SETTLED, text=unsettled)
    pauses: tuple[tuple[Mapping[str, datetime], str, str], ...] = (
        (memory.back_off_until, "backed off", "its cloud could not deliver"),
        (memory.refused_until, "left alone", "its last change could not be carried out"),
    )
    for until, what, why in pauses:
        if (end := until.get(pool.pool)) is not None and end > now:
            text = f"{what} until {end.isoformat(timespec='seconds')}: {why}"
            return Reason(code=ReasonCode.BACKED_OFF, text=text)
    return None


def _lost(snapshot: Snapshot, offer: Offer, nodes: int, left: int) -> Alternative:
    reason = offer.closed
    if reason is None and not offer.room:
        reason = Reason(code=ReasonCode.QUOTA, text=f"its quota of {offer.row.quota} leaves room for 0")
    if reason is None:
        text = f"pools that are cheaper, or that more of the work can use, bring all {nodes - left} nodes"
        reason = Reason(code=ReasonCode.DEARER, text=text)
    return Alternative(
        what=f"{offer.row.pool} +{left or nodes}",
        cost_per_hour=node_cost(snapshot.catalog, offer.row) * (left or nodes),
        lost_because=reason,
    )
