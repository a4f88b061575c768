"""One forecast from end to end: demand in; scores, patterns and proposals out, as values and as plain data.

Honest by construction: without dates, without owned GPUs to hold demand against, or without a model
that beats the naive ones, there are no proposals, and the reason is told.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from zoneinfo import ZoneInfo

import numpy as np

from replay.forecast.demand import WEEK_HOURS, Demand, Numbers, Slots, slots_of
from replay.forecast.models import MEDIAN, QUANTILES, Forecast, on_usual_days
from replay.forecast.patterns import Lull, MonthEnd, month_end, night_lull
from replay.forecast.proposals import Supply, Window, as_calendar_row, as_prewarm, at_month_end, weekly
from replay.forecast.scores import Surges, Verdict, judge

# Where the owned GPUs are not known, hours above this share of all are called surges.
_BUSY_SHARE = 0.9
_DIGITS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the caller asks for. `on_prem_gpus` 0: not known."""

    zone: ZoneInfo
    weeks_held_out: int = 2
    on_prem_gpus: int = 0
    gpus_per_node: int = 8
    lead: str = "20m"
    plan_for: float = 0.8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Report:
    """What was found. `usual_week`: past medians by hour of the week; `planned_week`: what windows are made for."""

    demand: Demand
    wish: Wish
    verdict: Verdict
    surge_over: float
    usual_week: Numbers
    planned_week: Numbers
    month_end: MonthEnd
    lull: Lull | None
    windows: tuple[Window, ...]
    notes: tuple[str, ...]

    @property
    def prewarm(self) -> str:
        """The proposals as the policy's section; empty without any."""
        return as_prewarm(self.windows, self.wish.zone.key)

    @property
    def calendar_row(self) -> str:
        """The night as a row of the policy's calendar; empty without a lull."""
        return as_calendar_row(self.lull) if self.lull else ""


def forecast(demand: Demand, wish: Wish) -> Report:
    """Judge the models on held-out weeks, look for patterns, and propose windows where that is honest."""
    slots = slots_of(demand.starts_at, len(demand.gpus), wish.zone)
    over = float(wish.on_prem_gpus or np.quantile(demand.gpus, _BUSY_SHARE))
    verdict = judge(demand, slots, wish.weeks_held_out, Surges(over_gpus=over, plan_for=wish.plan_for))
    made = _next_week(demand, slots, verdict, wish.zone)
    planned = made[QUANTILES.index(wish.plan_for)]
    ends = month_end(demand, slots)
    windows, notes = _proposed(demand, slots, planned, wish, (verdict, ends))
    return Report(
        demand=demand,
        wish=wish,
        verdict=verdict,
        surge_over=over,
        usual_week=made[MEDIAN],
        planned_week=planned,
        month_end=ends,
        lull=night_lull(demand, slots) if demand.has_dates else None,
        windows=windows,
        notes=notes,
    )


def _next_week(demand: Demand, slots: Slots, verdict: Verdict, zone: ZoneInfo) -> Forecast:
    """The week after the history by hour of the week, as if no month were near its end."""
    # A day more than a week: of the hour that spring leaves out there is another one, an autumn's second is left.
    ahead = slots_of(demand.ends_at, WEEK_HOURS + 1, zone)
    made = verdict.chosen.predict(demand.gpus, slots, on_usual_days(ahead))
    by_hour = np.zeros((len(QUANTILES), WEEK_HOURS))
    by_hour[:, ahead.hour_of_week[::-1]] = made[:, ::-1]
    for hour in sorted(set(range(WEEK_HOURS)) - set(ahead.hour_of_week.tolist())):
        by_hour[:, hour] = by_hour[:, hour - 1]
    return by_hour


def _proposed(
    demand: Demand, slots: Slots, planned: Numbers, wish: Wish, found: tuple[Verdict, MonthEnd]
) -> tuple[tuple[Window, ...], tuple[str, ...]]:
    """The windows, and why there are none or what to know of them."""
    verdict, ends = found
    notes = []
    if verdict.weeks_held_out < wish.weeks_held_out:
        notes.append(f"{verdict.weeks_held_out} instead of {wish.weeks_held_out} weeks held out: the history is short")
    if not demand.has_dates:
        return (), (*notes, "the history has no dates, so weekdays and hours are made up: no windows are proposed")
    if not wish.on_prem_gpus:
        return (), (*notes, "give --on-prem GPUS to get windows proposed for demand above the owned GPUs")
    supply = Supply(
        on_prem_gpus=wish.on_prem_gpus, gpus_per_node=wish.gpus_per_node, zone=wish.zone.key, lead=wish.lead
    )
    closing = at_month_end(ends, demand, slots, supply, wish.plan_for)
    windows = [closing] if closing else []
    if verdict.is_better:
        windows[:0] = weekly(planned, demand, slots, supply)
    else:
        notes.append("no pattern of the week forecasts better than naive: no weekly windows are proposed")
    if not windows:
        notes.append("nothing is proposed")
    elif sum(window.length == "24h" for window in windows) and (planned > wish.on_prem_gpus).all():
        notes.append("planned demand is above the owned GPUs at every hour: for the base, reserved nodes are cheaper")
    return tuple(windows), tuple(notes)


def as_data(report: Report) -> dict[str, object]:
    """The report as plain data for machine readers; figures rounded, so that they are stable."""
    demand, verdict = report.demand, report.verdict
    return {
        "history": {
            "name": demand.name,
            "starts_at": demand.starts_at.isoformat(),
            "ends_at": demand.ends_at.isoformat(),
            "hours": len(demand.gpus),
            "has_dates": demand.has_dates,
            "mean_gpus": _round(float(demand.gpus.mean())),
            "peak_gpus": _round(float(demand.gpus.max())),
        },
        "zone": report.wish.zone.key,
        "on_prem_gpus": report.wish.on_prem_gpus or None,
        "surge_over_gpus": _round(report.surge_over),
        "plan_for": report.wish.plan_for,
        "weeks_held_out": verdict.weeks_held_out,
        "chosen": verdict.chosen.name,
        "is_better_than_naive": verdict.is_better,
        "scores": [{key: _round(value) for key, value in asdict(score).items()} for score in verdict.scores],
        "usual_week": [_round(float(value)) for value in report.usual_week],
        "planned_week": [_round(float(value)) for value in report.planned_week],
        "month_end": asdict(report.month_end),
        "night_lull": asdict(report.lull) if report.lull else None,
        "proposals": [asdict(window) | {"approved_by": None, "approved_on": None} for window in report.windows],
        "prewarm_yaml": report.prewarm,
        "calendar_yaml": report.calendar_row,
        "notes": list(report.notes),
    }


def _round(value: object) -> object:
    """Rounded; what is not finite has no figure, and JSON no word for it."""
    if not isinstance(value, float):
        return value
    return round(value, _DIGITS) if np.isfinite(value) else None
