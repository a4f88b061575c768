"""A trace by the name that a person gives: a file, or the made-up month for who has none at hand."""

from __future__ import annotations

from pathlib import Path

from replay.synthetic import example_company_month
from replay.trace import Trace
from replay.traces.reader import TraceFormat
from replay.traces.registry import read_trace
from replay.traces.shape import first_days

EXAMPLE = "company-month"


def is_example(path: Path) -> bool:
    """Whether the made-up month is meant; a file of that name comes first."""
    return path.name == EXAMPLE and not path.exists()


def recorded(path: Path, trace_format: TraceFormat | None, days: float, *, skip_bad: bool) -> Trace:
    """The trace, or its first days (0: all). Raises InvalidInput."""
    trace = example_company_month(0) if is_example(path) else read_trace(path, format=trace_format, skip_bad=skip_bad)
    return first_days(trace, days) if days else trace
