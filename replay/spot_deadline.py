"""One job with a deadline on recorded spot capacity: what a way of choosing places costs, and whether it is late.

Drives the shipped rules of agent/core/uniform_progress look by look and lets the recording take
machines away between two looks. A greedy way stands beside them, to see what the rules are worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from agent.core.uniform_progress import Choice, Place, Progress, Rule, choose
from replay.spot_history import SpotHistory
from replay.trace import NO_DATE

# Less than this is no work: the rules count in whole microseconds.
_NOTHING_S = 1e-5

Chooser = Callable[[Progress, datetime], Choice]


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineJob:
    """Computing time, time until the deadline, what a change of place costs; `machines` all at once or not at all.

    `unsaved_s`: computing since the last checkpoint, at most, that a lost machine takes with it.
    """

    work_s: float
    deadline_s: float
    boot_s: float
    unsaved_s: float = 0.0
    look_every_s: float = 300.0
    machines: int = 1


@dataclass(slots=True, kw_only=True)
class Run:
    """What came of a job: when it ended, and machine time paid for in each place, boots included."""

    ended_s: float = 0.0
    paid_s: dict[Place, float]
    lost: int = 0

    def cost(self, spot_price: float) -> float:
        """In on-demand seconds, where spot costs `spot_price` of on-demand."""
        return self.paid_s[Place.SPOT] * spot_price + self.paid_s[Place.ON_DEMAND]


@dataclass(slots=True)
class _Machine:
    """Where the job is while it is simulated."""

    job: DeadlineJob
    history: SpotHistory
    starts_s: float
    run: Run
    where: Place = Place.WAIT
    start_left_s: float = 0.0
    done_s: float = 0.0

    def has_spot(self, at_s: float) -> bool:
        return self.history.available(self.starts_s + at_s) >= self.job.machines

    def move(self, where: Place) -> None:
        """Go where the choice says; what was computed is saved first."""
        if where is not self.where:
            self.where = where
            self.start_left_s = 0.0 if where is Place.WAIT else self.job.boot_s

    def pass_time(self, at_s: float, until_s: float) -> float:
        """Compute until then, or until the end; a machine that is taken away leaves the job idle."""
        if self.where is Place.WAIT:
            return until_s
        lost_s = self._lost_at(at_s, until_s)
        needed_s = self.start_left_s + (self.job.work_s - self.done_s)
        stops_s = min(until_s, lost_s, at_s + needed_s)
        span_s = stops_s - at_s
        self.run.paid_s[self.where] += span_s
        computed_s = max(span_s - self.start_left_s, 0.0)
        self.start_left_s = max(self.start_left_s - span_s, 0.0)
        if stops_s == at_s + needed_s:
            self.done_s = self.job.work_s
            return stops_s
        self.done_s += computed_s
        if stops_s == lost_s:
            self._lose()
        return until_s

    def _lost_at(self, at_s: float, until_s: float) -> float:
        """When spot is taken away before then; never for the other places."""
        if self.where is not Place.SPOT:
            return math.inf
        moment_s = self.starts_s + at_s
        while moment_s < self.starts_s + until_s:
            if self.history.available(moment_s) < self.job.machines:
                return max(moment_s - self.starts_s, at_s)
            moment_s = self.history.next_change(moment_s)
        return math.inf

    def _lose(self) -> None:
        self.done_s = max(self.done_s - self.job.unsaved_s, 0.0)
        self.where, self.start_left_s = Place.WAIT, 0.0
        self.run.lost += 1


def run_job(history: SpotHistory, job: DeadlineJob, starts_s: float = 0.0, chooser: Chooser = choose) -> Run:
    """The job from `starts_s` of the recording on, until it is done, be it late."""
    run = Run(paid_s={Place.SPOT: 0.0, Place.ON_DEMAND: 0.0})
    machine = _Machine(job, history, starts_s, run)
    at_s = 0.0
    while job.work_s - machine.done_s > _NOTHING_S:
        machine.move(chooser(_seen(machine, at_s), NO_DATE + timedelta(seconds=at_s)).where)
        at_s = machine.pass_time(at_s, at_s + job.look_every_s)
    run.ended_s = at_s
    return run


def _seen(machine: _Machine, at_s: float) -> Progress:
    job = machine.job
    return Progress(
        started_at=NO_DATE,
        deadline=NO_DATE + timedelta(seconds=job.deadline_s),
        work=timedelta(seconds=job.work_s),
        done=timedelta(seconds=machine.done_s),
        changeover=timedelta(seconds=job.boot_s + job.unsaved_s),
        where=machine.where,
        start_left=timedelta(seconds=machine.start_left_s),
        is_spot_available=machine.has_spot(at_s),
        look_every=timedelta(seconds=job.look_every_s),
    )


def on_demand_only(state: Progress, now: datetime) -> Choice:
    """What spot is measured against: on-demand from the first moment."""
    return Choice(where=Place.ON_DEMAND, rule=Rule.SAFETY_NET, reason="on-demand only")


def greedy(state: Progress, now: datetime) -> Choice:
    """Wait for spot as long as the safety net allows: the paper's plain baseline."""
    chosen = choose(state, now)
    if chosen.rule in (Rule.SAFETY_NET, Rule.THRIFTY) or state.where is Place.SPOT:
        return chosen
    where = Place.SPOT if state.is_spot_available else Place.WAIT
    return Choice(where=where, rule=Rule.TAKING_RISKS, reason="spot or nothing")
