"""A cheaper moment is in sight, a pool's hours: who of those that should leave waits for it (R5.2, R6.5).

Waiting `t` hours for a pool at price `later` instead of leaving now at price `now` is worth it while

    t  <=  patience x GPU-hours x (1 - later / now)

the same exchange rate by which a task leaves at all (wait_or_pay.py), applied to the part of its bill that
waiting saves. No task waits beyond its tier's longest wait or its deadline, and none for hours that it would
outlast. Capacity that will come free in a pool that is full now is not foreseen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from agent.core.calendar_windows import Opening
from agent.core.decision import ReasonCode
from agent.core.eligibility import Host, Misfits, demand_of
from agent.core.market import Offer
from agent.core.opening_hours import hours_next
from agent.core.patience import Parting, Stay
from agent.core.policy import Policy
from agent.core.ranking import longest_of_class
from agent.core.snapshot import QueuedTask
from contract.units import show_duration

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Later:
    """A pool with hours, its place in the market, and the hours that come next."""

    number: int
    offer: Offer
    span: Opening


def postpone(parting: Parting, market: Sequence[Offer], policy: Policy, now: datetime) -> Parting:
    """Move those who should wait for a cheaper moment from the leaving to the staying, each with its reason."""
    coming = _coming(market, now)
    if not coming:
        return parting
    misfits = Misfits([Host(offer.row, offer.row.node_labels()) for offer in market], policy.placement)
    going, staying = [], []
    for task in parting.leaving:
        unfit = misfits.of(demand_of(task))
        open_now = (offer for number, offer in enumerate(market) if offer.closed is None and number not in unfit)
        usable = (offer for offer in open_now if offer.room and _ends_in_time(task, offer, now))
        price = min((offer.gpu_hour.amount for offer in usable), default=None)
        worth = [later for later in coming if later.number not in unfit and _is_worth(task, later, price, policy, now)]
        if worth:
            staying.append(_stay(task, min(worth, key=lambda later: (later.span.start, later.offer.row.pool)), now))
        else:
            going.append(task)
    return Parting(leaving=tuple(going), staying=(*staying, *parting.staying))


def _ends_in_time(task: QueuedTask, offer: Offer, now: datetime) -> bool:
    """Whether the pool's hours, if it has any, hold the task."""
    if offer.closes_at is None:
        return True
    return task.runtime is not None and now + offer.row.boot.slowest + longest_of_class(task.runtime) <= offer.closes_at


def _coming(market: Sequence[Offer], now: datetime) -> list[_Later]:
    return [
        _Later(number, offer, span)
        for number, offer in enumerate(market)
        if offer.room and (offer.closed is None or offer.closed.code is ReasonCode.OFF_HOURS)
        if (span := hours_next(offer.row, now))
    ]


def _is_worth(task: QueuedTask, later: _Later, price: Decimal | None, policy: Policy, now: datetime) -> bool:
    """The rule above, and that nothing forbids: tier, deadline, the end of the hours."""
    rules, row = policy.wait_or_pay, later.offer.row
    if price is None or task.runtime is None or price <= later.offer.gpu_hour.amount:
        return False
    wait, end = later.span.start - now, later.span.start + row.boot.slowest + longest_of_class(task.runtime)
    saved = float(1 - later.offer.gpu_hour.amount / price)
    gpu_hours = task.gpus * (task.runtime / _HOUR)
    return (
        wait <= rules.patience * gpu_hours * saved
        and later.span.start - task.queued_since <= rules.longest[task.tier]
        and end <= later.span.end
        and (task.deadline is None or end <= task.deadline)
    )


def _stay(task: QueuedTask, later: _Later, now: datetime) -> Stay:
    starts_in = later.span.start - now
    row, price = later.offer.row, later.offer.gpu_hour
    text = f"{row.pool} opens in {show_duration(starts_in)} at {price} a GPU-hour, which is worth the wait"
    return Stay(task=task, starts_in=starts_in, why=text)
