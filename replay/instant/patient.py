"""Discrete events of a trace under the shipped wait-or-pay rule (agent/core/wait_or_pay.py), cloud without limit.

Same instants and same books as engine.py, so that the two can be compared job by job. Decides nothing itself. The
rule sees told runtimes; where they are wrong, the plan is put right when a job ends or outlives what was told.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush
from math import inf

from agent.core.outlook import Need, Outlook, Shares
from agent.core.wait_or_pay import Waiting, WaitingRoom, waiting
from replay.instant.jobs import Columns, Outcome

# Hours that a job is said to run, asked once, when it arrives.
Teller = Callable[[int], float]


@dataclass(slots=True, eq=False)
class _Running:
    """A job on the owned nodes, and until when the plan believes that it runs."""

    shares: Shares
    believed_end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Temper:
    """`patience`: hours of wait that one GPU-hour of cloud is worth. `weary_after`: see WaitingRoom."""

    patience: float
    weary_after: float = inf


def run_patient(
    columns: Columns,
    nodes: int,
    temper: Temper,
    per_node: int = 8,
    told: tuple[Teller, Callable[[int], None]] | None = None,
) -> Outcome:
    """Every job's start and place. `told`: who tells runtimes, and who hears of ends; None: they are known."""
    room = WaitingRoom(Outlook(nodes, per_node), temper.patience, weary_after=temper.weary_after)
    return _PatientRun(columns, room, temper.patience, told).outcome(nodes)


class _PatientRun:
    def __init__(
        self,
        columns: Columns,
        room: WaitingRoom,
        patience: float,
        told: tuple[Teller, Callable[[int], None]] | None,
    ) -> None:
        self._columns, self._room, self._patience = columns, room, patience
        self._tell = told[0] if told else columns.runtime_h.__getitem__
        self._hear = told[1] if told else None
        self._start = [0.0] * len(columns.gpus)
        self._cloud = [False] * len(columns.gpus)
        # True ends; and, where runtimes are told, believed ends, which may come first.
        self._ends: list[tuple[float, int]] = []
        self._beliefs: list[tuple[float, int]] = []
        self._running: dict[int, _Running] = {}

    def outcome(self, nodes: int) -> Outcome:
        self._run()
        return Outcome(
            columns=self._columns,
            nodes=nodes,
            per_node=self._room.outlook.per_node,
            start_h=self._start,
            in_cloud=self._cloud,
        )

    def _run(self) -> None:
        arrivals, count, coming = self._columns.arrival_h, len(self._columns.gpus), 0
        while coming < count or self._ends:
            now = min(
                self._ends[0][0] if self._ends else inf,
                arrivals[coming] if coming < count else inf,
                self._beliefs[0][0] if self._beliefs else inf,
            )
            any_ended = self._end_jobs(now)
            # Before anyone is placed: what was believed to end now and does not is not free.
            self._outlive(now)
            if any_ended:
                for task, shares in self._room.freed(now):
                    self._begin(int(task.name), shares, task.need.hours, now)
            first = coming
            while coming < count and arrivals[coming] <= now:
                coming += 1
            if coming > first:
                self._arrive(range(first, coming), now)

    def _arrive(self, jobs: range, now: float) -> None:
        gpus, patience = self._columns.gpus, self._patience
        tasks = [waiting(job, Need(gpus[job], self._tell(job)), now, patience) for job in jobs]
        verdict = self._room.arrive(tasks, now)
        for task, shares in verdict.started:
            self._begin(int(task.name), shares, task.need.hours, now)
        self._leave(verdict.leaving, now)

    def _leave(self, tasks: tuple[Waiting, ...], now: float) -> None:
        for task in tasks:
            job = int(task.name)
            self._start[job], self._cloud[job] = now, True
            if self._hear is not None:
                self._hear(job)

    def _begin(self, job: int, shares: Shares, believed_h: float, now: float) -> None:
        self._start[job] = now
        heappush(self._ends, (now + self._columns.runtime_h[job], job))
        if self._hear is not None:
            self._running[job] = _Running(shares, now + believed_h)
            heappush(self._beliefs, (now + believed_h, job))

    def _end_jobs(self, now: float) -> bool:
        any_ended = False
        while self._ends and self._ends[0][0] <= now:
            _, job = heappop(self._ends)
            any_ended = True
            if self._hear is not None:
                run = self._running.pop(job)
                self._room.outlook.correct(run.shares, run.believed_end, min(run.believed_end, now))
                self._hear(job)
        return any_ended

    def _outlive(self, now: float) -> None:
        """Jobs that should have ended: each is believed to go on for as long again as it has run."""
        while self._beliefs and self._beliefs[0][0] <= now:
            _, job = heappop(self._beliefs)
            run = self._running.get(job)
            if run is None:
                continue
            longer = now + max(now - self._start[job], 1e-3)
            self._room.outlook.correct(run.shares, run.believed_end, longer)
            run.believed_end = longer
            heappush(self._beliefs, (longer, job))
