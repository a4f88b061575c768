"""Microsoft Philly training jobs, 2017 (CC-BY-4.0), in the table of the Pollux authors.

The virtual cluster is the department. Submit times are local and carry no zone, so they are read
as UTC: hours of the day are those of the users, but in the hour that ends summer time the order of
jobs is not known.
"""

from __future__ import annotations

from replay.trace import Job
from replay.traces.reader import Reader, Rows, TraceFormat
from replay.traces.table import Table


def jobs(table: Table) -> Rows:
    """One job a row, named after its line: the table has no ids."""
    for line in table:
        yield (
            line,
            Job(
                name=f"row-{line}",
                arrival_s=table.naive_moment("timestamp"),
                runtime_s=table.runtime("duration"),
                gpus=table.gpus("num_gpus"),
                department=table.text("cluster", "all"),
            ),
        )


READER = Reader(
    format=TraceFormat.PHILLY,
    required=("timestamp", "duration", "num_gpus", "cluster"),
    optional=("gpu_time",),
    jobs=jobs,
)
