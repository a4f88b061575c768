"""A trace as columns in hours, and what came of each job: the arithmetic that all engines and reports share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

from replay.trace import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Arrival and runtime in hours since the trace's start, GPUs; one entry a job, by arrival."""

    arrival_h: Sequence[float]
    runtime_h: Sequence[float]
    gpus: Sequence[int]

    @classmethod
    def of(cls, trace: Trace) -> Columns:
        """The columns of a trace."""
        return cls(
            arrival_h=[job.arrival_s / 3600 for job in trace.jobs],
            runtime_h=[job.runtime_s / 3600 for job in trace.jobs],
            gpus=[job.gpus for job in trace.jobs],
        )

    @property
    def work_gpu_h(self) -> float:
        """All work, GPU-hours."""
        return fsum(gpus * hours for gpus, hours in zip(self.gpus, self.runtime_h, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """When each job started, hours, and whether in the cloud. `extra_cloud_gpu_h`: paid for work begun in vain."""

    columns: Columns
    nodes: int
    per_node: int
    start_h: Sequence[float]
    in_cloud: Sequence[bool]
    extra_cloud_gpu_h: float = 0.0

    def waits_h(self) -> list[float]:
        """Hours each job waited for its start."""
        return [start - arrival for start, arrival in zip(self.start_h, self.columns.arrival_h, strict=True)]

    @property
    def cloud_gpu_h(self) -> float:
        """What ran in the cloud, GPU-hours."""
        columns = self.columns
        paid = zip(columns.gpus, columns.runtime_h, self.in_cloud, strict=True)
        return fsum(gpus * hours for gpus, hours, in_cloud in paid if in_cloud) + self.extra_cloud_gpu_h

    @property
    def on_prem_use(self) -> float:
        """Share of the owned GPUs' time in use between the first and the last arrival."""
        columns = self.columns
        if not columns.arrival_h:
            return 0.0
        first, last = columns.arrival_h[0], columns.arrival_h[-1]
        if last <= first:
            return 0.0
        jobs = zip(columns.gpus, columns.runtime_h, self.start_h, self.in_cloud, strict=True)
        used = fsum(
            gpus * max(0.0, min(start + hours, last) - max(start, first))
            for gpus, hours, start, in_cloud in jobs
            if not in_cloud
        )
        return used / (self.nodes * self.per_node * (last - first))


def percentile(values: Sequence[float], share: float) -> float:
    """The value at rank round(share x (n - 1)), half to even, as numpy's method "nearest"; 0 where there is none."""
    if not values:
        return 0.0
    return sorted(values)[round(share * (len(values) - 1))]
