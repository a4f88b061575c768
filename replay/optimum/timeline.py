"""Nodes over time: how many GPUs of each are free when, and the earliest place for a gang. Changed in place.

The searches own one `Cluster` each and put jobs on it and take them off; `check` does not use it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from math import inf

from replay.optimum.model import GPUS_PER_NODE, Placement


class NodeTimeline:
    """Free GPUs of one node as a step function: `free[i]` holds from `times[i]` to `times[i + 1]`."""

    def __init__(self) -> None:
        self.times: list[float] = [-inf]
        self.free: list[int] = [GPUS_PER_NODE]

    def take(self, start: float, end: float, gpus: int) -> None:
        """Hold `gpus` over [start, end); a negative number gives them back."""
        first, last = self._cut(start), self._cut(end)
        for step in range(first, last):
            self.free[step] -= gpus
        self._join(last)
        self._join(first)

    def earliest(self, gpus: int, ready: float, runtime: float) -> float:
        """The first start at or after `ready` with `gpus` free for `runtime`."""
        times, free = self.times, self.free
        step, start = bisect_right(times, ready) - 1, ready
        last = len(times) - 1
        while step < last:
            if free[step] < gpus:
                start = times[step + 1]
            elif times[step + 1] >= start + runtime:
                return start
            step += 1
        return start

    def is_free(self, gpus: int, start: float, runtime: float) -> bool:
        """Whether `gpus` are free over [start, start + runtime)."""
        return self.earliest(gpus, start, runtime) <= start

    def free_at(self, when: float) -> int:
        """GPUs free at an instant."""
        return self.free[bisect_right(self.times, when) - 1]

    def _cut(self, when: float) -> int:
        step = bisect_left(self.times, when)
        if step == len(self.times) or self.times[step] != when:
            self.times.insert(step, when)
            self.free.insert(step, self.free[step - 1])
        return step

    def _join(self, step: int) -> None:
        if self.free[step] == self.free[step - 1]:
            del self.times[step], self.free[step]


class Cluster:
    """All nodes; jobs are put on by the placement that `earliest` found."""

    def __init__(self, nodes: int) -> None:
        self.nodes = [NodeTimeline() for _ in range(nodes)]

    def put(self, placement: Placement, runtime: float) -> None:
        """Hold the placement's GPUs for the runtime (hours)."""
        for node, gpus in placement.shares:
            self.nodes[node].take(placement.start_h, placement.start_h + runtime, gpus)

    def remove(self, placement: Placement, runtime: float) -> None:
        """Give the placement's GPUs back."""
        for node, gpus in placement.shares:
            self.nodes[node].take(placement.start_h, placement.start_h + runtime, -gpus)

    def earliest(self, gpus: int, ready: float, runtime: float) -> Placement | None:
        """The first start at or after `ready` (hours) that fits; the fullest node that fits then. None: never."""
        if gpus <= GPUS_PER_NODE:
            return self._earliest_on_one(gpus, ready, runtime)
        whole, rest = divmod(gpus, GPUS_PER_NODE)
        if whole + bool(rest) > len(self.nodes):
            return None
        start = ready
        while True:
            # No start before this one has enough nodes: each is ready no earlier, alone.
            later = self._nth_ready(whole, GPUS_PER_NODE, start, runtime)
            if rest:
                later = max(later, self._nth_ready(whole + 1, rest, start, runtime))
            if later <= start:
                break
            start = later
        shares = self._gang_at(gpus, start, runtime)
        assert shares is not None
        return Placement(start_h=start, shares=shares)

    def _nth_ready(self, number: int, gpus: int, ready: float, runtime: float) -> float:
        """When the so-manieth node is ready, each on its own."""
        return sorted(node.earliest(gpus, ready, runtime) for node in self.nodes)[number - 1]

    def _gang_at(self, gpus: int, start: float, runtime: float) -> tuple[tuple[int, int], ...] | None:
        """Whole nodes and one for the rest, all free over [start, start + runtime); None when there are not enough."""
        whole, rest = divmod(gpus, GPUS_PER_NODE)
        empty = [i for i, node in enumerate(self.nodes) if node.is_free(GPUS_PER_NODE, start, runtime)]
        if len(empty) < whole:
            return None
        if not rest:
            return tuple((node, GPUS_PER_NODE) for node in empty[:whole])
        partly = [i for i, node in enumerate(self.nodes) if i not in empty and node.is_free(rest, start, runtime)]
        last = partly[:1] or empty[whole : whole + 1]
        if not last:
            return None
        return (*((node, GPUS_PER_NODE) for node in empty[:whole]), (last[0], rest))

    def _earliest_on_one(self, gpus: int, ready: float, runtime: float) -> Placement:
        best, chosen, tightest = inf, 0, inf
        for index, node in enumerate(self.nodes):
            start = node.earliest(gpus, ready, runtime)
            if start < best:
                best, chosen, tightest = start, index, node.free_at(start)
            elif start == best and node.free_at(start) < tightest:
                chosen, tightest = index, node.free_at(start)
        return Placement(start_h=best, shares=((chosen, gpus),))
