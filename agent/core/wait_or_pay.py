"""Wait for an owned GPU, or pay for a rented one: which of the waiting tasks should leave (R6.5).

The measure is one: an hour that one task waits may cost as much as `1 / patience` GPU-hours in the cloud. A task
leaves when the hours of wait that its leaving takes from the whole line, its own included, are worth more than its
GPU-hours; so it is never the wait behind it that decides (that is sunk), and a small task that blocks nobody stays.
Where several should leave, the one that pays most per GPU-hour goes first and the others are judged anew.

Waits are predicted by a plan of the owned GPUs (outlook.py) that knows the line and what runs, not what will come.
Sources: budgets that grow with GPUs x runtime are Starburst's (USENIX ATC 2024); judging the whole line instead of
one task is ours, as is the lazy order of judging (Minoux' accelerated greedy, 1978). docs/decisions.md has the maths.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import inf

from agent.core.outlook import Need, Outlook, Shares

# The hours that its leaving takes from the others count this much: they may start sooner by other luck as well.
_OTHERS = 0.8


@dataclass(slots=True, eq=False)
class Waiting:
    """A task in the line, times in hours. `gpu_h`: what its leaving costs, GPU-hours.

    `due`: arrival plus its patience, the order of the line. `slack`: GPU-hours by which leaving costs more than it
    was worth when last judged, or less than that; below 0 it must be judged.
    """

    name: int | str
    need: Need
    arrived: float
    gpu_h: float
    due: float
    slack: float = inf
    planned: float = inf


@dataclass(frozen=True, slots=True)
class Verdict:
    """What arrivals led to: who starts and where, and who leaves, arrivals among them perhaps."""

    started: tuple[tuple[Waiting, Shares], ...]
    leaving: tuple[Waiting, ...] = ()


def waiting(name: int | str, need: Need, arrived: float, patience: float) -> Waiting:
    """A task as it joins the line. `patience`: hours of one task's wait that one GPU-hour of cloud is worth."""
    gpu_h = need.gpus * need.hours
    return Waiting(name, need, arrived, gpu_h, arrived + patience * gpu_h)


