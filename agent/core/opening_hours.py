"""Whether a pool may be rented now, until when, or when next: the catalogue's `hours` at a moment (R1, R5.2)."""

from __future__ import annotations

from datetime import datetime
from functools import lru_cache

from agent.core.calendar_windows import Opening, WindowRule, next_opening, open_now
from contract.catalog import PoolRow
from contract.hours import Hours


def may_rent(row: PoolRow, now: datetime) -> bool:
    """Whether its nodes may be rented now."""
    return row.hours is None or hours_now(row, now) is not None


def hours_now(row: PoolRow, now: datetime) -> Opening | None:
    """The span in which it is open now; None when it is closed, or open for ever."""
    return None if row.hours is None else open_now(_rule(row.hours), now)


def hours_next(row: PoolRow, now: datetime) -> Opening | None:
    """The next span in which it will be open; None when it is open for ever."""
    return None if row.hours is None else next_opening((_rule(row.hours),), now)


@lru_cache(maxsize=1000)
def _rule(hours: Hours) -> WindowRule:
    return WindowRule(name="hours", zone=hours.zone, at=hours.opens, length=hours.length, weekdays=hours.weekdays)
