"""Wait for an owned GPU, or pay for a rented one: which of the waiting tasks should leave (R6.5).

The measure is one: an hour that one task waits may cost as much as `1 / patience` GPU-hours in the cloud. A task
leaves when the hours of wait that its leaving takes from the whole line, its own included, are worth more than its
GPU-hours; so it is never the wait behind it that decides (that is sunk), and a small task that blocks nobody stays.
Where several should leave, the one that pays most per GPU-hour goes first and the others are judged anew. A newcomer
whose own wait alone is worth its price leaves before anyone else is judged.

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

from agent.core.outlook import Need, Outlook, Plan, Shares

# The hours that its leaving takes from the others count this much: they may start sooner by other luck as well.
_OTHERS = 0.8
# A line that is kept is planned and judged up to this place, as a policy's `look_at` says by default: who stands behind
# it waits. That bounds the work of an arrival, and on the traces it costs nothing (docs/benchmarks.md).
_LOOK_AT = 64
# Of a line of n, so many / n^2 are judged at one arrival, those most in doubt, and at least one: all of a line of 15,
# three of 36. Each judgement plans the line anew, so that the judging costs no more than a few plans of the line.
_EFFORT = 4000


@dataclass(slots=True, eq=False)
class Waiting:
    """A task in the line, times in hours. `gpu_h`: what its leaving costs, GPU-hours.

    `due`: arrival plus its patience, the order of the line. `slack`: hours by which leaving costs more than it was
    worth when last judged, or less than that; below 0 it is in doubt. `planned`: its start by the last plan.
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
        for task in tasks:
            insort(self.line, task, key=_due)
        started = tuple(self.freed(now))
        far = self.line[_LOOK_AT:]
        del self.line[_LOOK_AT:]
        leaving = self._come_near(now)
        self.line += far
        return Verdict(started, leaving)

    def freed(self, now: float) -> list[tuple[Waiting, Shares]]:
        """GPUs came free: who can start does, in the order of the line; nobody is held up by one that cannot."""
        started: list[tuple[Waiting, Shares]] = []
        per_node = self.outlook.per_node
        too_many = inf
        left: list[Waiting] = []
        for task in self.line:
            gpus = task.need.gpus
            if gpus > per_node:
                # A gang needs as many nodes for a part of the last as for the whole of it.
                gpus = -(-gpus // per_node) * per_node
            shares = self.outlook.start(task.need, now) if gpus < too_many else None
            if shares is not None:
                started.append((task, shares))
                continue
            left.append(task)
            too_many = min(too_many, gpus)
        self.line = left
        return started

    def judge_all(self, now: float) -> tuple[Waiting, ...]:
        """Who should leave, with every task in doubt: for a caller that keeps no line from one time to the next.

        A leaving can take no more from the others than all their wait: who would not pay even then is in no doubt.
        """
        self._plan_on(self._paper(), self.line, now)
        never = tuple(task for task in self.line if task.planned == inf)
        self.line = [task for task in self.line if task.planned < inf]
        if never:
            self._plan_on(self._paper(), self.line, now)
        total = sum(self._burden(task, task.planned, now) for task in self.line)
        doubtful = []
        for task in self.line:
            own = self._burden(task, task.planned, now)
            if own + _OTHERS * (total - own) > self._price(task):
                doubtful.append(task)
        return (*never, *self._part(doubtful, now))

    def _come_near(self, now: float) -> tuple[Waiting, ...]:
        """Judge the line with those that have no plan yet; who leaves."""
        places = [place for place, task in enumerate(self.line) if task.planned == inf]
        if not places:
            return ()
        plan = self._paper()
        at_once, starts = self._let_in(places, plan, now)
        if len(at_once) == len(places):
            return at_once
        starts += plan.book([task.need for task in self.line[len(starts) :]], now)
        self._doubt(starts, now)
        return (*at_once, *self._judge(now))

    def _let_in(self, places: Sequence[int], plan: Plan, now: float) -> tuple[tuple[Waiting, ...], list[float]]:
        """Book the line up to the last newcomer; whose own wait alone is worth its price leaves at once."""
        line, kept, at_once = self.line, list[Waiting](), list[Waiting]()
        starts: list[float] = []
        seen = 0
        for place in places:
            newcomer, ahead = line[place], line[seen:place]
            starts += plan.book([task.need for task in ahead], now)
            kept += ahead
            seen = place + 1
            if self._burden(newcomer, plan.when(newcomer.need.gpus, now), now) > self._price(newcomer):
                at_once.append(newcomer)
                continue
            starts += plan.book([newcomer.need], now)
            kept.append(newcomer)
        self.line = kept + line[seen:]
        return tuple(at_once), starts

    def _doubt(self, starts: Sequence[float], now: float) -> None:
        """Lower each one's slack by what the newcomers can have added to the worth of its leaving, at most.

        That is what they took from it, and from those behind it: nobody changes the start of those before it.
        """
        behind = 0.0
        for task, start in zip(reversed(self.line), reversed(starts), strict=True):
            burden = self._burden(task, start, now)
            if task.planned == inf:
                worse, task.slack = burden, self._price(task)
            else:
                # Had it started as planned, no wait would be left.
                worse = burden - (self._burden(task, task.planned, now) if task.planned > now else 0.0)
            task.slack -= max(0.0, worse + _OTHERS * max(0.0, behind))
            behind += worse
            task.planned = start

    def _judge(self, now: float) -> tuple[Waiting, ...]:
        """Those whose leaving is worth its price, of those in doubt; of a long line only the most doubtful."""
        doubtful = [task for task in self.line if task.slack < 0]
        most = max(1, _EFFORT // len(self.line) ** 2)
        if len(doubtful) > most:
            doubtful.sort(key=lambda task: task.slack / self._price(task))
            del doubtful[most:]
        return self._part(doubtful, now)

    def _part(self, doubtful: Sequence[Waiting], now: float) -> tuple[Waiting, ...]:
        """Take out of the line, best first, those of the doubtful whose leaving is worth its price.

        Each leaving makes the others' worth less, so that only the next best need be judged again (Minoux, 1978).
        """
        if not doubtful:
            return ()
        places = sorted(self.line.index(task) for task in doubtful)
        first, latest = places[0], dict[int, float]()
        for task in self.line:
            latest[task.need.gpus] = max(task.planned, latest.get(task.need.gpus, now))
        base = self.outlook.plan(latest)
        base.book([task.need for task in self.line[:first]], now)
        heap, plan, seen = list[tuple[float, int, int, Waiting]](), base.copy(), first
        for place in places:
            plan.book([task.need for task in self.line[seen:place]], now)
            seen = place
            heap.append((-self._gain(plan, place, now), place, 0, self.line[place]))
        heapify(heap)
        leaving: list[Waiting] = []
        planned_after = 0
        while heap and heap[0][0] < 0:
            _, number, judged_after, task = heappop(heap)
            place = self.line.index(task)
            if judged_after == len(leaving):
                leaving.append(self.line.pop(place))
                continue
            if planned_after < len(leaving):
                planned_after = len(leaving)
                self._plan_on(base.copy(), self.line[first:], now)
            plan = base.copy()
            plan.book([other.need for other in self.line[first:place]], now)
            heappush(heap, (-self._gain(plan, place, now), number, planned_after, task))
        return tuple(leaving)

    def _gain(self, before: Plan, place: int, now: float) -> float:
        """By how much the leaving of the task there pays, per hour of its price; `before`: with all ahead of it."""
        task, behind = self.line[place], self.line[place + 1 :]
        saved = 0.0
        for other, start in zip(behind, before.copy().book([other.need for other in behind], now), strict=True):
            saved += self._burden(other, other.planned, now) - self._burden(other, start, now)
        saved = self._burden(task, task.planned, now) + _OTHERS * saved
        price = self._price(task)
        task.slack = price - saved
        return saved / price - 1

    def _plan_on(self, plan: Plan, tasks: Sequence[Waiting], now: float) -> None:
        for task, start in zip(tasks, plan.book([task.need for task in tasks], now), strict=True):
            task.planned = start

    def _price(self, task: Waiting) -> float:
        """Hours of wait that must be saved for its leaving to pay."""
        return self._patience * task.gpu_h + self._start_up

    def _paper(self) -> Plan:
        return self.outlook.plan({task.need.gpus: inf for task in self.line})

    def _burden(self, task: Waiting, start: float, now: float) -> float:
        """What the wait from now to its start weighs, hours: w + w^2 / (2 weary_after) from `now` to `start`."""
        wait = start - now
        if not self._weary:
            return wait
        return wait + self._weary * wait * (start + now - 2.0 * task.arrived)


def _due(task: Waiting) -> float:
    return task.due
