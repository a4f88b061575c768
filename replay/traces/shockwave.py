"""The small traces of Shockwave (MIT), 120 and 460 jobs.

The weight is the scheduler's own and no tier, so it is not read.
"""

from __future__ import annotations

from replay.trace import Job
from replay.traces.reader import Reader, Rows, TraceFormat
from replay.traces.table import Table


def jobs(table: Table) -> Rows:
    """One job a row."""
    for line in table:
        yield (
            line,
            Job(
                name=table.name("job"),
                arrival_s=table.seconds("arrival_s"),
                runtime_s=table.runtime("duration_s"),
                gpus=table.gpus("scale_factor_gpus"),
            ),
        )


READER = Reader(
    format=TraceFormat.SHOCKWAVE,
    required=("job", "arrival_s", "duration_s", "scale_factor_gpus"),
    optional=("job_type", "num_steps", "priority_weight"),
    jobs=jobs,
)
