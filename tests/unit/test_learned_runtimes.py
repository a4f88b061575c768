"""Run times that nobody stated come from the book, say so, and are part of what a rerun starts from."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.carry_out import Actuators
from agent.core.codec import from_json, left_out, to_json
from agent.core.decision import Action
from agent.core.ended_work import AtWork, SeenWork, TaskEnd, book_of
from agent.core.learned_runtimes import runtime_sentences, with_runtimes
from agent.core.rerun import rerun
from agent.core.runtime_estimate import LEAST, RuntimeBook
from agent.core.snapshot import Learned, LocalNode, LocalState, QueuedTask, RunningTask, Snapshot, Unknown
from agent.loop import Agent
from contract.catalog import Provider
from contract.units import Gpus
from contract.work import WorkKind
from tests.builders import NOON, a_policy, a_snapshot, a_task, tasks, watched
from tests.ended import ANNA, ANNAS_WORK, HOUR, an_ended_task
from tests.fakes.clock import FakeClock
from tests.fakes.hands import FakeCloudHands, FakeGate, FakeSensor
from tests.fakes.ledger import FakeLedger
from tests.fakes.stacks import FakeStacks, stack_text

MINUTE = timedelta(minutes=1)
BEN = replace(ANNA, user="ben", department="speech", gpus=1, kind=WorkKind.OTHER)


def annas(number: int = 0, **changes: object) -> QueuedTask:
    """A waiting task of Anna on 8 GPUs."""
    task = replace(a_task(number), department="vision", kind=WorkKind.HPO, user="anna")
    return replace(task, **changes)  # type: ignore[arg-type]


def at_work(task: str = "vision/train", **changes: object) -> RunningTask:
    """A task that began half an hour before noon."""
    made = RunningTask(task=task, nodes=(("n-1", Gpus(8)),), started_at=NOON - 30 * MINUTE)
    return replace(made, **changes)  # type: ignore[arg-type]


def a_home(*running: RunningTask) -> LocalState:
    nodes = (LocalNode(name="n-1", gpus=Gpus(8), free=Gpus(0)),)
    return LocalState(gpus=Gpus(8), gpus_used=Gpus(8), nodes=nodes, running=running)


def a_book(*runtimes: timedelta) -> RuntimeBook:
    return book_of(an_ended_task(number, runtime) for number, runtime in enumerate(runtimes))


def begun(*before_noon: timedelta) -> tuple[AtWork, ...]:
    """Tasks of Anna at work that began so long before noon."""
    return tuple(
        AtWork(task=f"vision/at-work-{number}", key=ANNA, started_at=NOON - span)
        for number, span in enumerate(before_noon)
    )


def filled(
    *queue: QueuedTask, book: RuntimeBook, home: LocalState | None = None, others: tuple[AtWork, ...] = ()
) -> Snapshot:
    known = SeenWork(running=(AtWork(task="vision/train", key=ANNA, started_at=NOON - 30 * MINUTE), *others))
    return with_runtimes(a_snapshot(queue=queue, local=home), known, book)


def queue_of(snapshot: Snapshot) -> tuple[QueuedTask, ...]:
    assert not isinstance(snapshot.queue, Unknown)
    return snapshot.queue


def running_of(snapshot: Snapshot) -> RunningTask:
    assert isinstance(snapshot.local, LocalState)
    [task] = snapshot.local.running
    return task


HOURS = (HOUR, HOUR, 2 * HOUR, 3 * HOUR, 30 * HOUR)


def test_a_waiting_task_is_told_the_median_of_its_kin_and_says_from_how_many() -> None:
    [task] = queue_of(filled(annas(), book=a_book(*HOURS)))
    assert task.runtime == 2 * HOUR
    assert task.learned == Learned(seen=5, of=ANNAS_WORK)


def test_a_stated_run_time_stays() -> None:
    stated = annas(runtime=7 * MINUTE)
    assert queue_of(filled(stated, book=a_book(*HOURS))) == (stated,)


def test_with_fewer_than_the_least_number_of_tasks_nobody_can_tell() -> None:
    few, enough = a_book(*[HOUR] * (LEAST - 1)), a_book(*[HOUR] * LEAST)
    assert queue_of(filled(annas(), book=few)) == (annas(),)
    assert queue_of(filled(annas(), book=enough))[0].runtime == HOUR


@pytest.mark.parametrize(
    ("task", "of"),
    [
        (annas(user="ben"), "hpo of department vision"),
        (annas(kind=WorkKind.INFERENCE), "tasks on 5-8 GPUs"),
        (annas(department="sales", kind=WorkKind.INFERENCE, gpus=Gpus(64)), "all tasks"),
    ],
)
def test_without_enough_of_ones_own_wider_kin_is_asked(task: QueuedTask, of: str) -> None:
    [told] = queue_of(filled(task, book=a_book(*HOURS)))
    assert told.learned == Learned(seen=5, of=of)


def test_tasks_that_failed_early_do_not_make_the_next_look_short() -> None:
    crashes = [an_ended_task(number, timedelta(seconds=3), outcome=TaskEnd.FAILED) for number in range(40)]
    book = book_of([*crashes, *(an_ended_task(50 + number, 2 * HOUR) for number in range(LEAST))])
    assert queue_of(filled(annas(), book=book))[0].runtime == 2 * HOUR


def test_the_end_of_a_running_task_comes_from_those_that_ran_as_long() -> None:
    task = running_of(filled(book=a_book(MINUTE, MINUTE, HOUR, HOUR, HOUR), home=a_home(at_work())))
    assert task.ends_at == NOON + 30 * MINUTE
    assert task.learned == Learned(seen=3, of=f"{ANNAS_WORK} that ran longer")


@pytest.mark.parametrize(
    "task",
    [at_work(ends_at=NOON + MINUTE), at_work("vision/stranger"), at_work(started_at=NOON - 100 * HOUR)],
    ids=["stated", "nobody knows whose it is", "hardly any ran so long"],
)
def test_an_end_that_is_stated_or_that_nobody_can_tell_stays_as_it_is(task: RunningTask) -> None:
    assert running_of(filled(book=a_book(*HOURS), home=a_home(task))) == task


def test_a_task_that_began_after_now_is_told_a_whole_run_time() -> None:
    """The clock of its node is ahead."""
    task = running_of(filled(book=a_book(*HOURS), home=a_home(at_work(started_at=NOON + MINUTE))))
    assert task.ends_at == NOON + 2 * HOUR


# ---- short tasks end first ----


def a_cold_start() -> RuntimeBook:
    """Six tasks of five minutes have ended in the hour before noon, the first of all that anybody saw."""
    return book_of(an_ended_task(10 * number, 5 * MINUTE) for number in range(6))


@pytest.mark.parametrize(("long_ones", "is_told"), [(0, True), (3, True), (4, False), (90, False)])
def test_while_many_of_the_kin_still_run_beyond_it_the_median_is_not_believed(long_ones: int, is_told: bool) -> None:
    others = begun(*[40 * MINUTE] * long_ones)
    work = SeenWork(running=others)
    [task] = queue_of(with_runtimes(a_snapshot(queue=[annas()]), work, a_cold_start()))
    assert task.runtime == (5 * MINUTE if is_told else None)
    assert (task.learned is not None) is is_told


@pytest.mark.parametrize(
    "others",
    [begun(*[4 * MINUTE] * 90), begun(*[3 * HOUR] * 90), tuple(replace(t, key=BEN) for t in begun(*[40 * MINUTE] * 9))],
    ids=["they have not run so long yet", "they began before what is kept", "they are no kin"],
)
def test_others_at_work_say_nothing_against_it(others: tuple[AtWork, ...]) -> None:
    work = SeenWork(running=others)
    assert queue_of(with_runtimes(a_snapshot(queue=[annas()]), work, a_cold_start()))[0].runtime == 5 * MINUTE


def test_in_a_steady_stream_with_a_heavy_tail_the_median_is_believed() -> None:
    """Half of those at work have run beyond it, but they began long before what is kept ended."""
    spans = [timedelta(minutes=2 ** (number % 10)) for number in range(50)]
    book = book_of(an_ended_task(number, span) for number, span in enumerate(spans))
    others = begun(*(timedelta(minutes=10 * number) for number in range(100)))
    assert queue_of(filled(annas(), book=book, others=others))[0].learned == Learned(seen=50, of=ANNAS_WORK)


def test_the_end_of_a_running_task_is_not_believed_either_while_many_run_beyond_it() -> None:
    book = book_of(an_ended_task(10 * number, 35 * MINUTE) for number in range(6))
    home = a_home(at_work())
    assert running_of(filled(book=book, home=home)).ends_at == NOON + 5 * MINUTE
    assert running_of(filled(book=book, home=home, others=begun(*[50 * MINUTE] * 9))).ends_at is None


def test_what_is_unknown_stays_unknown_and_doubts_are_noted() -> None:
    blind = a_snapshot(queue=Unknown("503"), local=Unknown("503"))
    seen = with_runtimes(blind, SeenWork(notes=("ended work cannot be read",)), a_book(*HOURS))
    assert (seen.queue, seen.local) == (blind.queue, blind.local)
    assert seen.notes == ("ended work cannot be read",)
    assert runtime_sentences(seen) == ()


# ---- what a rerun starts from ----


def an_agent(snapshot: Snapshot) -> tuple[Agent, FakeSensor, FakeLedger]:
    """An agent on fakes that has watched this state for two hours."""
    sensor, ledger, gate, cloud = FakeSensor([snapshot]), FakeLedger(), FakeGate(), FakeCloudHands()
    ledger.remember(0, watched(snapshot))
    hands = Actuators(
        clock=FakeClock(),
        stacks=FakeStacks({"burst-alicloud": stack_text(ack_a100_od=0), "burst-aws": stack_text(eks_l4_spot=0)}),
        gates={"cloud-gpu-a": gate, "cloud-gpu-b": gate},
        clouds={Provider.ALICLOUD: cloud, Provider.AWS: cloud},
        ledger=ledger,
    )
    return Agent(sensor=sensor, hands=hands, policy=a_policy()), sensor, ledger


def test_a_tick_records_the_run_times_that_it_decided_on_and_runs_again_bit_for_bit() -> None:
    key = replace(ANNA, kind=WorkKind.OTHER)
    agent, sensor, ledger = an_agent(a_snapshot(queue=[annas(number, kind=WorkKind.OTHER) for number in range(7)]))
    sensor.seen = SeenWork(ended=tuple(an_ended_task(number, 2 * HOUR, key=key) for number in range(9)))
    report = agent.tick()
    assert report.decision_id is not None
    assert report.decision is not None
    assert report.decision.action is Action.GROW
    inputs = ledger.inputs(report.decision_id)
    assert inputs is not None
    assert {task.learned for task in queue_of(inputs.snapshot)} == {
        Learned(seen=9, of="other of user anna on 5-8 GPUs")
    }
    ledger.keep_ended([an_ended_task(number, MINUTE, key=key) for number in range(100, 150)])
    assert rerun(inputs.snapshot, inputs.policy, inputs.memory, inputs.decided) == ()


def test_a_dry_run_uses_what_was_learned_and_keeps_nothing() -> None:
    agent, sensor, ledger = an_agent(a_snapshot(queue=[annas()]))
    sensor.seen = SeenWork(ended=tuple(an_ended_task(number) for number in range(9)))
    first = agent.dry_run().snapshot
    assert first is not None
    assert (queue_of(first)[0].runtime, ledger.ended_tasks()) == (None, ())
    ledger.keep_ended(sensor.seen.ended)
    second = agent.dry_run().snapshot
    assert second is not None
    assert queue_of(second)[0].runtime == HOUR


def test_a_snapshot_that_was_stored_before_anything_was_learned_is_read_whole() -> None:
    before = a_snapshot(queue=[annas(runtime=HOUR)], local=a_home(at_work()))
    stored = json.loads(json.dumps(to_json(before)))
    for task in (*stored["queue"], *stored["local"]["running"]):
        del task["learned"]
    again = from_json(Snapshot, stored)
    assert again == before
    assert left_out(stored, to_json(again)) == ()


def test_where_a_run_time_came_from_survives_storage() -> None:
    snapshot = filled(annas(), book=a_book(*HOURS), home=a_home(at_work()))
    assert from_json(Snapshot, json.loads(json.dumps(to_json(snapshot)))) == snapshot


# ---- for people ----


def test_a_person_is_told_what_is_stated_what_learned_and_what_unknown() -> None:
    few = [an_ended_task(number, 2 * HOUR) for number in range(LEAST)]
    stated, learned = annas(1, runtime=MINUTE), annas(2)
    snapshot = filled(stated, learned, annas(3), book=book_of(few), home=a_home(at_work()))
    queue = (*queue_of(snapshot), a_task(4))
    assert runtime_sentences(replace(snapshot, queue=queue)) == (
        "Runtimes of waiting tasks (4): 1 stated, 2 learned, 1 unknown",
        f"Learned for 2 of them from 5 ended tasks ({ANNAS_WORK}): 2h",
        "Ends of running tasks (1): 0 stated, 1 learned, 0 unknown",
    )


def test_with_many_kinds_of_work_only_the_most_frequent_are_named() -> None:
    book = book_of(
        an_ended_task(5 * user + number, key=replace(ANNA, user=f"user-{user:02d}"))
        for user in range(13)
        for number in range(LEAST)
    )
    queue = [annas(user, user=f"user-{user:02d}") for user in range(13)]
    lines = runtime_sentences(filled(*queue, book=book))
    assert len(lines) == 12
    assert lines[-1] == "Learned for the others from 3 other kinds of work"


def test_an_empty_queue_needs_no_sentence() -> None:
    assert runtime_sentences(a_snapshot(queue=tasks(0))) == ()
