"""The queue of jobs that wait, in the manner of Kueue's BestEffortFIFO.

Older jobs are tried first; one that does not fit does not hold back a younger one that does. Jobs
alike in what they ask for wait in one lane: when its head does not fit, none of it does.
"""

from __future__ import annotations

import heapq
from bisect import insort
from collections import Counter
from collections.abc import Callable, Iterator

from sim.world.workload import Run

_Shape = tuple[int, int, bool]


class WaitingQueue:
    """Runs that wait, by the order in which they were submitted."""

    def __init__(self) -> None:
        self._lanes: dict[_Shape, list[Run]] = {}
        self.by_department: Counter[str] = Counter()
        self.followers: list[Callable[[str, int], None]] = []

    def __len__(self) -> int:
        return sum(len(lane) for lane in self._lanes.values())

    def __iter__(self) -> Iterator[Run]:
        return heapq.merge(*self._lanes.values(), key=lambda run: run.order)

    def add(self, run: Run) -> None:
        """Queue a run at the place that its order gives it."""
        lane = self._lanes.setdefault(_shape(run), [])
        insort(lane, run, key=lambda other: other.order)
        self._count(run, 1)

    def offer(self, place: Callable[[Run], bool]) -> None:
        """Try the waiting runs, oldest first; those that `place` accepts leave the queue."""
        heads = [(lane[0].order, shape) for shape, lane in self._lanes.items() if lane]
        heapq.heapify(heads)
        while heads:
            _, shape = heapq.heappop(heads)
            lane = self._lanes[shape]
            if not place(lane[0]):
                continue
            self._count(lane.pop(0), -1)
            if lane:
                heapq.heappush(heads, (lane[0].order, shape))

    def _count(self, run: Run, change: int) -> None:
        department = run.job.department
        self.by_department[department] += change
        for follow in self.followers:
            follow(department, self.by_department[department])


def _shape(run: Run) -> _Shape:
    return run.job.gpus, run.job.gpu_memory_gib, run.job.is_preemptible
