"""A good offline schedule of a large instance: take some jobs off, put them back in another order, many times.

Large neighbourhood search with annealing. A round puts jobs back at their earliest places, or leaves them in the cloud
where that is cheaper than the wait at a price drawn for the round. A schedule over the wait budget may be passed
through but is never kept. A seed and a number of rounds give one schedule on every machine; a time limit does not.
"""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import exp, inf

from replay.optimum.model import Instance, Placement, Schedule, instance_of, schedule_of
from replay.optimum.timeline import Cluster
from replay.trace import Job

# GPU-h for an hour of wait of the first schedule; doubled until its wait is within the budget.
_FIRST_PRICE, _DOUBLINGS = 3.0, 12
# Shares of that price: range of the price of a round, weight of all wait in the annealing, weight of wait over budget.
_PRICES, _SLACK, _OVER = (0.1, 1.5), 0.1, 1.0
# How many jobs a round takes off.
_REMOVALS = (1, 2, 3, 5, 8, 12, 18, 25)


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """When to stop: after `seconds`, or after `rounds`, whichever comes first. Temperatures in shares of a
    job's mean work."""

    seconds: float = 60.0
    rounds: int | None = None
    hot: float = 0.2
    cold: float = 0.005

    def progress(self, started: float, done: int) -> float:
        """Share of the effort that is spent, 1 or more at the end."""
        by_time = (time.perf_counter() - started) / self.seconds if self.seconds > 0 else inf
        return max(by_time, done / self.rounds if self.rounds else 0.0)


def improve(
    jobs: Sequence[Job], nodes: int, max_mean_wait_h: float, seed: int = 0, effort: Effort | None = None
) -> Schedule:
    """The cheapest schedule found; always feasible, since all in the cloud is. Raises `IllPosed`."""
    instance = instance_of(jobs, nodes, max_mean_wait_h)
    search = Search(instance, seed)
    limits = effort or Effort()
    started = time.perf_counter()
    scale = sum(search.work) / max(1, instance.size)
    for done in count() if jobs else ():
        progress = limits.progress(started, done)
        if progress >= 1:
            break
        search.round(scale * limits.hot * (limits.cold / limits.hot) ** progress)
    return schedule_of(instance, search.best)


class Search:
    """The current schedule on its cluster, the best feasible one, and the round's price of an hour of wait."""

    def __init__(self, instance: Instance, seed: int) -> None:
        self.instance = instance
        self.random = random.Random(seed)  # noqa: S311 - a search, not a secret
        self.work = [instance.work_gpu_h(job) for job in range(instance.size)]
        self.cluster = Cluster(instance.nodes)
        self.placements: list[Placement | None] = [None] * instance.size
        self.best: tuple[Placement | None, ...] = tuple(self.placements)
        self.cloud = self.best_cloud = sum(self.work)
        self.wait = 0.0
        self.by_arrival = sorted(range(instance.size), key=instance.arrival_h.__getitem__)
        self.price = self.first_price = _FIRST_PRICE
        for _ in range(_DOUBLINGS):
            self._begin()
            if self.wait <= instance.wait_budget_h:
                break
            self.price = self.first_price = 2 * self.first_price

    def _begin(self) -> None:
        """Every job in order of arrival, from an empty cluster."""
        for job in self.by_arrival:
            self._remove(job)
        for job in self.by_arrival:
            self._insert(job)
        self._keep_if_better()

    def round(self, temperature: float) -> None:
        """Take some jobs off, put them back, keep the result or undo it."""
        removed = self._some_jobs()
        before = {job: self.placements[job] for job in removed}
        cloud, wait = self.cloud, self.wait
        self.price = self.first_price * _PRICES[0] * (_PRICES[1] / _PRICES[0]) ** self.random.random()
        for job in removed:
            self._remove(job)
        for job in self._in_some_order(removed):
            self._insert(job)
        change = self._energy(self.cloud, self.wait) - self._energy(cloud, wait)
        if change > 0 and self.random.random() >= exp(-change / temperature):
            self._undo(before)
            self.cloud, self.wait = cloud, wait
        self._keep_if_better()

    def _energy(self, cloud: float, wait: float) -> float:
        """What annealing lowers: cloud GPU-h, a little for wait, and much for wait over the budget."""
        over = max(0.0, wait - self.instance.wait_budget_h)
        return cloud + self.first_price * (_SLACK * wait + _OVER * over)

    def _some_jobs(self) -> list[int]:
        """Jobs that meet in time: those around a moment, nearest first, with chance."""
        instance, dice = self.instance, self.random
        number = min(instance.size, dice.choice(_REMOVALS))
        place = dice.randrange(instance.size)
        centre = self.by_arrival[place]
        when = instance.arrival_h[centre] + dice.random() * instance.runtime_h[centre]
        keyed = []
        reach = max(30, 4 * number)
        for job in self.by_arrival[max(0, place - reach) : place + reach]:
            placement = self.placements[job]
            start = placement.start_h if placement else instance.arrival_h[job]
            gap = max(start - when, when - start - instance.runtime_h[job], 0.0)
            keyed.append((gap + dice.random() * 0.5, job))
        keyed.sort()
        return [centre, *(job for _, job in keyed[:number] if job != centre)]

    def _in_some_order(self, jobs: list[int]) -> list[int]:
        """By arrival, by size, by work, or shuffled; each a little disturbed."""
        instance, dice = self.instance, self.random
        kind = dice.randrange(4)
        if kind == 0:
            return sorted(jobs, key=lambda job: instance.arrival_h[job] + dice.random() * 0.3)
        if kind == 1:
            return sorted(jobs, key=lambda job: -instance.gpus[job] * (0.5 + dice.random()))
        if kind == 2:
            return sorted(jobs, key=lambda job: -self.work[job] * (0.5 + dice.random()))
        dice.shuffle(jobs)
        return jobs

    def _insert(self, job: int) -> None:
        """At the earliest place, unless the cloud is cheaper than the wait."""
        instance = self.instance
        runtime = instance.runtime_h[job]
        found = self.cluster.earliest(instance.gpus[job], instance.arrival_h[job], runtime)
        if found is None:
            return
        waits = found.start_h - instance.arrival_h[job]
        if self.price * waits < self.work[job] and self.wait + waits <= 1.5 * instance.wait_budget_h + 1e-9:
            self._put(job, found)

    def _put(self, job: int, placement: Placement) -> None:
        self.cluster.put(placement, self.instance.runtime_h[job])
        self.placements[job] = placement
        self.wait += placement.start_h - self.instance.arrival_h[job]
        self.cloud -= self.work[job]

    def _remove(self, job: int) -> None:
        if placement := self.placements[job]:
            self.cluster.remove(placement, self.instance.runtime_h[job])
            self.placements[job] = None
            self.wait -= placement.start_h - self.instance.arrival_h[job]
            self.cloud += self.work[job]

    def _undo(self, before: dict[int, Placement | None]) -> None:
        for job in before:
            self._remove(job)
        for job, placement in before.items():
            if placement:
                self._put(job, placement)

    def _keep_if_better(self) -> None:
        if self.wait <= self.instance.wait_budget_h and self.cloud < self.best_cloud - 1e-9:
            self.best, self.best_cloud = tuple(self.placements), self.cloud
