"""A trace: recorded jobs, typed and checked, sorted by arrival. What every loader gives and every engine takes.

Holds values only; reading files is the loaders' business, running them the engine's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from contract.problems import Problem
from contract.units import GiB
from contract.work import DataClass, Tier, WorkKind

# Where a trace gives no calendar date: a Monday, so that weeks start at its beginning.
NO_DATE = datetime(2021, 3, 1, tzinfo=UTC)

_ANY = GiB(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One recorded job. Times in seconds since the trace's start; `gpus` in all, whole or not at all.

    `runtime_s` is what it really ran, known to nobody before its end but to policies that are told so.
    """

    name: str
    arrival_s: float
    runtime_s: float
    gpus: int
    department: str = "all"
    user: str = ""
    tier: Tier = Tier.PRODUCTION
    kind: WorkKind = WorkKind.OTHER
    data: DataClass = DataClass.OPEN
    gpu_memory: GiB = _ANY
    is_preemptible: bool = False
    deadline_s: float | None = None

    @property
    def gpu_hours(self) -> float:
        """The work of the job, GPU-hours."""
        return self.gpus * self.runtime_s / 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """Jobs by arrival, ties in file order; the first arrives at 0 s, which is `starts_at`.

    `bad_rows` are those that were left out because the caller said so; without leave a loader raises.
    `left_out` counts sound rows that are no jobs on GPUs, such as services without any.
    """

    name: str
    jobs: tuple[Job, ...]
    starts_at: datetime = NO_DATE
    bad_rows: tuple[Problem, ...] = ()
    left_out: int = 0

    @property
    def gpu_hours(self) -> float:
        """All work, GPU-hours."""
        return sum(job.gpu_hours for job in self.jobs)
