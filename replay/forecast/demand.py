"""Demand hour by hour: the GPUs that were wanted, on average over each hour, and where an hour lies in local time.

Hours are counted in UTC, so none is missing or doubled; a local day of 23 or 25 hours only shifts
which hour of the week follows. Knows nothing of what is forecast from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from contract.problems import InvalidInput, Problem
from replay.trace import NO_DATE, Trace

Numbers = npt.NDArray[np.float64]
Places = npt.NDArray[np.int64]

HOUR = timedelta(hours=1)
DAY_HOURS, WEEK_HOURS = 24, 168
LEAST_WEEKS = 2
# So many hours without any demand are a hole in the recording, not a holiday.
HOLE_HOURS = 14 * DAY_HOURS


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Demand:
    """`gpus[i]` were wanted in the hour that starts `i` hours after `starts_at`, which is UTC and on the hour."""

    name: str
    starts_at: datetime
    gpus: Numbers
    has_dates: bool = True

    @property
    def ends_at(self) -> datetime:
        """The end of the last hour."""
        return self.starts_at + len(self.gpus) * HOUR


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Slots:
    """Where hours lie in local time: hour of the week from Monday 0:00, the day, and days until the month is over."""

    hour_of_week: Places
    day: Places
    days_left: Places

    @property
    def hour_of_day(self) -> Places:
        """0 to 23."""
        return self.hour_of_week % DAY_HOURS

    def part(self, first: int, last: int) -> Slots:
        """The hours from `first` to before `last`."""
        return Slots(
            hour_of_week=self.hour_of_week[first:last], day=self.day[first:last], days_left=self.days_left[first:last]
        )


def slots_of(starts_at: datetime, hours: int, zone: ZoneInfo) -> Slots:
    """The local places of so many hours; an hour that begins at half past counts to the hour it begins in."""
    local = [(starts_at + place * HOUR).astimezone(zone) for place in range(hours)]
    return Slots(
        hour_of_week=np.array([when.weekday() * DAY_HOURS + when.hour for when in local], dtype=np.int64),
        day=np.array([when.toordinal() for when in local], dtype=np.int64),
        days_left=np.array([_days_left(when) for when in local], dtype=np.int64),
    )


def _days_left(when: datetime) -> int:
    """1 on the last day of a month."""
    following = (when.replace(day=1) + timedelta(days=32)).replace(day=1)
    return (following.date() - when.date()).days


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Steps:
    """`gpus[i]` are wanted from `at_s[i]` to the next, in seconds since `starts_at`; until `ends_s`."""

    starts_at: datetime
    at_s: Numbers
    gpus: Numbers
    ends_s: float


def wanted_by(trace: Trace) -> Demand:
    """What a trace wants if every job starts when it arrives. Ends with the arrivals: later hours lack new jobs."""
    arrivals = np.array([job.arrival_s for job in trace.jobs])
    gpus = np.array([job.gpus for job in trace.jobs], dtype=np.float64)
    ends = arrivals + np.array([job.runtime_s for job in trace.jobs])
    at = np.concatenate([arrivals, ends])
    order = np.argsort(at, kind="stable")
    wanted = np.cumsum(np.concatenate([gpus, -gpus])[order])
    steps = Steps(starts_at=trace.starts_at, at_s=at[order], gpus=wanted, ends_s=float(arrivals[-1]))
    return replace(averaged(trace.name, steps), has_dates=trace.starts_at != NO_DATE)


def averaged(name: str, steps: Steps) -> Demand:
    """Means over the whole hours of a step function."""
    begins = steps.starts_at.astimezone(UTC)
    first = begins.replace(minute=0, second=0, microsecond=0)
    if begins > first:
        first += HOUR
    offset_s = (first - begins).total_seconds()
    hours = max(int((steps.ends_s - offset_s) // 3600), 0)
    edges = offset_s + 3600.0 * np.arange(hours + 1)
    area = np.concatenate([[0.0], np.cumsum(steps.gpus[:-1] * np.diff(steps.at_s))])
    beyond = np.maximum(edges - steps.at_s[-1], 0.0) * steps.gpus[-1]
    means = np.diff(np.interp(edges, steps.at_s, area) + beyond) / 3600.0
    # Sums of many jobs leave dust that is no demand.
    return Demand(name=name, starts_at=first, gpus=np.round(np.maximum(means, 0.0), 6))


def check(demand: Demand, *, is_measured: bool) -> None:
    """Refuse what nothing can be learned from, with what would do. Raises InvalidInput.

    A measured zero is a zero; a trace without jobs for weeks may as well have a hole.
    """
    weeks = len(demand.gpus) / WEEK_HOURS
    if weeks < LEAST_WEEKS:
        _refuse(
            demand,
            f"the history is {weeks:.1f} weeks long; a week can only be told from chance by {LEAST_WEEKS} or more",
            f"give at least {LEAST_WEEKS} weeks; three months show the ends of months, too",
        )
    if not demand.gpus.any():
        _refuse(demand, "no GPU was wanted in any hour", "give a history with demand")
    since, hours = longest_silence(demand.gpus)
    if hours >= HOLE_HOURS and not is_measured:
        first, last = demand.starts_at + since * HOUR, demand.starts_at + (since + hours) * HOUR
        _refuse(
            demand,
            f"nothing at all was wanted from {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC, {hours // 24} days: "
            "a hole in the recording, not a lull",
            "give the history before or after it, or fill it from another source",
        )


def longest_silence(gpus: Sequence[float] | Numbers) -> tuple[int, int]:
    """Where the longest run of hours without demand begins, and how long it is."""
    busy = [-1, *np.flatnonzero(np.asarray(gpus)).tolist(), len(gpus)]
    before, after = max(pairwise(busy), key=lambda pair: pair[1] - pair[0])
    return int(before) + 1, int(after - before) - 1


def _refuse(demand: Demand, message: str, fix: str) -> None:
    raise InvalidInput([Problem(file=demand.name, where="the history", message=message, fix=fix)])
