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
from dataclasses import dataclass
from math import inf

from agent.core.outlook import Need, Outlook, Shares


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


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an arrival led to: where it starts, if it does, and who leaves, itself perhaps among them."""

    started: Shares | None
    leaving: tuple[Waiting, ...] = ()


def waiting(name: int | str, need: Need, arrived: float, patience: float) -> Waiting:
    """A task as it joins the line. `patience`: hours of one task's wait that one GPU-hour of cloud is worth."""
    gpu_h = need.gpus * need.hours
    return Waiting(name, need, arrived, gpu_h, arrived + patience * gpu_h)


class WaitingRoom:
    """The line before the owned nodes, which `outlook` describes; the two change together as tasks start."""

    def __init__(self, outlook: Outlook, patience: float, start_up: float = 0.0) -> None:
        """`start_up`: hours that a task which leaves waits for its machine; so much it does not save."""
        self.outlook = outlook
        self.line: list[Waiting] = []
        self._patience = patience
        self._start_up = start_up

    def arrive(self, task: Waiting, now: float) -> Verdict:
        """A task comes: it starts, waits or leaves, and others may have to leave because of it."""
        before = self._total(self.outlook, now)
        started = self._start_unless_in_the_way(task, now, before)
        if started is None and task.slack < 0:
            return Verdict(None, (task,))
        if started is None:
            insort(self.line, task, key=_due)
        worse = self._total(self.outlook, now) - before
        if started is None:
            task.slack = self._price(task) - worse
        for other in self.line:
            if other is not task:
                other.slack -= max(0.0, worse)
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
        """As judge, with every task in doubt: for a caller that keeps no line from one time to the next."""
        for task in self.line:
            task.slack = -1.0
        return self.judge(now)

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

    def _start_unless_in_the_way(self, task: Waiting, now: float, before: float) -> Shares | None:
        """Start the task if there is room, but not when that delays the line by more than its leaving costs."""
        outlook = self.outlook.copy() if self.line else self.outlook
        shares = outlook.start(task.need, now)
        if shares is None or not self.line:
            return shares
        if self._total(outlook, now) - before > self._price(task):
            task.slack = -1.0
            return None
        self.outlook = outlook
        return shares

    def _most_worth(self, now: float) -> Waiting | None:
        """Judge all with a negative slack; the one that pays most per GPU-hour, if any pays."""
        total, rest = self._plan(now)
        best, most = None, 0.0
        for place, (plan, sofar) in rest.items():
            task = self.line[place]
            without = sofar
            for other in self.line[place + 1 :]:
                without += plan.book(other.need, now) - now
            saved = total - without
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
        """Hours of wait of the whole line, and the plan as it stood before each task that must be judged."""
        plan, total, rest = self.outlook.copy(), 0.0, {}
        for place, task in enumerate(self.line):
            if task.slack < 0:
                rest[place] = (plan.copy(), total)
            total += plan.book(task.need, now) - now
        return total, rest

    def _total(self, outlook: Outlook, now: float) -> float:
        plan, total = outlook.copy(), 0.0
        for task in self.line:
            total += plan.book(task.need, now) - now
        return total


def _due(task: Waiting) -> float:
    return task.due
