"""Histories of demand with patterns that are known, because they were put in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from replay.forecast.demand import HOUR, Demand

SHANGHAI = ZoneInfo("Asia/Shanghai")
BERLIN = ZoneInfo("Europe/Berlin")
# A Monday, at midnight in Shanghai.
MONDAY = datetime(2026, 8, 31, tzinfo=SHANGHAI)
OWNED = 96


def demand_of(
    wanted: Callable[[datetime], float], weeks: float, starts_at: datetime = MONDAY, noise: float = 0.0
) -> Demand:
    """What is wanted at each hour, told by its local time, with noise that is the same every time."""
    zone, first = starts_at.tzinfo, starts_at.astimezone(UTC)
    hours = round(weeks * 168)
    exact = np.array([wanted((first + place * HOUR).astimezone(zone)) for place in range(hours)])
    drawn = np.random.RandomState(7).normal(0.0, noise, hours) if noise else np.zeros(hours)
    return Demand(name="made", starts_at=first, gpus=np.maximum(exact + drawn, 0.0))


def office(when: datetime) -> float:
    """40 GPUs, and 136 on working days from nine to twelve: 40 more than there are, five nodes."""
    return 136.0 if when.weekday() < 5 and 9 <= when.hour < 12 else 40.0


def closing(when: datetime) -> float:
    """70 GPUs on every day, 130 in the last week of a month."""
    return 130.0 if (when + timedelta(days=7)).month != when.month else 70.0


def quiet_nights(when: datetime) -> float:
    """20 GPUs from two to six, else 80."""
    return 20.0 if 2 <= when.hour < 6 else 80.0


def written_series(folder: Path, demand: Demand, zone: ZoneInfo = SHANGHAI) -> Path:
    """The demand as a series, one row an hour."""
    path = folder / "series.csv"
    rows = (
        f"{(demand.starts_at + place * HOUR).astimezone(zone).isoformat()},{gpus:g}"
        for place, gpus in enumerate(demand.gpus)
    )
    path.write_text("\n".join(["time,gpus_wanted", *rows]) + "\n", encoding="utf-8")
    return path
