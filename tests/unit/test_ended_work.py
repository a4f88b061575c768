"""Ended pods become tasks: whole gangs only, and only what ended well by clocks that can be believed teaches."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.core.ended_work import (
    CLOCK_SLACK,
    LONGEST,
    EndedPod,
    EndedTask,
    TaskEnd,
    book_of,
    ended_tasks,
    runtime_key,
    tasks_at_work,
)
from agent.core.readings import PodWork
from contract.units import Gpus
from contract.work import WorkKind
from tests.builders import NOON
from tests.ended import ANNA, HOUR, a_pod_at_work, an_ended_pod, an_ended_task

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)


def one(*pods: EndedPod) -> EndedTask:
    [task] = ended_tasks(pods, (), NOON)
    return task


def none(*pods: EndedPod) -> bool:
    return ended_tasks(pods, (), NOON) == ()


def test_a_pod_of_its_own_is_a_task_with_its_times_and_labels() -> None:
    task = one(an_ended_pod())
    assert (task.task, task.key, task.outcome) == ("vision/job-1", ANNA, TaskEnd.SUCCEEDED)
    assert (task.started_at, task.ended_at, task.runtime_s) == (NOON - HOUR - MINUTE, NOON - MINUTE, 3600)


def test_a_gang_is_one_task_that_ran_as_long_as_its_longest_pod() -> None:
    task = one(an_ended_pod("a"), an_ended_pod("b", ran=2 * HOUR), an_ended_pod("c", ran=MINUTE))
    assert (task.key.gpus, task.runtime_s) == (24, 7200)


def test_pods_that_came_one_after_the_other_are_no_larger_gang() -> None:
    turns = [an_ended_pod(f"p-{turn}", ended=NOON - turn * HOUR) for turn in range(5)]
    assert one(*turns).key.gpus == 8


def test_a_task_of_which_a_pod_still_waits_or_works_has_not_ended() -> None:
    pods = [an_ended_pod("a"), an_ended_pod("b", "job-2")]
    assert [task.identity for task in ended_tasks(pods, {"job-1"}, NOON)] == ["job-2"]


@pytest.mark.parametrize("ran", [SECOND, 3 * HOUR])
def test_a_task_of_which_a_pod_failed_teaches_nothing_though_another_succeeded(ran: timedelta) -> None:
    """A second try that goes on from a checkpoint is short: no run time to learn from."""
    task = one(an_ended_pod("first", ran=ran, succeeded=False), an_ended_pod("second"))
    assert task.outcome is TaskEnd.FAILED
    assert book_of([task]).estimate(ANNA).seen == 0


def test_a_failed_pod_without_times_is_still_told_as_failed() -> None:
    """Its node went, and nobody wrote down when."""
    lost = replace(an_ended_pod(succeeded=False), started_at=None, ended_at=None)
    task = one(lost)
    assert (task.outcome, task.ended_at, task.key.gpus) == (TaskEnd.FAILED, NOON, 8)
    assert task.started_at <= task.ended_at


@pytest.mark.parametrize(
    "change",
    [
        {"started_at": None},
        {"ended_at": None},
        {"started_at": NOON, "ended_at": NOON},
        {"started_at": NOON, "ended_at": NOON - MINUTE},
        {"ended_at": NOON + CLOCK_SLACK + SECOND},
        {"started_at": NOON - LONGEST - HOUR, "created_at": NOON - LONGEST - HOUR},
        {"started_at": NOON - 2 * HOUR, "created_at": NOON - HOUR},
    ],
    ids=["no start", "no end", "no time", "set back", "still to come", "for years", "started before it was made"],
)
def test_what_a_jumping_clock_says_is_not_believed(change: dict[str, object]) -> None:
    assert none(replace(an_ended_pod(), **change))  # type: ignore[arg-type]


def test_one_pod_of_a_gang_that_cannot_be_believed_leaves_the_gang_out() -> None:
    assert none(an_ended_pod("a"), replace(an_ended_pod("b"), started_at=None))


def test_an_end_that_lay_in_the_future_is_believed_once_it_has_come() -> None:
    pod = an_ended_pod(ended=NOON + HOUR)
    assert none(pod)
    assert len(ended_tasks([pod], (), NOON + HOUR)) == 1


def test_clocks_that_differ_a_little_are_believed() -> None:
    pod = replace(an_ended_pod(ended=NOON + MINUTE), created_at=NOON - HOUR + 4 * MINUTE)
    assert one(pod).runtime_s == 3600


def test_work_without_labels_is_learned_as_other_work_of_an_unknown_department() -> None:
    pod = replace(an_ended_pod(), department="unknown", work=PodWork())
    key = one(pod).key
    assert key == runtime_key("unknown", WorkKind.OTHER, 8, "")
    assert book_of([one(pod)]).estimate(key).from_what == "other of department unknown on 5-8 GPUs"


def test_a_page_instead_of_a_user_is_cut_so_that_both_sides_still_meet() -> None:
    page = "x" * 5000
    told = one(replace(an_ended_pod(), work=PodWork(user=page))).key
    assert told == runtime_key("vision", WorkKind.OTHER, 8, page)
    assert len(told.user) == 100


def test_tasks_come_in_the_order_in_which_they_ended() -> None:
    pods = [an_ended_pod(f"p-{number}", f"job-{number}", ended=NOON - number * MINUTE) for number in range(3)]
    assert [task.identity for task in ended_tasks(pods, (), NOON)] == ["job-2", "job-1", "job-0"]


@pytest.mark.parametrize("outcome", [TaskEnd.FAILED, TaskEnd.VANISHED])
def test_only_tasks_that_succeeded_teach(outcome: TaskEnd) -> None:
    tasks = [an_ended_task(0), an_ended_task(1, SECOND, outcome=outcome)]
    told = book_of(tasks).estimate(ANNA)
    assert told.seen == 1
    assert told.median_s == pytest.approx(3600)


def test_tasks_at_work_are_known_by_what_their_pods_say() -> None:
    pods = [a_pod_at_work("a"), a_pod_at_work("b"), a_pod_at_work("c", "job-2", node=None)]
    [task] = tasks_at_work(pods)
    assert (task.task, task.key, task.started_at) == ("vision/job-1", replace(ANNA, gpus=Gpus(16)), NOON - HOUR)
