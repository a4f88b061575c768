"""Windows of time: a rule for the start, and a length in real elapsed time. Nothing has a rule for its end (I39).

A start is the first moment at which the clocks of its zone show the time of day, or a later one: in
the hour that spring skips it is the first valid minute, in the hour that autumn repeats the first of
the two, and one day never gives two (I41). Must not know what a window is for.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from contract.hours import Weekday

_DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)
# The widest step that a zone's clocks have made, at the date line, and a day for the zone's own offset.
_WIDEST = timedelta(days=2)
# Most rules open within days; none that repeats leaves more than a month, lists of exceptions apart.
_SOON, _LATE = timedelta(days=8), timedelta(days=400)
_WEEKDAYS = tuple(Weekday)


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowRule:
    """When a window opens and for how long. `at` is the local time of day, reckoned from midnight.

    The days are those of one list, or the first of the month's last days, or all; less those of `not_on`.
    """

    name: str
    zone: str
    at: timedelta
    length: timedelta
    weekdays: tuple[Weekday, ...] = ()
    last_days_of_month: int = 0
    dates: tuple[date, ...] = ()
    not_on: tuple[date, ...] = ()

    def starts_on(self, day: date) -> bool:
        """Whether the window opens on a local day."""
        if day in self.not_on:
            return False
        if self.last_days_of_month:
            return (day + self.last_days_of_month * _DAY).day == 1
        if self.dates:
            return day in self.dates
        return not self.weekdays or _WEEKDAYS[day.weekday()] in self.weekdays


@dataclass(frozen=True, slots=True, order=True)
class Opening:
    """One time that a window is open, from `start` until before `end`, both in UTC."""

    start: datetime
    end: datetime
    name: str


@dataclass(frozen=True, slots=True, order=True)
class Overlap:
    """A span in which two windows are open at once."""

    start: datetime
    end: datetime
    first: str
    second: str


def openings(rule: WindowRule, since: datetime, until: datetime) -> tuple[Opening, ...]:
    """Every opening that starts in [since, until), in order."""
    day, last = (since - _WIDEST).date(), (until + _WIDEST).date()
    found = set()
    while day <= last:
        if rule.starts_on(day):
            start = first_moment(day, rule.at, rule.zone)
            if since <= start < until:
                found.add(Opening(start, start + rule.length, rule.name))
        day += _DAY
    return tuple(sorted(found))


def open_windows(rules: Iterable[WindowRule], now: datetime) -> tuple[Opening, ...]:
    """The windows that are open now, in the order of the rules."""
    return tuple(found for rule in rules if (found := open_now(rule, now)))


def open_now(rule: WindowRule, now: datetime, lead: timedelta = timedelta(0)) -> Opening | None:
    """The opening that now lies in, or in the `lead` before it; the one that lasts longest, if there are several."""
    now = now.astimezone(UTC)
    near = _near(rule, lead, now.date())
    return max((found for found in near if found.start - lead <= now < found.end), default=None)


def next_opening(rules: Iterable[WindowRule], now: datetime) -> Opening | None:
    """The first opening after now."""
    return min((found for rule in rules if (found := _next(rule, now))), default=None)


def overlaps(rules: Iterable[WindowRule], since: datetime, until: datetime) -> tuple[Overlap, ...]:
    """Every span of [since, until) in which two different windows are open: for people to see (I39)."""
    listed = sorted(found for rule in rules for found in openings(rule, since - rule.length, until))
    found = []
    for number, first in enumerate(listed):
        for second in listed[number + 1 :]:
            if second.start >= first.end:
                break
            start, end = max(second.start, since), min(first.end, second.end, until)
            if first.name != second.name and start < end:
                found.append(Overlap(start, end, first.name, second.name))
    return tuple(sorted(found))


@lru_cache(maxsize=100_000)
def first_moment(day: date, at: timedelta, zone: str) -> datetime:
    """The first moment, in UTC, at which the zone's clocks show `at` of `day` or a later time."""
    wanted = datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)) + at
    moment = wanted.astimezone(UTC)
    if moment.astimezone(wanted.tzinfo).replace(tzinfo=None) == wanted.replace(tzinfo=None):
        return moment
    return _end_of_gap(wanted)


def _end_of_gap(wanted: datetime) -> datetime:
    """The clocks never show it: the minute at which they jump past it. Read from both sides of the jump."""
    late, early = wanted.astimezone(UTC), wanted.replace(fold=1).astimezone(UTC)
    naive = wanted.replace(tzinfo=None)
    while late - early > _MINUTE:
        middle = early + max(1, (late - early) // _MINUTE // 2) * _MINUTE
        if middle.astimezone(wanted.tzinfo).replace(tzinfo=None) < naive:
            early = middle
        else:
            late = middle
    return late


@lru_cache(maxsize=10_000)
def _near(rule: WindowRule, lead: timedelta, day: date) -> tuple[Opening, ...]:
    """The openings that touch a day of UTC: a tick asks for the same day a few thousand times."""
    start = datetime(day.year, day.month, day.day, tzinfo=UTC)
    return tuple(found for found in openings(rule, start - rule.length, start + _DAY + lead) if found.end > start)


def _next(rule: WindowRule, now: datetime) -> Opening | None:
    if rule.dates:
        ahead = (first_moment(day, rule.at, rule.zone) for day in rule.dates if rule.starts_on(day))
        start = min((moment for moment in ahead if moment > now), default=None)
        return Opening(start, start + rule.length, rule.name) if start else None
    after = now + timedelta(microseconds=1)
    soon = openings(rule, after, now + _SOON) or openings(rule, after, now + _LATE)
    return soon[0] if soon else None
