"""The burst problem as values: an instance, a schedule, a bound; and the check that trusts no solver.

Whole jobs run on-prem, without interruption, from a start at or after their arrival, or at once in a cloud without
limit. Cost is the GPU-hours in the cloud; the mean wait over all jobs has a ceiling. Nothing here searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum, isfinite

from replay.trace import Job

GPUS_PER_NODE = 8
# Times closer than this (hours) are one instant: rounding of sums of recorded seconds.
TIME_TOLERANCE_H = 1e-9


class IllPosed(ValueError):
    """The instance itself makes no sense: a negative runtime, no node, a wait that is not a number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """One job on-prem: start in hours since the trace's start, and (node, GPUs) for every node it holds."""

    start_h: float
    shares: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One placement a job, in the order of the jobs; None is the cloud, at arrival, without wait.

    `cloud_gpu_h` is the cost in GPU-hours, `mean_wait_h` over all jobs, `is_optimal` only when proved.
    """

    placements: tuple[Placement | None, ...]
    cloud_gpu_h: float
    mean_wait_h: float
    is_optimal: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsolved:
    """No answer, and why. Every schedule costs at least `lower_bound_gpu_h` GPU-hours: that much was proved."""

    why: str
    lower_bound_gpu_h: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """Every schedule costs at least `gpu_h` cloud GPU-hours; how that was proved, and in how many seconds."""

    gpu_h: float
    method: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """Jobs as three columns (hours, hours, GPUs) in trace order, with nodes of 8 GPUs and the ceiling on the wait."""

    arrival_h: tuple[float, ...]
    runtime_h: tuple[float, ...]
    gpus: tuple[int, ...]
    nodes: int
    max_mean_wait_h: float

    @property
    def size(self) -> int:
        """How many jobs."""
        return len(self.gpus)

    @property
    def wait_budget_h(self) -> float:
        """Hours of wait that all jobs together may spend: mean times number."""
        return self.max_mean_wait_h * self.size

    def work_gpu_h(self, job: int) -> float:
        """What the job costs in the cloud, GPU-hours."""
        return self.gpus[job] * self.runtime_h[job]

    def fits_cluster(self, job: int) -> bool:
        """Whether the job fits an empty cluster: whole nodes, and one more for the rest of a gang."""
        return -(-self.gpus[job] // GPUS_PER_NODE) <= self.nodes


def instance_of(jobs: Sequence[Job], nodes: int, max_mean_wait_h: float) -> Instance:
    """The instance of recorded jobs; seconds become hours. Raises `IllPosed`."""
    if nodes < 1 or not max_mean_wait_h >= 0 or not isfinite(max_mean_wait_h):
        raise IllPosed(f"needs a node and a finite wait of 0 h or more, got {nodes} nodes and {max_mean_wait_h} h")
    for job in jobs:
        if not (isfinite(job.arrival_s) and isfinite(job.runtime_s) and job.runtime_s > 0 and job.gpus > 0):
            raise IllPosed(f"job {job.name}: needs a finite arrival, a runtime and GPUs above 0")
    return Instance(
        arrival_h=tuple(job.arrival_s / 3600 for job in jobs),
        runtime_h=tuple(job.runtime_s / 3600 for job in jobs),
        gpus=tuple(job.gpus for job in jobs),
        nodes=nodes,
        max_mean_wait_h=max_mean_wait_h,
    )


def schedule_of(instance: Instance, placements: Sequence[Placement | None], *, is_optimal: bool = False) -> Schedule:
    """The placements with their cost (GPU-h) and mean wait (h); nothing is checked."""
    cloud = fsum(instance.work_gpu_h(job) for job, placement in enumerate(placements) if placement is None)
    waits = fsum(p.start_h - instance.arrival_h[job] for job, p in enumerate(placements) if p is not None)
    return Schedule(
        placements=tuple(placements),
        cloud_gpu_h=cloud,
        mean_wait_h=waits / instance.size if instance.size else 0.0,
        is_optimal=is_optimal,
    )


def check(schedule: Schedule, jobs: Sequence[Job], nodes: int, max_mean_wait_h: float | None = None) -> list[str]:
    """What is wrong with the schedule, empty when it is feasible. Uses nothing that any solver used.

    Looks at shape of every gang, starts against arrivals, GPUs of every node over time, and the two totals.
    """
    if len(schedule.placements) != len(jobs):
        return [f"{len(schedule.placements)} placements for {len(jobs)} jobs"]
    found: list[str] = []
    for job, placement in zip(jobs, schedule.placements, strict=True):
        if placement is not None:
            found += _wrong_placement(job, placement, nodes)
    found += _overloads(schedule, jobs)
    return found + _wrong_totals(schedule, jobs, max_mean_wait_h)


def _wrong_placement(job: Job, placement: Placement, nodes: int) -> list[str]:
    """Start before arrival, a node that is not there or twice, a gang of another shape than facts say."""
    found = []
    if not placement.start_h >= job.arrival_s / 3600 - TIME_TOLERANCE_H:
        found.append(f"{job.name} starts before it arrives")
    held = [node for node, _ in placement.shares]
    if len(set(held)) != len(held) or not all(0 <= node < nodes for node in held):
        found.append(f"{job.name} is on nodes {held} of {nodes}")
    whole, rest = divmod(job.gpus, GPUS_PER_NODE)
    if sorted(gpus for _, gpus in placement.shares) != [rest] * bool(rest) + [GPUS_PER_NODE] * whole:
        found.append(f"{job.name} of {job.gpus} GPUs holds {placement.shares}")
    return found


def _overloads(schedule: Schedule, jobs: Sequence[Job]) -> list[str]:
    """Nodes with more than 8 GPUs in use at some time; ends count before starts of the same instant."""
    events: dict[int, list[tuple[float, int]]] = {}
    for job, placement in zip(jobs, schedule.placements, strict=True):
        if placement is None:
            continue
        end = placement.start_h + job.runtime_s / 3600
        # An end moves ahead by the tolerance, but never to its own start: a job of no length holds nothing.
        for node, gpus in placement.shares:
            events.setdefault(node, []).append((placement.start_h, gpus))
            events[node].append((max(placement.start_h, end - TIME_TOLERANCE_H), -gpus))
    found = []
    for node, moves in sorted(events.items()):
        used = 0
        for when, change in sorted(moves):
            used += change
            if used > GPUS_PER_NODE:
                found.append(f"node {node} has {used} GPUs in use at {when} h")
                break
    return found


def _wrong_totals(schedule: Schedule, jobs: Sequence[Job], max_mean_wait_h: float | None) -> list[str]:
    """Cost or mean wait other than the placements give, or a mean wait over its ceiling."""
    pairs = list(zip(jobs, schedule.placements, strict=True))
    cloud = fsum(job.gpu_hours for job, placement in pairs if placement is None)
    wait = fsum(p.start_h - job.arrival_s / 3600 for job, p in pairs if p is not None) / max(1, len(jobs))
    found = []
    if abs(cloud - schedule.cloud_gpu_h) > 1e-6 * max(1.0, cloud):
        found.append(f"costs {cloud} GPU-h, says {schedule.cloud_gpu_h}")
    if abs(wait - schedule.mean_wait_h) > 1e-6:
        found.append(f"waits {wait} h in the mean, says {schedule.mean_wait_h}")
    if max_mean_wait_h is not None and wait > max_mean_wait_h + TIME_TOLERANCE_H:
        found.append(f"waits {wait} h in the mean, over {max_mean_wait_h}")
    return found
