"""The 400 jobs of Muri's 64-GPU testbed (Apache-2.0), times turned from milliseconds into seconds.

The priority is the scheduler's own and no tier, so it is not read.
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
                name=table.name("job_id"),
                arrival_s=table.seconds("submit_time_s"),
                runtime_s=table.runtime("duration_s"),
                gpus=table.gpus("num_gpu"),
            ),
        )


READER = Reader(
    format=TraceFormat.MURI,
    required=("job_id", "submit_time_s", "duration_s", "num_gpu"),
    optional=("model_name", "priority"),
    jobs=jobs,
)
