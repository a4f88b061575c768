"""Caps on a growth: quota, limits of the policy, a person's order, step and budget. Each leaves a reason.

They only ever make a growth smaller. Who is bound by a step is said by whoever calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Decimal
from itertools import accumulate

from agent.core.costing import node_cost, rented_cost
from agent.core.decision import PoolChange, Proposal, Reason, ReasonCode
from agent.core.policies.floors import ceiling, show_order
from agent.core.policy import Policy
from agent.core.snapshot import Snapshot, Unknown
from contract.units import Money, Nodes, show_duration

# More nodes than anybody rents.
_ANY = 10**9
_Rule = tuple[ReasonCode, int, str]


@dataclass(slots=True)
class _Room:
    """What is left under the caps that all changes of one growth share."""

    nodes: int
    step: int | None
    cost: Money
    budget: Money | None
    ordered: _Rule | None


def cap_growth(
    proposal: Proposal, snapshot: Snapshot, policy: Policy, *, has_step: bool
) -> tuple[Proposal, tuple[Reason, ...]]:
    """The growth as far as every cap lets it through, and what cut it down; without changes if nothing is left."""
    if isinstance(snapshot.budget_left, Unknown):
        text = f"what is left of the budget is unknown: {snapshot.budget_left.why}"
        return replace(proposal, changes=()), (Reason(code=ReasonCode.SIGNAL_UNKNOWN, text=text),)
    room = _room(snapshot, policy, snapshot.budget_left, has_step=has_step)
    reasons: list[Reason] = []
    changes: list[PoolChange] = []
    for change in proposal.changes:
        allowed, found = _allowed(change, _rules(change, room, snapshot, policy))
        reasons.extend(found)
        _take(room, change, allowed, snapshot, policy)
        if allowed:
            after = Nodes(change.before + allowed)
            units = change.units if allowed == change.delta else ()
            changes.append(replace(change, after=after, replaces=change.replaces[:allowed], units=units))
    return replace(proposal, changes=tuple(changes)), tuple(reasons)


def _allowed(change: PoolChange, rules: Iterator[_Rule]) -> tuple[int, list[Reason]]:
    """How many of a change's nodes pass every cap, cut between its units, and what cut them."""
    allowed, found = change.delta, []
    for code, most, text in rules:
        if most < allowed:
            allowed = _whole_units(change, max(0, most))
            whole = ", for a gang's nodes come whole or not at all" if 0 <= allowed < most else ""
            cut = f"{text}: {change.delta} nodes of {change.pool} became {allowed}{whole}"
            found.append(Reason(code=code, text=cut))
    return allowed, found


def _whole_units(change: PoolChange, most: int) -> int:
    """The most nodes up to `most` that do not end inside a unit."""
    if not change.units:
        return most
    return max(total for total in accumulate(change.units, initial=0) if total <= most)


def _step(change: PoolChange, room: _Room, policy: Policy) -> int:
    """A gang larger than a step is let through whole when it comes first: else it could never start."""
    step = room.step or 0
    is_first = step == policy.queue_pressure.max_step
    if change.units and is_first and policy.placement.gang_may_exceed_step:
        return max(step, change.units[0])
    return step


def _room(snapshot: Snapshot, policy: Policy, budget: Money | None, *, has_step: bool) -> _Room:
    rented = int(snapshot.cloud_nodes())
    ceiling_cost = snapshot.catalog.in_home_currency(policy.limits.max_cost_per_hour)
    order = ceiling(snapshot) if snapshot.orders else None
    return _Room(
        nodes=policy.limits.max_cloud_nodes - rented,
        step=int(policy.queue_pressure.max_step) if has_step else None,
        cost=ceiling_cost - rented_cost(snapshot),
        budget=None if budget is None else snapshot.catalog.in_home_currency(budget),
        ordered=(ReasonCode.ORDER, order.nodes - rented, f"at most {order.nodes}, {show_order(order)}")
        if order
        else None,
    )


def _rules(change: PoolChange, room: _Room, snapshot: Snapshot, policy: Policy) -> Iterator[_Rule]:
    """Each cap with how many nodes of this pool it still lets through."""
    row, limits = snapshot.catalog.pools[change.pool], policy.limits
    each = node_cost(snapshot.catalog, row)
    yield ReasonCode.QUOTA, row.quota - change.before, f"{change.pool} may hold {row.quota} nodes"
    if (most := limits.max_nodes_in.get(change.pool)) is not None:
        yield ReasonCode.POOL_LIMIT, most - change.before, f"the policy allows {most} nodes of {change.pool}"
    if room.ordered is not None:
        yield room.ordered
    yield ReasonCode.NODE_LIMIT, room.nodes, f"at most {limits.max_cloud_nodes} rented nodes in all"
    most_cost = snapshot.catalog.in_home_currency(limits.max_cost_per_hour)
    yield ReasonCode.COST_LIMIT, _times(room.cost, each), f"at most {most_cost} an hour in all"
    if room.step is not None:
        yield (
            ReasonCode.STEP_LIMIT,
            _step(change, room, policy),
            f"at most {policy.queue_pressure.max_step} nodes a step",
        )
    if room.budget is not None:
        text = f"{show_duration(limits.commit_for)} of each must fit in the {room.budget} that the budget has left"
        yield ReasonCode.BUDGET, _times(room.budget, each.for_duration(limits.commit_for)), text


def _take(room: _Room, change: PoolChange, allowed: int, snapshot: Snapshot, policy: Policy) -> None:
    each = node_cost(snapshot.catalog, snapshot.catalog.pools[change.pool])
    room.nodes -= allowed
    room.cost -= each * allowed
    if room.step is not None:
        room.step -= allowed
    if room.budget is not None:
        room.budget -= each.for_duration(policy.limits.commit_for) * allowed
    if room.ordered is not None:
        code, most, text = room.ordered
        room.ordered = (code, most - allowed, text)


def _times(room: Money, each: Money) -> int:
    """How often `each` fits, rounded towards nothing; what costs nothing fits as often as anybody asks."""
    if each.amount <= 0:
        return 0 if room.amount < 0 else _ANY
    return int(min(Decimal(_ANY), room.amount / each.amount).to_integral_value(ROUND_FLOOR))
