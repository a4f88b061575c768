"""Chronus's Philly-like jobs with deadlines (MIT): strict, soft and best-effort.

Deadlines count from the submission; of several, each worth less, the last is taken, since after it
nothing is earned. The authors' rounding left jobs with 0 GPUs; they did no work and are left out.
"""

from __future__ import annotations

import math
from enum import StrEnum

from contract.work import Tier
from replay.trace import Job
from replay.traces.reader import Reader, Rows, TraceFormat
from replay.traces.table import Table, plain_number


class Promise(StrEnum):
    """What was promised to the owner of a job."""

    STRICT = "strict"
    SOFT = "soft"
    BEST = "best"


# Never late, may slip, may wait and be stopped.
TIERS = {Promise.STRICT: Tier.PRODUCTION_CORE, Promise.SOFT: Tier.PRODUCTION, Promise.BEST: Tier.EXPLORATION}


def jobs(table: Table) -> Rows:
    """One job a row that asks for GPUs."""
    for line in table:
        if table.text("num_gpu") == "0":
            table.leave_out(line)
            continue
        promise = table.choice("job_type", Promise, Promise.BEST)
        arrival_s = table.seconds("submit_time")
        yield (
            line,
            Job(
                name=table.name("job_id"),
                arrival_s=arrival_s,
                runtime_s=table.runtime("duration"),
                gpus=table.gpus("num_gpu"),
                department=table.text("user", "all"),
                tier=TIERS[promise],
                is_preemptible=promise is Promise.BEST,
                deadline_s=None if promise is Promise.BEST else arrival_s + _patience(table),
            ),
        )


def _patience(table: Table) -> float:
    text = table.text("expect_time_list").rpartition("-")[2]
    value = plain_number(text)
    if value is None or not math.isfinite(value):
        table.bad(
            "expect_time_list", f"{text[:40]!r} is no deadline", "write seconds after the submission, `-` between"
        )
        return math.nan
    return value


READER = Reader(
    format=TraceFormat.CHRONUS,
    required=("job_id", "user", "num_gpu", "submit_time", "duration", "expect_time_list", "job_type"),
    optional=("iterations", "model_name", "interval", "expect_value_list", "best_effort"),
    jobs=jobs,
)
