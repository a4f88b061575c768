"""Reads a history of demand: a trace of jobs, or a series of measurements.

A series is `time,gpus_wanted`, or the minute files of Helios, whose running and pending GPUs are added.
Gaps and values that are no numbers are named by row: unknown is not zero.
"""

from __future__ import annotations

import math
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from replay.forecast.demand import Demand, Steps, averaged, check, wanted_by
from replay.traces.findings import RowFindings
from replay.traces.registry import read_trace
from replay.traces.source import PARQUET_MAGIC, head, text_rows
from replay.traces.table import Table

PLAIN = ("time", "gpus_wanted")
HELIOS = ("time", "running_gpu_num", "pending_gpu_num")
# A measurement stands for no more than this much time.
MOST_STEP_S = 3600.0


def read_demand(path: Path, zone: ZoneInfo, *, skip_bad: bool = False) -> Demand:
    """The demand hour by hour; the columns tell whether it is a series or a trace. Raises InvalidInput."""
    findings = RowFindings(file=path.name)
    if head(path, findings) != PARQUET_MAGIC:
        first = next(text_rows(path, findings), None)
        header = [cell.strip() for cell in first[1]] if first else []
        for columns in (PLAIN, HELIOS):
            if set(columns) <= set(header):
                demand = _series(path, columns, zone)
                check(demand, is_measured=True)
                return demand
    demand = wanted_by(read_trace(path, skip_bad=skip_bad))
    check(demand, is_measured=False)
    return demand


def _series(path: Path, columns: tuple[str, ...], zone: ZoneInfo) -> Demand:
    findings = RowFindings(file=path.name)
    rows = text_rows(path, findings)
    _, cells = next(rows)
    table = Table([cell.strip() for cell in cells], rows, findings)
    time, *values = columns
    at_s: list[float] = []
    wanted: list[float] = []
    for _ in table:
        moment_s = table.moment(time) if columns == PLAIN else _local_moment(table, time, zone)
        if at_s:
            _check_step(table, time, at_s[-1], moment_s)
        gpus = [table.seconds(column) for column in values]
        for column, value in zip(values, gpus, strict=True):
            if value < 0:
                table.bad(column, f"{value:g} GPUs cannot be wanted", "give 0 or more")
        # A bad time is told already; going on from the last good one tells no more than there is.
        at_s.append(moment_s if math.isfinite(moment_s) else (at_s[-1] if at_s else 0.0))
        wanted.append(sum(gpus))
    findings.raise_if_any()
    if len(at_s) < 2 or table.origin is None:
        findings.refuse("holds no span of time", "give at least two weeks of rows")
    last_s = at_s[-1] + float(np.median(np.diff(at_s)))
    name = path.name.partition(".csv")[0]
    steps = Steps(starts_at=table.origin, at_s=np.array(at_s), gpus=np.array(wanted), ends_s=last_s)
    return averaged(name, steps)


def _check_step(table: Table, column: str, before_s: float, moment_s: float) -> None:
    step_s = moment_s - before_s
    if step_s <= 0:
        table.bad(column, "does not come after the row before", "sort the rows by time; one row a time")
    elif step_s > MOST_STEP_S:
        table.bad(
            column,
            f"comes {step_s / 3600:.1f} h after the row before: what was wanted in between is unknown",
            "fill the gap with one row an hour or more, or give the history after it",
        )


def _local_moment(table: Table, column: str, zone: ZoneInfo) -> float:
    """A time on the clocks of the zone, as Helios publishes; of the two hours of a long day, the first."""
    try:
        when = datetime.fromisoformat(table.text(column))
    except ValueError:
        table.bad(column, f"{table.text(column)!r} is no time", "write it such as 2020-05-01 00:10:00")
        return math.nan
    when = (when if when.tzinfo else when.replace(tzinfo=zone)).astimezone(UTC)
    if table.origin is None:
        table.origin = when
    return (when - table.origin).total_seconds()
