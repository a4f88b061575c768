"""The rented pools as offers: room, price and history of each, in the order in which they are looked at.

Whoever grows asks here, with tasks in hand or without; which tasks an offer suits is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from agent.core.costing import gpu_cost
from agent.core.decision import Reason, ReasonCode
from agent.core.opening_hours import hours_next, hours_now
from agent.core.ranking import rank, weigh
from agent.core.rules.placement import DEFAULT, PlacementRules
from agent.core.snapshot import PoolState, Snapshot
from contract.catalog import PoolRow
from contract.units import Money, Nodes

_NO_HISTORY: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A pool that may grow by up to `room` nodes now; `closed` says why it may not.

    `failures`: how often in a row its cloud could not deliver. `closes_at`: when the hours end in which it may be
    rented; None for a pool without hours.
    """

    state: PoolState
    row: PoolRow
    room: Nodes
    gpu_hour: Money
    closed: Reason | None
    failures: int = 0
    closes_at: datetime | None = None


def offers(
    snapshot: Snapshot,
    closed: Mapping[str, Reason],
    rules: PlacementRules = DEFAULT,
    history: Mapping[str, int] = _NO_HISTORY,
) -> tuple[Offer, ...]:
    """All rented pools, reserved first, then the cheapest GPU-hour (ties by name), with room up to the quota.

    `history`: failures in a row by pool.
    """
    made = []
    for state in snapshot.pools:
        row = snapshot.row(state)
        span = hours_now(row, snapshot.taken_at)
        made.append(
            Offer(
                state=state,
                row=row,
                room=Nodes(max(0, row.quota - state.rented)),
                gpu_hour=gpu_cost(snapshot.catalog, row),
                closed=closed.get(state.pool) or off_hours(row, snapshot.taken_at),
                failures=history.get(state.pool, 0),
                closes_at=span.end if span else None,
            )
        )
    return tuple(sorted(made, key=lambda offer: rank(offer, weigh(offer, None, 0, rules))))


def off_hours(row: PoolRow, now: datetime) -> Reason | None:
    """Why a pool with hours may not be rented now; None when it may. No node is bought that would come after them."""
    if row.hours is None:
        return None
    span = hours_now(row, now)
    if span is not None:
        end = f"its hours end at {span.end.isoformat(timespec='minutes')}, before a node would be up"
        return Reason(code=ReasonCode.OFF_HOURS, text=end) if now + row.boot.slowest >= span.end else None
    coming = hours_next(row, now)
    text = f"its hours begin at {coming.start.isoformat(timespec='minutes')}" if coming else "its hours never come"
    return Reason(code=ReasonCode.OFF_HOURS, text=text)
