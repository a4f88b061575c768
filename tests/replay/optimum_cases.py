"""Small burst instances on whole hours, and their optimum by trying everything, hour by hour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from replay.optimum.model import GPUS_PER_NODE
from replay.trace import Job


def a_job(arrival_h: float = 0, runtime_h: float = 1, gpus: int = 1, name: str = "job") -> Job:
    """One job, times in hours."""
    return Job(name=name, arrival_s=arrival_h * 3600, runtime_s=runtime_h * 3600, gpus=gpus)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Jobs on whole hours, nodes, and whole hours of wait in all."""

    jobs: tuple[Job, ...]
    nodes: int
    wait_budget_h: int

    @property
    def max_mean_wait_h(self) -> float:
        """The budget as a mean."""
        return self.wait_budget_h / len(self.jobs)


@st.composite
def cases(draw: st.DrawFn, most_jobs: int = 5, most_nodes: int = 2) -> Case:
    """Crowded small instances: few hours, large jobs, gangs of two nodes and more GPUs than there are."""
    sizes = st.sampled_from([1, 2, 3, 4, 5, 6, 8, 8, 12, 16])
    number = draw(st.integers(1, most_jobs))
    jobs = tuple(
        a_job(draw(st.integers(0, 4)), draw(st.integers(1, 4)), draw(sizes), f"job-{index}") for index in range(number)
    )
    return Case(jobs=jobs, nodes=draw(st.integers(1, most_nodes)), wait_budget_h=draw(st.integers(0, 5)))


def brute_force_gpu_h(case: Case) -> float:
    """The least cloud cost over all whole-hour starts and all choices of nodes.

    Whole hours are enough: in a left-shifted schedule every start is an arrival plus runtimes.
    """
    used = [[0] * 40 for _ in range(case.nodes)]
    return _least(case, 0, case.wait_budget_h, used)


def _least(case: Case, index: int, budget: int, used: list[list[int]]) -> float:
    if index == len(case.jobs):
        return 0.0
    job = case.jobs[index]
    arrival, runtime = round(job.arrival_s / 3600), round(job.runtime_s / 3600)
    best = job.gpu_hours + _least(case, index + 1, budget, used)
    for wait in range(budget + 1):
        hours = range(arrival + wait, arrival + wait + runtime)
        for held in _ways(job.gpus, case.nodes):
            if all(used[node][hour] + gpus <= GPUS_PER_NODE for node, gpus in held for hour in hours):
                _add(used, held, hours, 1)
                best = min(best, _least(case, index + 1, budget - wait, used))
                _add(used, held, hours, -1)
    return best


def _ways(gpus: int, nodes: int) -> list[list[tuple[int, int]]]:
    """GPUs a node for every node, kept when it is whole nodes and at most one part."""
    ways: list[list[int]] = [[]]
    for _ in range(nodes):
        ways = [[*way, share] for way in ways for share in range(GPUS_PER_NODE + 1)]
    kept = [way for way in ways if sum(way) == gpus and sum(0 < share < GPUS_PER_NODE for share in way) <= 1]
    return [[(node, share) for node, share in enumerate(way) if share] for way in kept]


def _add(used: list[list[int]], held: Sequence[tuple[int, int]], hours: range, sign: int) -> None:
    for node, gpus in held:
        for hour in hours:
            used[node][hour] += sign * gpus
