"""Ways to forecast the hours ahead, each with quantiles; two of them naive, to be beaten.

A model sees the past and where hours lie in local time, nothing else. All are sums and sorted
values: the same history gives the same forecast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from replay.forecast.demand import DAY_HOURS, WEEK_HOURS, Numbers, Places, Slots

# The rows of a forecast: the outer two hold 80 % of outcomes between them.
QUANTILES = (0.1, 0.5, 0.8, 0.9, 0.95)
LOW, MEDIAN, HIGH = QUANTILES.index(0.1), QUANTILES.index(0.5), QUANTILES.index(0.9)
MONTH_END_DAYS = 7
_RECENT_WEEKS = 4
_NEVER = 99
# Smoothing of the daily level and its trend; a trend fades, since none of demand lasts.
_SMOOTHINGS = tuple((level, trend) for level in (0.1, 0.3, 0.6) for trend in (0.0, 0.1, 0.3))
_FADES = 0.9
# The lead at which errors of the level are measured: the middle of a week ahead.
_LEAD_DAYS = 4

Forecast = Numbers
Predict = Callable[[Numbers, Slots, Slots], Forecast]


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A way to forecast: past demand, where it lies, where the hours ahead lie; one row a quantile comes back."""

    name: str
    predict: Predict
    is_naive: bool = False


def as_yesterday(past: Numbers, slots: Slots, ahead: Slots) -> Forecast:
    """Every day is like the last one."""
    return _repeated(past, slots.hour_of_day, ahead.hour_of_day, DAY_HOURS)


def as_last_week(past: Numbers, slots: Slots, ahead: Slots) -> Forecast:
    """Every week is like the last one."""
    return _repeated(past, slots.hour_of_week, ahead.hour_of_week, WEEK_HOURS)


def _repeated(past: Numbers, at: Places, ahead: Places, season: int) -> Forecast:
    """The last value of the same place, spread as this missed before."""
    last = np.full(season, past[-1])
    last[at] = past  # later hours overwrite earlier ones
    lag = season if len(past) > season else DAY_HOURS
    missed: Numbers = np.quantile(past[lag:] - past[:-lag], QUANTILES)
    missed[MEDIAN] = 0.0
    return _at_least_nothing(last[ahead] + missed[:, None])


def hour_of_week(past: Numbers, slots: Slots, ahead: Slots) -> Forecast:
    """Quantiles of what was wanted at that hour of the week, the hours beside it included."""
    table = np.empty((len(QUANTILES), WEEK_HOURS))
    for hour in range(WEEK_HOURS):
        apart = (slots.hour_of_week - hour + 1) % WEEK_HOURS
        near = past[apart <= 2]
        table[:, hour] = np.quantile(near if len(near) else past, QUANTILES)
    return table[:, ahead.hour_of_week]


def recent_hour_of_week(past: Numbers, slots: Slots, ahead: Slots) -> Forecast:
    """The same from the last four weeks only."""
    first = max(len(past) - _RECENT_WEEKS * WEEK_HOURS, 0)
    return hour_of_week(past[first:], slots.part(first, len(past)), ahead)


def with_month_end(past: Numbers, slots: Slots, ahead: Slots) -> Forecast:
    """Quantiles of other days by hour of the week; the last days of a month by what they were times that."""
    closing = slots.days_left <= MONTH_END_DAYS
    others = Slots(
        hour_of_week=slots.hour_of_week[~closing], day=slots.day[~closing], days_left=slots.days_left[~closing]
    )
    if not closing.any() or closing.all():
        return hour_of_week(past, slots, ahead)
    usual = hour_of_week(past[~closing], others, slots)[MEDIAN]
    factor = past[closing].sum() / max(usual[closing].sum(), 1e-9)
    made = hour_of_week(past[~closing], others, ahead)
    return np.where(ahead.days_left <= MONTH_END_DAYS, made * factor, made)


def level_and_trend(past: Numbers, slots: Slots, ahead: Slots) -> Forecast:
    """Holt-Winters in two steps: the shape of a week, and a daily level with a trend that fades on top of it."""
    shape = _shape(past, slots)
    rest = past - shape[slots.hour_of_week]
    days, place = np.unique(slots.day, return_inverse=True)
    daily = np.bincount(place, weights=rest) / np.bincount(place)
    level, trend = min((_smoothed(daily, *how) for how in _SMOOTHINGS), key=lambda made: _missed(daily, *made))
    lead = np.maximum(ahead.day - days[-1], 1)
    middle = shape[ahead.hour_of_week] + level[-1] + trend[-1] * _faded(lead)
    back = np.maximum(np.arange(len(days)) - _LEAD_DAYS, 0)
    errors = rest - (level[back] + trend[back] * _faded(np.array(_LEAD_DAYS)))[place]
    spread = np.quantile(errors, QUANTILES)
    return _at_least_nothing(middle + spread[:, None] - spread[MEDIAN])


def _shape(past: Numbers, slots: Slots) -> Numbers:
    total = np.bincount(slots.hour_of_week, weights=past, minlength=WEEK_HOURS)
    seen = np.bincount(slots.hour_of_week, minlength=WEEK_HOURS)
    return np.where(seen > 0, total / np.maximum(seen, 1), past.mean())


def _smoothed(daily: Numbers, of_level: float, of_trend: float) -> tuple[Numbers, Numbers]:
    """Level and trend after each day."""
    level, trend = np.zeros(len(daily)), np.zeros(len(daily))
    level[0] = daily[0]
    for day in range(1, len(daily)):
        expected = level[day - 1] + _FADES * trend[day - 1]
        level[day] = expected + of_level * (daily[day] - expected)
        trend[day] = _FADES * trend[day - 1] + of_trend * (level[day] - level[day - 1] - _FADES * trend[day - 1])
    return level, trend


def _missed(daily: Numbers, level: Numbers, trend: Numbers) -> float:
    expected = level[:-1] + _FADES * trend[:-1]
    return float(np.abs(daily[1:] - expected).sum())


def _faded(lead: Places) -> Numbers:
    """How many days of today's trend are to come in so many days."""
    return np.asarray(_FADES * (1 - _FADES**lead) / (1 - _FADES), dtype=np.float64)


def _at_least_nothing(made: Numbers) -> Forecast:
    return np.maximum(made, 0.0)


def on_usual_days(slots: Slots) -> Slots:
    """The same hours as if no month were near its end."""
    return Slots(hour_of_week=slots.hour_of_week, day=slots.day, days_left=np.full_like(slots.days_left, _NEVER))


MODELS = (
    Model(name="as yesterday", predict=as_yesterday, is_naive=True),
    Model(name="as last week", predict=as_last_week, is_naive=True),
    Model(name="hour of week", predict=hour_of_week),
    Model(name="hour of week, last 4 weeks", predict=recent_hour_of_week),
    Model(name="hour of week and month end", predict=with_month_end),
    Model(name="level and trend", predict=level_and_trend),
)
