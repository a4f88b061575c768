"""The book for people: kinds of work by how often they ended, with the error on tasks told from earlier ones alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.ended_work import TaskEnd
from agent.core.runtime_estimate import LEAST
from agent.core.runtime_report import runtime_report
from tests.ended import ANNA, ANNAS_WORK, HOUR, an_ended_task

BEN = replace(ANNA, user="ben")


def test_an_empty_book_is_an_empty_report() -> None:
    report = runtime_report(())
    assert (report.lines, report.learned, report.untaught, report.held_out) == ((), 0, {}, None)


def test_work_that_ended_most_often_comes_first() -> None:
    mine = [an_ended_task(number) for number in range(3)]
    report = runtime_report([*mine, *(an_ended_task(10 + number, key=BEN) for number in range(7))])
    assert [(line.work, line.ended) for line in report.lines] == [("hpo of user ben on 5-8 GPUs", 7), (ANNAS_WORK, 3)]
    assert report.learned == 10


def test_work_that_ended_too_seldom_is_told_nothing() -> None:
    [line] = runtime_report(an_ended_task(number) for number in range(LEAST - 1)).lines
    assert (line.told, line.held_out) == (None, None)


def test_each_later_task_is_judged_by_those_before_it_alone() -> None:
    spans = [HOUR] * LEAST + [2 * HOUR, HOUR / 2]
    [line] = runtime_report(an_ended_task(number, span) for number, span in enumerate(spans)).lines
    assert line.held_out is not None
    assert line.held_out.tasks == 2
    assert line.held_out.factor == pytest.approx(2.0)
    assert line.held_out.within == 0.0


def test_what_ended_otherwise_is_counted_and_not_judged() -> None:
    seconds = timedelta(seconds=3)
    crashes = [an_ended_task(number, seconds, outcome=TaskEnd.FAILED) for number in range(4)]
    gone = [an_ended_task(10, seconds, outcome=TaskEnd.VANISHED)]
    report = runtime_report([*crashes, *gone, an_ended_task(20)])
    assert report.untaught == {"failed": 4, "vanished": 1}
    assert (report.learned, report.held_out) == (1, None)


@given(st.lists(st.integers(1, 10**6), min_size=LEAST + 1, max_size=80))
def test_no_error_is_better_than_none_and_no_share_leaves_its_range(seconds: list[int]) -> None:
    report = runtime_report(an_ended_task(number, timedelta(seconds=runtime)) for number, runtime in enumerate(seconds))
    assert report.held_out is not None
    assert report.held_out.tasks == len(seconds) - LEAST
    assert report.held_out.factor >= 1
    assert 0 <= report.held_out.within <= 1
