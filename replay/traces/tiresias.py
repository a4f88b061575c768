"""The 60 jobs of Tiresias's testbed (Apache-2.0).

Jobs and GPUs only: no user, department or tier.
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
                arrival_s=table.seconds("submit_time"),
                runtime_s=table.runtime("duration"),
                gpus=table.gpus("num_gpu"),
            ),
        )


READER = Reader(
    format=TraceFormat.TIRESIAS,
    required=("job_id", "submit_time", "duration", "num_gpu"),
    optional=("model_name",),
    jobs=jobs,
)
