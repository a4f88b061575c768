"""What a policy is told of the runtimes of jobs: told once a job, so that it does not change its mind by itself."""

from __future__ import annotations

from collections.abc import Sequence

from agent.core.learned_runtimes import told
from agent.core.runtime_estimate import LEAST, RuntimeBook, RuntimeKey
from replay.site.truth import Estimates, Truth
from replay.trace import Job


class Oracle:
    """The teller of one run; where runtimes are learned, by the live agent's rule from the jobs that ended before."""

    def __init__(self, truth: Truth, jobs: Sequence[Job]) -> None:
        self._truth, self._jobs = truth, jobs
        self._told: dict[int, float | None] = {}
        self._book = RuntimeBook() if truth.estimates is Estimates.LEARNED else None

    def tell(self, job: int) -> float | None:
        """Seconds that the job is said to run; None when nobody can tell."""
        if job not in self._told:
            self._told[job] = self._estimate(job)
        return self._told[job]

    def learn(self, job: int, runtime_s: float) -> None:
        """A job ended."""
        if self._book is not None:
            self._book.learn(_key(self._jobs[job]), runtime_s)

    def _estimate(self, job: int) -> float | None:
        if self._book is not None:
            runtime = told(self._book.estimate(_key(self._jobs[job]), LEAST))
            return None if runtime is None else runtime.total_seconds()
        return self._truth.estimate_s(job, self._jobs[job].runtime_s)


def _key(job: Job) -> RuntimeKey:
    return RuntimeKey(department=job.department, kind=job.kind, gpus=job.gpus, user=job.user)
