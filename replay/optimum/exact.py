"""The exact optimum of small instances: sets of cloud jobs from cheap to dear, the first that leaves a schedule wins.

Whether the other jobs fit on-prem within the wait budget is searched over orders of starts and choices of nodes. Given
both, each job starts as soon as its nodes have room, not before its arrival or the start before it. That loses nothing:
moving the first job that starts later than so forward to that moment only adds use between there and its old start,
where of the others only jobs before it in the order run, with which it fits; order and nodes stay, its wait falls.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from replay.optimum.model import (
    GPUS_PER_NODE,
    TIME_TOLERANCE_H,
    Instance,
    Placement,
    Schedule,
    Unsolved,
    instance_of,
    schedule_of,
)
from replay.trace import Job

# Jobs running on one node: (end in hours, GPUs), by end.
NodeState = tuple[tuple[float, int], ...]


class _OutOfTime(Exception):
    """The search has used its seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """Where a search is: what runs on each node, the last start, the wait spent, the jobs left."""

    nodes: tuple[NodeState, ...]
    last: tuple[float, int]
    spent_h: float
    left: tuple[int, ...]


def exact(jobs: Sequence[Job], nodes: int, max_mean_wait_h: float, seconds: float = 60.0) -> Schedule | Unsolved:
    """A schedule of least cloud GPU-hours, proved; `Unsolved` with what was proved when the seconds run out.

    Meant for some 12 jobs: the time grows like their orders. Raises `IllPosed`.
    """
    instance = instance_of(jobs, nodes, max_mean_wait_h)
    fitting = [job for job in range(instance.size) if instance.fits_cluster(job)]
    forced = sum(instance.work_gpu_h(job) for job in range(instance.size) if not instance.fits_cluster(job))
    ends_at = time.perf_counter() + seconds
    refuted: list[frozenset[int]] = []
    for cost, cloud in _cheapest_sets({job: instance.work_gpu_h(job) for job in fitting}):
        inside = frozenset(fitting) - cloud
        if any(small <= inside for small in refuted):
            continue
        try:
            found = _Packing(instance, ends_at).pack(inside)
        except _OutOfTime:
            return Unsolved(
                why=f"{seconds:g} s were not enough for {instance.size} jobs", lower_bound_gpu_h=forced + cost
            )
        if found is not None:
            placements = [found.get(job) for job in range(instance.size)]
            return schedule_of(instance, placements, is_optimal=True)
        refuted.append(inside)
    raise AssertionError("the empty set always fits")


def _cheapest_sets(work: dict[int, float]) -> Iterator[tuple[float, frozenset[int]]]:
    """All subsets of the jobs with their work, from the least work to the most."""
    order = sorted(work, key=lambda job: (work[job], job))
    yield 0.0, frozenset()
    heap: list[tuple[float, tuple[int, ...]]] = [(work[order[0]], (0,))] if order else []
    while heap:
        cost, chosen = heapq.heappop(heap)
        yield cost, frozenset(order[index] for index in chosen)
        last = chosen[-1]
        if last + 1 < len(order):
            following = work[order[last + 1]]
            heapq.heappush(heap, (cost + following, (*chosen, last + 1)))
            heapq.heappush(heap, (cost + following - work[order[last]], (*chosen[:-1], last + 1)))


class _Packing:
    """Depth-first search for one schedule of some jobs, all on-prem, within the wait budget."""

    def __init__(self, instance: Instance, ends_at: float) -> None:
        self.instance, self.ends_at = instance, ends_at
        self.budget_h = instance.wait_budget_h + TIME_TOLERANCE_H
        self.seen: dict[tuple[object, ...], float] = {}
        self.found: dict[int, Placement] = {}

    def pack(self, jobs: frozenset[int]) -> dict[int, Placement] | None:
        """Placements of all the jobs, or None when there are none."""
        left = tuple(sorted(jobs, key=lambda job: (self.instance.arrival_h[job], job)))
        start = _Step(nodes=((),) * self.instance.nodes, last=(float("-inf"), -1), spent_h=0.0, left=left)
        return self.found if self._search(start) else None

    def _search(self, step: _Step) -> bool:
        if time.perf_counter() > self.ends_at:
            raise _OutOfTime
        if not step.left:
            return True
        key = (step.left, step.last, tuple(sorted(step.nodes)))
        if self.seen.get(key, float("inf")) <= step.spent_h:
            return False
        self.seen[key] = step.spent_h
        for start, job, shares in sorted(self._moves(step)):
            if self._search(self._after(step, start, job, shares)):
                self.found[job] = Placement(start_h=start, shares=shares)
                return True
        return False

    def _moves(self, step: _Step) -> Iterator[tuple[float, int, tuple[tuple[int, int], ...]]]:
        """Every next job on every choice of nodes that differs, in order and within the budget."""
        for job in step.left:
            ready = max(step.last[0], self.instance.arrival_h[job])
            others = [other for other in step.left if other != job]
            different: set[tuple[object, ...]] = set()
            for shares in _shapes(self.instance.gpus[job], self.instance.nodes):
                start = max(_room_from(step.nodes[node], gpus, ready) for node, gpus in shares)
                kind = tuple(sorted((step.nodes[node], gpus) for node, gpus in shares))
                if kind in different or (start, job) < step.last:
                    continue
                different.add(kind)
                waits = start - self.instance.arrival_h[job]
                at_least = sum(max(0.0, start - self.instance.arrival_h[other]) for other in others)
                if step.spent_h + waits + at_least <= self.budget_h:
                    yield start, job, shares

    def _after(self, step: _Step, start: float, job: int, shares: tuple[tuple[int, int], ...]) -> _Step:
        """The step with the job started; what has ended by then is forgotten."""
        held = dict(shares)
        end = start + self.instance.runtime_h[job]
        nodes = []
        for index, running in enumerate(step.nodes):
            still = [one for one in running if one[0] > start]
            nodes.append(tuple(sorted([*still, (end, held[index])] if index in held else still)))
        return _Step(
            nodes=tuple(nodes),
            last=(start, job),
            spent_h=step.spent_h + start - self.instance.arrival_h[job],
            left=tuple(other for other in step.left if other != job),
        )


def _room_from(running: NodeState, gpus: int, ready: float) -> float:
    """From when on the node has the GPUs, as its jobs end one by one."""
    free = GPUS_PER_NODE - sum(held for end, held in running if end > ready)
    if free >= gpus:
        return ready
    for end, held in running:
        if end > ready:
            free += held
            if free >= gpus:
                return end
    raise AssertionError("an empty node holds any share")


def _shapes(gpus: int, nodes: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """Every way to hold the GPUs: whole nodes and one more for the rest."""
    whole, rest = divmod(gpus, GPUS_PER_NODE)
    for full in combinations(range(nodes), whole):
        shares = tuple((node, GPUS_PER_NODE) for node in full)
        if not rest:
            yield shares
            continue
        for node in range(nodes):
            if node not in full:
                yield (*shares, (node, rest))
