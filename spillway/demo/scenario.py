"""What the demo plays: a morning on which a real surge meets a cluster of 96 GPUs."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_START = datetime(2026, 11, 30, 8, 0, tzinfo=timezone(timedelta(hours=8)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One run: trace, virtual start, seed, and when to give up."""

    workload: Path = ROOT / "sim" / "traces" / "itp04_surge.csv"
    start: datetime = _START
    seed: int = 7
    longest: timedelta = timedelta(hours=24)
    faults: Path | None = None
