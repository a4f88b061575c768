"""Discrete events of a trace under a budget policy, in the order of Starburst's simulator.

At each instant: ended jobs free their GPUs; jobs whose budget ends leave, even if room just came free; arrivals join;
the line is offered the room; the line's tail beyond its limit leaves. Time in hours. Cost is GPUs x runtime of who
left. Must give Starburst's own rows (tests/replay/test_starburst_rows.py).
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

from replay.instant.budgets import BudgetPolicy
from replay.instant.jobs import Columns, Outcome
from replay.instant.line import Line
from replay.instant.rack import Rack, Shares


def run_budgets(columns: Columns, nodes: int, policy: BudgetPolicy, per_node: int = 8) -> Outcome:
    """Every job's start and place. A job larger than the cluster must have been refused before (see `oversized`)."""
    return _BudgetRun(columns, nodes, policy, per_node).outcome()


class _BudgetRun:
    def __init__(self, columns: Columns, nodes: int, policy: BudgetPolicy, per_node: int) -> None:
        self._columns, self._policy, self._nodes = columns, policy, nodes
        self._rack = Rack(nodes, per_node, best_fit=policy.best_fit)
        self._line = Line(columns.gpus)
        self._ends: list[tuple[float, int]] = []
        self._leaves: list[tuple[float, int]] = []
        # Jobs that come back from the cloud, by the time of their second arrival.
        self._back: list[tuple[float, int]] = []
        self._returned: set[int] = set()
        self._shares: dict[int, Shares] = {}
        self._start = [0.0] * len(columns.gpus)
        self._cloud = [False] * len(columns.gpus)
        self._coming = 0
        self._now = 0.0

    def outcome(self) -> Outcome:
        self._run()
        return Outcome(
            columns=self._columns,
            nodes=self._nodes,
            per_node=self._rack.per_node,
            start_h=self._start,
            in_cloud=self._cloud,
            extra_cloud_gpu_h=self._paid_in_vain(),
        )

    def _run(self) -> None:
        arrivals, count = self._columns.arrival_h, len(self._columns.gpus)
        while True:
            following = min(
                self._ends[0][0] if self._ends else inf,
                self._next_leave(),
                arrivals[self._coming] if self._coming < count else inf,
                self._back[0][0] if self._back else inf,
            )
            if following == inf:
                return
            # A budget of 0 may end a rounding error before the arrival: time does not go back.
            self._now = now = max(self._now, following)
            came_free = self._end_jobs(now)
            self._let_leave(now)
            came_new = False
            while self._coming < count and arrivals[self._coming] <= now:
                self._arrive(self._coming, arrivals[self._coming])
                self._coming, came_new = self._coming + 1, True
            while self._back and self._back[0][0] <= now:
                at, job = heappop(self._back)
                self._arrive(job, at)
                came_new = True
            if came_free or came_new or self._policy.in_order:
                self._line.offer(self._rack.fits, self._begin, in_order=self._policy.in_order)
            self._cut_tail()

    def _next_leave(self) -> float:
        leaves = self._leaves
        while leaves and leaves[0][1] not in self._line:
            heappop(leaves)
        return leaves[0][0] if leaves else inf

    def _end_jobs(self, now: float) -> bool:
        ends, any_ended = self._ends, False
        while ends and ends[0][0] <= now:
            self._rack.give(self._shares.pop(heappop(ends)[1]))
            any_ended = True
        return any_ended

    def _let_leave(self, now: float) -> None:
        while self._next_leave() <= now:
            _, job = heappop(self._leaves)
            self._line.leave(job)
            self._depart(job)

    def _depart(self, job: int) -> None:
        back, hours = self._policy.comes_back, self._columns.runtime_h[job]
        if back is not None and job not in self._returned and hours > back.after_h:
            self._returned.add(job)
            again = self._now + back.after_h
            if back.as_published and self._rejoins_at_once(job, again):
                self._arrive(job, again)
            else:
                heappush(self._back, (again, job))
            return
        self._start[job], self._cloud[job] = self._now, True

    def _rejoins_at_once(self, job: int, again: float) -> bool:
        """Their loop takes a job that left in the instant of its arrival for one that arrives, unless one is due."""
        arrivals = self._columns.arrival_h
        is_next = not self._back and (self._coming >= len(arrivals) or arrivals[self._coming] > again)
        return is_next and self._now == arrivals[job]

    def _paid_in_vain(self) -> float:
        """GPU-hours of work in the cloud that was lost; their books leave out jobs that end there after all."""
        back = self._policy.comes_back
        if back is None:
            return 0.0
        counted = (job for job in self._returned if not (back.as_published and self._cloud[job]))
        return sum(self._columns.gpus[job] for job in counted) * back.after_h

    def _arrive(self, job: int, at: float) -> None:
        hours = self._columns.runtime_h[job]
        self._line.join(job)
        # Their sum and difference, with their rounding: an event at the very same instant must stay one.
        budget = self._budget(job, at)
        heappush(self._leaves, ((at + hours + budget) - hours, job))

    def _budget(self, job: int, at: float) -> float:
        gpus, hours = self._columns.gpus[job], self._columns.runtime_h[job]
        budget, back = self._policy.budget(gpus, hours), self._policy.comes_back
        if back is None:
            return budget
        if job not in self._returned:
            return 0.0
        return back.times * max(0.0, self._columns.arrival_h[job] + budget - at)

    def _begin(self, job: int) -> None:
        self._shares[job] = self._rack.take(self._columns.gpus[job])
        self._start[job] = self._now
        heappush(self._ends, (self._now + self._columns.runtime_h[job], job))

    def _cut_tail(self) -> None:
        longest = self._policy.longest_line
        while longest is not None and len(self._line) > longest:
            job = self._line.last()
            self._line.leave(job)
            self._start[job], self._cloud[job] = self._now, True
