"""The one format for everybody's own jobs, as CSV or Parquet; docs/traces.md is its description.

Times are all seconds or all ISO 8601 with a zone: a file that mixes them has no one clock.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from contract.units import BadUnit, GiB, parse_duration
from contract.work import DataClass, Tier, WorkKind
from replay.trace import Job
from replay.traces.reader import Reader, Rows, TraceFormat
from replay.traces.table import Table, plain_number


def jobs(table: Table) -> Rows:
    """One job a row; the first readable arrival says which clock the file has."""
    clock: Callable[[str], float] | None = None
    for line in table:
        clock = clock or _clock(table)
        yield (
            line,
            Job(
                name=table.text("name") or f"row-{line}",
                arrival_s=_arrival(table, clock),
                runtime_s=_runtime(table),
                gpus=table.gpus("gpus"),
                department=table.text("department", "all"),
                user=table.text("user"),
                tier=table.choice("tier", Tier, Tier.PRODUCTION),
                kind=table.choice("kind", WorkKind, WorkKind.OTHER),
                data=table.choice("data", DataClass, DataClass.OPEN),
                gpu_memory=_gpu_memory(table),
                is_preemptible=table.flag("preemptible", default=False),
                deadline_s=_arrival(table, clock, "deadline") if table.text("deadline") else None,
            ),
        )


def _clock(table: Table) -> Callable[[str], float] | None:
    """Seconds or moments; not known while the arrival at hand is neither."""
    number = plain_number(table.text("arrival"))
    if number is not None and math.isfinite(number):
        return table.seconds
    return table.moment if table.is_time("arrival") else None


def _arrival(table: Table, clock: Callable[[str], float] | None, column: str = "arrival") -> float:
    is_number = plain_number(table.text(column)) is not None
    if clock == table.moment and is_number:
        table.bad(column, "is in seconds where rows above have times", "write all times of a file in one way")
        return math.nan
    if clock == table.seconds and not is_number and table.is_time(column):
        table.bad(column, "is a time where rows above have seconds", "write all times of a file in one way")
        return math.nan
    return (clock or table.moment)(column)


def _runtime(table: Table) -> float:
    """Seconds, or a duration such as 1h30m."""
    text = table.text("runtime")
    if not text or plain_number(text) is not None:
        return table.runtime("runtime")
    try:
        value = parse_duration(text).total_seconds()
    except (BadUnit, OverflowError):
        table.bad("runtime", f"{text[:40]!r} is no run time", "write seconds such as 5400, or a duration such as 1h30m")
        return math.nan
    if value <= 0:
        table.bad_runtime("runtime", value)
    return value


def _gpu_memory(table: Table) -> GiB:
    return GiB(table.count("gpu_memory_gib", at_least=0, unit="GiB") if table.text("gpu_memory_gib") else 0)


READER = Reader(
    format=TraceFormat.GENERIC,
    required=("arrival", "runtime", "gpus"),
    optional=(
        "name",
        "department",
        "user",
        "tier",
        "kind",
        "data",
        "gpu_memory_gib",
        "preemptible",
        "deadline",
    ),
    jobs=jobs,
)
