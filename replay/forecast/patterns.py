"""Patterns that a week does not hold: the surge at the end of months, and the lull of the night.

A pattern is told only when it came every time and is rare otherwise; where the history is too short
to say, that is told instead. Knows nothing of clouds or policies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replay.forecast.demand import DAY_HOURS, Demand, Slots
from replay.forecast.models import MONTH_END_DAYS
from replay.forecast.scores import runs

# So much more than in the two weeks before is a surge; so rarely may another week be like it.
_SURGE = 1.15
_RARE = 0.2
_BEFORE_DAYS = 14
_LEAST_MONTHS = 2
# A lull: hours in which four of five nights stay below this share of the usual day's mean.
_LULL_SHARE = 0.7
_LULL_NIGHTS = 0.8
_LULL_LEAST_HOURS = 3
_EVENING, _MORNING = 20, 9


@dataclass(frozen=True, slots=True, kw_only=True)
class MonthEnd:
    """The last days of each month against the two weeks before, as factors; `is_surge` if all are clearly above."""

    days: int
    factors: tuple[float, ...]
    is_surge: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lull:
    """Hours of the night, local time, in which little is wanted; `share` of the usual day's mean."""

    from_hour: int
    hours: int
    share: float


def month_end(demand: Demand, slots: Slots) -> MonthEnd:
    """Whether months end in a surge: needs two ends with two weeks before each."""
    days, place = np.unique(slots.day, return_inverse=True)
    daily = np.bincount(place, weights=demand.gpus) / np.bincount(place)
    left = np.full(len(days), 0)
    left[place] = slots.days_left
    ends, others = [], []
    for last in range(_BEFORE_DAYS + MONTH_END_DAYS - 1, len(days)):
        factor = _factor(daily, last)
        if left[last] == 1:
            ends.append(factor)
        elif left[last] > MONTH_END_DAYS and (left[last - MONTH_END_DAYS + 1 : last + 1] > MONTH_END_DAYS).all():
            others.append(factor)
    factors = tuple(round(factor, 3) for factor in ends)
    if len(ends) < _LEAST_MONTHS:
        says = f"{len(ends)} end of a month seen with two weeks before it; two are needed to tell a pattern from chance"
        return MonthEnd(days=MONTH_END_DAYS, factors=factors, is_surge=False, says=says)
    alike = float(np.mean([factor >= min(ends) for factor in others])) if others else 0.0
    is_surge = min(ends) >= _SURGE and alike <= _RARE
    shown = ", ".join(f"{factor:.2f}" for factor in factors)
    says = f"the last {MONTH_END_DAYS} days against the two weeks before: {shown} times; {alike:.0%} of other weeks too"
    return MonthEnd(days=MONTH_END_DAYS, factors=factors, is_surge=is_surge, says=says)


def _factor(daily: np.typing.NDArray[np.float64], last: int) -> float:
    """The week that ends with a day against the two weeks before: weekdays weigh the same in both."""
    first = last - MONTH_END_DAYS + 1
    before = daily[first - _BEFORE_DAYS : first].mean()
    return float(daily[first : last + 1].mean() / before) if before > 0 else 0.0


def night_lull(demand: Demand, slots: Slots) -> Lull | None:
    """The longest run of quiet hours between evening and morning, if there is one."""
    usual = demand.gpus.mean()
    highs = np.array([np.quantile(demand.gpus[slots.hour_of_day == hour], _LULL_NIGHTS) for hour in range(DAY_HOURS)])
    night = np.array([(_EVENING + place) % DAY_HOURS for place in range(DAY_HOURS - _EVENING + _MORNING)])
    found = max(runs(highs[night] < _LULL_SHARE * usual), key=lambda run: run[1] - run[0], default=(0, 0))
    hours = found[1] - found[0]
    if hours < _LULL_LEAST_HOURS:
        return None
    quiet = night[found[0] : found[1]]
    return Lull(from_hour=int(quiet[0]), hours=hours, share=round(float(highs[quiet].max() / usual), 3))