class WaitingRoom:
    """The line before the owned nodes, which `outlook` describes; the two change together as tasks start."""

    def __init__(self, outlook: Outlook, patience: float, start_up: float = 0.0, weary_after: float = inf) -> None:
        """`start_up`: hours that a task which leaves waits for its machine; so much it does not save.

        `weary_after`: hours after which a further hour of one task's wait counts twice, after twice as long three
        times: the long waits become rarer, at a price.
        """
        self.outlook = outlook
        self.line: list[Waiting] = []
        self._patience = patience
        self._start_up = start_up
        self._weary = 0.0 if weary_after == inf else 1.0 / (2.0 * weary_after)

    def arrive(self, tasks: Sequence[Waiting], now: float) -> Verdict:
        """Tasks come, all that come at one time: each starts, waits or leaves, and others may have to leave."""
        before = self._expected(now)
        for task in tasks:
            insort(self.line, task, key=_due)
        started = tuple(self.freed(now))
        if not self.line:
            return Verdict(started)
        worse = self._total(now) - before
        fresh = set(tasks)
        for task in self.line:
            if task not in fresh:
                task.slack -= max(0.0, worse)
            elif len(tasks) == 1:
                # Alone it is judged already: what it does to the line is what its leaving would save.
                task.slack = self._price(task) - worse
            else:
                task.slack = -1.0
        return Verdict(started, self.judge(now))

    def freed(self, now: float) -> list[tuple[Waiting, Shares]]:
        """GPUs came free: who can start does, in the order of the line; nobody is held up by one that cannot."""
        started: list[tuple[Waiting, Shares]] = []
        if not self.line:
            return started
        too_many = inf
        left: list[Waiting] = []
        for task in self.line:
            gpus = task.need.gpus
            shares = self.outlook.start(task.need, now) if gpus < too_many else None
            if shares is not None:
                started.append((task, shares))
                continue
            left.append(task)
            if gpus <= self.outlook.per_node:
                too_many = min(too_many, gpus)
        self.line = left
        return started

    def judge_all(self, now: float) -> tuple[Waiting, ...]:
        """As judge, with every task in doubt: for a caller that keeps no line from one time to the next.

        A leaving can take no more from the others than all their wait: who would not pay even then is in no doubt.
        Each leaving makes the others' worth less, so that only the next best need be judged again (Minoux, 1978).
        """
        self._total(now)
        never = tuple(task for task in self.line if task.planned == inf)
        self.line = [task for task in self.line if task not in never]
        total = self._total(now)
        doubtful = []
        for number, task in enumerate(self.line):
            own = self._burden(task, task.planned, now)
            if own + _OTHERS * (total - own) > self._price(task):
                doubtful.append((number, task))
        heap = [(-self._gain(task, now), number, task) for number, task in doubtful]
        heapify(heap)
        leaving = list(never)
        while heap:
            _, number, task = heappop(heap)
            gain = self._gain(task, now)
            if gain > 0 and heap and gain < -heap[0][0]:
                heappush(heap, (-gain, number, task))
            elif gain > 0:
                self.line.remove(task)
                leaving.append(task)
        return tuple(leaving)

    def _gain(self, task: Waiting, now: float) -> float:
        """By how much its leaving pays, per hour of its price; at or below 0 it does not."""
        plan, place = self.outlook.copy(), self.line.index(task)
        for other in self.line[:place]:
            plan.book(other.need, now)
        without = plan.copy()
        saved = self._burden(task, plan.book(task.need, now), now)
        for other in self.line[place + 1 :]:
            stays = self._burden(other, plan.book(other.need, now), now)
            saved += _OTHERS * (stays - self._burden(other, without.book(other.need, now), now))
        return saved / self._price(task) - 1

    def judge(self, now: float) -> tuple[Waiting, ...]:
        """Take out of the line, one by one, those whose leaving is worth its price."""
        leaving: list[Waiting] = []
        while any(task.slack < 0 for task in self.line):
            best = self._most_worth(now)
            if best is None:
                break
            self.line.remove(best)
            leaving.append(best)
        return tuple(leaving)

    def _most_worth(self, now: float) -> Waiting | None:
        """Judge all with a negative slack; the one that pays most per GPU-hour, if any pays."""
        total, rest = self._plan(now)
        if total == inf:
            # It will never fit here: waiting has no end.
            return next(task for task in self.line if task.planned == inf)
        best, most = None, 0.0
        for place, (plan, sofar) in rest.items():
            task = self.line[place]
            without = sofar
            for other in self.line[place + 1 :]:
                without += self._burden(other, plan.book(other.need, now), now)
            own = self._burden(task, task.planned, now)
            saved = own + _OTHERS * (total - without - own)
            price = self._price(task)
            task.slack = price - saved
            gain = saved / price - 1
            if gain > most:
                best, most = task, gain
        return best

    def _price(self, task: Waiting) -> float:
        """Hours of wait that must be saved for its leaving to pay."""
        return self._patience * task.gpu_h + self._start_up

    def _plan(self, now: float) -> tuple[float, dict[int, tuple[Outlook, float]]]:
        """The burden of the whole line, and the plan as it stood before each task that must be judged."""
        plan, total, rest = self.outlook.copy(), 0.0, {}
        for place, task in enumerate(self.line):
            if task.slack < 0:
                rest[place] = (plan.copy(), total)
            task.planned = start = plan.book(task.need, now)
            total += self._burden(task, start, now)
        return total, rest

    def _total(self, now: float) -> float:
        plan, total = self.outlook.copy(), 0.0
        for task in self.line:
            task.planned = start = plan.book(task.need, now)
            total += self._burden(task, start, now)
        return total

    def _expected(self, now: float) -> float:
        """The burden of the line by the plan that was made last: while nobody comes or leaves it stays true."""
        return sum(self._burden(task, task.planned, now) for task in self.line if task.planned > now)

    def _burden(self, task: Waiting, start: float, now: float) -> float:
        """What the wait from now to its start weighs, hours: w + w^2 / (2 weary_after) from `now` to `start`."""
        wait = start - now
        if not self._weary:
            return wait
        return wait + self._weary * wait * (start + now - 2.0 * task.arrived)


def _due(task: Waiting) -> float:
    return task.due
