"""The clockwork: whatever a tick does, the next one comes; never two at once; a stop lets the tick finish."""

from __future__ import annotations

import logging
import os
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import pytest

from agent.errors import CloudUnavailable, StackMissing
from agent.loop import TickReport
from agent.schedule import Job, run_tick, serve
from contract.problems import InvalidInput, Problem

SOON = timedelta(milliseconds=2)
LIMIT_S = 10.0
REPORT = TickReport(snapshot=None, decision=None)


def raising(error: BaseException) -> Callable[[], TickReport]:
    def tick() -> TickReport:
        raise error

    return tick


@dataclass
class Course:
    """A job that notes its runs and asks for the end after the last one."""

    runs: int
    until: threading.Event = field(default_factory=threading.Event)
    done: int = 0

    def one(self) -> None:
        self.done += 1
        if self.done >= self.runs:
            self.until.set()


def served(*jobs: Job, until: threading.Event) -> None:
    """Serve until the event; a test that would hang fails instead."""
    late = threading.Event()

    def give_up() -> None:
        late.set()
        until.set()

    watchdog = threading.Timer(LIMIT_S, give_up)
    watchdog.start()
    try:
        serve(jobs, datetime.now(UTC), until)
    finally:
        watchdog.cancel()
    assert not late.is_set(), "nothing asked for the end"


# ---- the edge of one tick ----


def test_a_tick_that_goes_well_is_shown() -> None:
    shown: list[TickReport] = []
    run_tick(lambda: REPORT, shown.append)
    assert shown == [REPORT]


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            CloudUnavailable("throttled", target="aws", hint="wait"),
            "tick held: aws: throttled (cloud_unavailable); next: wait",
        ),
        (StackMissing("no such stack", target="burst-aws", hint="init it"), "tick held: burst-aws: no such stack"),
        (
            InvalidInput(
                [Problem(file="policy.yaml", where="limits", message="is missing", fix="add it", row=3, column=1)]
            ),
            "policy.yaml:3:1: limits: is missing",
        ),
        (KeyError("pool"), "tick failed; nothing was decided"),
        (RecursionError(), "tick failed; nothing was decided"),
        (AssertionError("impossible"), "tick failed; nothing was decided"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_whatever_a_tick_raises_becomes_one_line_that_says_why(
    error: Exception, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    shown: list[TickReport] = []
    run_tick(raising(error), shown.append)
    assert shown == []
    [record] = caplog.records
    assert says in record.getMessage()
    assert record.levelno == logging.ERROR


def test_an_error_of_unknown_kind_leaves_its_trace(caplog: pytest.LogCaptureFixture) -> None:
    run_tick(raising(ZeroDivisionError("at the ratio")), lambda _: None)
    assert "ZeroDivisionError: at the ratio" in caplog.text


def test_a_known_error_leaves_no_trace_to_read_through(caplog: pytest.LogCaptureFixture) -> None:
    run_tick(raising(CloudUnavailable("throttled", target="aws", hint="wait")), lambda _: None)
    assert "Traceback" not in caplog.text


def test_a_report_that_cannot_be_shown_is_a_failed_tick_too(caplog: pytest.LogCaptureFixture) -> None:
    def show(_: TickReport) -> None:
        raise ValueError("no such column")

    run_tick(lambda: REPORT, show)
    assert "no such column" in caplog.text


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(3)])
def test_a_wish_to_stop_is_not_swallowed(error: BaseException) -> None:
    with pytest.raises(type(error)):
        run_tick(raising(error), lambda _: None)


# ---- the clockwork ----


def test_the_first_tick_comes_at_once_though_ticks_are_rare() -> None:
    course = Course(runs=1)
    served(Job(name="tick", every=timedelta(hours=1), run=course.one), until=course.until)
    assert course.done == 1


def test_a_tick_that_fails_is_followed_by_the_next_one(caplog: pytest.LogCaptureFixture) -> None:
    course = Course(runs=3)

    def tick() -> TickReport:
        course.one()
        if course.done < 3:
            raise KeyError("unheard of")
        return REPORT

    shown: list[TickReport] = []
    served(Job(name="tick", every=SOON, run=lambda: run_tick(tick, shown.append)), until=course.until)
    assert course.done == 3
    assert shown == [REPORT]
    assert sum("tick failed" in record.message for record in caplog.records) == 2


def test_ticks_never_overlap_and_missed_ones_are_run_once() -> None:
    """A slow tick beside a quick job: while ten quick ones pass, the slow one is due ten times and runs once."""
    others = Course(runs=10)
    until, release = threading.Event(), threading.Event()
    inside, most, begun = [0], [0], [0]

    def slow() -> None:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        begun[0] += 1
        if begun[0] == 1:
            assert release.wait(LIMIT_S)
        else:
            until.set()
        inside[0] -= 1

    def quick() -> None:
        others.one()
        if others.done == others.runs:
            assert begun[0] == 1
            release.set()

    jobs = (Job(name="tick", every=SOON, run=slow), Job(name="other", every=SOON, run=quick))
    served(*jobs, until=until)
    assert most[0] == 1
    assert begun[0] >= 2


def test_the_end_waits_for_the_tick_that_runs() -> None:
    until, returned = threading.Event(), threading.Event()
    overtaken: list[bool] = []

    def tick() -> None:
        until.set()
        # A service that does not wait would return now, in the middle of this tick.
        overtaken.append(returned.wait(0.2))

    served(Job(name="tick", every=timedelta(hours=1), run=tick), until=until)
    returned.set()
    assert overtaken == [False]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_service_in_order_and_its_handlers_go(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    course = Course(runs=1)
    watch = threading.Event()

    def tick() -> None:
        course.one()
        os.kill(os.getpid(), number)

    served(Job(name="tick", every=timedelta(hours=1), run=tick), until=watch)
    assert course.done == 1
    assert watch.is_set()
    assert signal.getsignal(number) is before


def test_an_error_past_the_edge_stops_no_other_job() -> None:
    """run_tick lets nothing through; should a job be wired without it, the others still run."""
    course = Course(runs=3)

    def broken() -> None:
        raise RuntimeError("wired without an edge")

    jobs = (Job(name="broken", every=SOON, run=broken), Job(name="tick", every=SOON, run=course.one))
    served(*jobs, until=course.until)
    assert course.done >= 3
