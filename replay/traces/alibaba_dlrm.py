"""Serving instances of Alibaba's recommendation models, one month, 2025 (no licence: for evaluation, never shipped).

An empty creation or scheduling time means before the trace began, an empty deletion time after it
ended; the end is the latest time in the file. Instances without GPU, and those deleted in the very
second they were scheduled, did no work on GPUs and are left out.
"""

from __future__ import annotations

import math
from dataclasses import replace

from contract.work import Tier, WorkKind
from replay.trace import Job
from replay.traces.reader import Reader, Rows, TraceFormat
from replay.traces.table import Table

_TIMES = ("creation_time", "scheduled_time", "deletion_time")


def jobs(table: Table) -> Rows:
    """One job for each GPU instance. Those without an end wait for the last row, which tells when the trace ended."""
    ended_s = 0.0
    open_rows: list[tuple[int, float, Job]] = []
    for line in table:
        created_s, scheduled_s, deleted_s = (_time(table, column) for column in _TIMES)
        ended_s = max(ended_s, created_s, scheduled_s, deleted_s)
        started_s = max(0.0, scheduled_s)
        if table.text("gpu_request") == "0" or deleted_s == started_s:
            table.leave_out(line)
        elif deleted_s == -math.inf:
            open_rows.append((line, started_s, _job(table, created_s, math.nan)))
        else:
            if deleted_s < started_s:
                table.bad_runtime("deletion_time", deleted_s - started_s)
            yield line, _job(table, created_s, deleted_s - started_s)
    for line, started_s, job in open_rows:
        if ended_s > started_s:
            yield line, replace(job, runtime_s=ended_s - started_s)
        else:
            table.leave_out(line)


def _time(table: Table, column: str) -> float:
    """Seconds since the trace began; minus infinity for what the file does not tell."""
    return table.seconds(column) if table.text(column) else -math.inf


def _job(table: Table, created_s: float, runtime_s: float) -> Job:
    return Job(
        name=table.name("instance_sn"),
        arrival_s=max(0.0, created_s),
        runtime_s=runtime_s,
        gpus=table.gpus("gpu_request"),
        department=table.text("app_name", "all"),
        tier=Tier.PRODUCTION_CORE,
        kind=WorkKind.INFERENCE,
    )


READER = Reader(
    format=TraceFormat.ALIBABA_DLRM,
    required=("instance_sn", "app_name", "gpu_request", *_TIMES),
    optional=(
        "role",
        "cpu_request",
        "cpu_limit",
        "gpu_limit",
        "rdma_request",
        "rdma_limit",
        "memory_request",
        "memory_limit",
        "disk_request",
        "disk_limit",
        "max_instance_per_node",
    ),
    jobs=jobs,
)
