"""The optimum in three numbers for the report: proved below, known above, and the gap between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from replay.optimum.bound import Fineness, lower_bound
from replay.optimum.exact import exact
from replay.optimum.incumbent import Effort, improve
from replay.optimum.model import Schedule, instance_of
from replay.trace import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class Thoroughness:
    """How much work a summary is worth: an exact search up to so many jobs and seconds, else bound and search.

    `known_gpu_h` is the cost of a schedule that someone else found and checked at the same wait, or None.
    """

    exact_up_to: int = 10
    exact_seconds: float = 20.0
    fineness: Fineness = field(default_factory=Fineness)
    effort: Effort = field(default_factory=Effort)
    seed: int = 0
    known_gpu_h: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """No schedule is below `lower_bound_gpu_h`; `best_known_gpu_h` has been reached; `how` says by what."""

    lower_bound_gpu_h: float
    best_known_gpu_h: float
    how: str

    @property
    def gap(self) -> float:
        """What is open, as a share of the best known cost: 0 when it is the optimum."""
        if self.best_known_gpu_h <= 0:
            return 0.0
        return max(0.0, 1 - self.lower_bound_gpu_h / self.best_known_gpu_h)


def summary(
    jobs: Sequence[Job], nodes: int, max_mean_wait_h: float, thoroughness: Thoroughness | None = None
) -> Summary:
    """Lower bound and best known cost, cloud GPU-hours. Raises `IllPosed`."""
    instance_of(jobs, nodes, max_mean_wait_h)
    given = thoroughness or Thoroughness()
    proved = 0.0
    if len(jobs) <= given.exact_up_to:
        solved = exact(jobs, nodes, max_mean_wait_h, given.exact_seconds)
        if isinstance(solved, Schedule):
            return Summary(lower_bound_gpu_h=solved.cloud_gpu_h, best_known_gpu_h=solved.cloud_gpu_h, how="exact")
        proved = solved.lower_bound_gpu_h
    bound = lower_bound(jobs, nodes, max_mean_wait_h, given.fineness)
    found = improve(jobs, nodes, max_mean_wait_h, given.seed, given.effort).cloud_gpu_h
    best = found if given.known_gpu_h is None else min(found, given.known_gpu_h)
    return Summary(
        lower_bound_gpu_h=max(proved, bound.gpu_h),
        best_known_gpu_h=best,
        how=f"{bound.method}; {'search' if best == found else 'known schedule'}",
    )
