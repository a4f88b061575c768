"""What a policy is told of the runtimes of jobs: told once a job, so that it does not change its mind by itself."""

from __future__ import annotations

from collections.abc import Sequence

from replay.site.truth import Truth
from replay.trace import Job


class Oracle:
    """The teller of one run."""

    def __init__(self, truth: Truth, jobs: Sequence[Job]) -> None:
        self._truth, self._jobs = truth, jobs
        self._told: dict[int, float | None] = {}

    def tell(self, job: int) -> float | None:
        """Seconds that the job is said to run; None when nobody can tell."""
        if job not in self._told:
            self._told[job] = self._truth.estimate_s(job, self._jobs[job].runtime_s)
        return self._told[job]

    def learn(self, job: int, runtime_s: float) -> None:
        """A job ended."""
