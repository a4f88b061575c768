"""One suite over every ledger's ended tasks: each once, the first word counts, and what no longer teaches goes."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.ended_work import MOST_ENDED, EndedTask, TaskEnd
from agent.core.runtime_estimate import KEPT, RuntimeKey
from agent.errors import LedgerBroken
from agent.ledger.store import SqlLedger, sqlite_url
from agent.ports import LedgerStore
from contract.work import WorkKind
from tests.builders import NOON
from tests.ended import ANNA, HOUR, an_ended_task
from tests.fakes.ledger import FakeLedger

MINUTE = timedelta(minutes=1)


@pytest.fixture(params=["sqlite", "fake"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> LedgerStore:
    return SqlLedger(sqlite_url(tmp_path / "ledger.db")) if request.param == "sqlite" else FakeLedger()


def numbers(ledger: LedgerStore) -> list[int]:
    return [int(task.identity.removeprefix("uid-")) for task in ledger.ended_tasks()]


def test_a_new_ledger_has_learned_nothing(ledger: LedgerStore) -> None:
    assert ledger.ended_tasks() == ()
    assert ledger.runtimes().estimate(ANNA).seen == 0
    ledger.keep_ended(())
    assert ledger.ended_tasks() == ()


def test_a_task_is_read_back_as_it_ended(ledger: LedgerStore) -> None:
    shanghai = timezone(8 * HOUR)
    task = an_ended_task(1, HOUR, outcome=TaskEnd.FAILED)
    task = replace(task, ended_at=task.ended_at.astimezone(shanghai) + timedelta(microseconds=5))
    ledger.keep_ended([task])
    assert ledger.ended_tasks() == (task,)


def test_a_task_is_kept_once_however_often_it_is_told(ledger: LedgerStore) -> None:
    for _ in range(3):
        ledger.keep_ended([an_ended_task(1), an_ended_task(2)])
    ledger.keep_ended([an_ended_task(2), an_ended_task(3)])
    ledger.keep_ended([an_ended_task(1)])
    assert numbers(ledger) == [1, 2, 3]
    assert ledger.runtimes().estimate(ANNA).seen == 3


@pytest.mark.parametrize("together", [True, False])
def test_the_first_word_on_a_task_counts(ledger: LedgerStore, together: bool) -> None:
    words = [an_ended_task(1, outcome=TaskEnd.VANISHED), an_ended_task(1)]
    for some in [words] if together else [[word] for word in words]:
        ledger.keep_ended(some)
    assert [task.outcome for task in ledger.ended_tasks()] == [TaskEnd.VANISHED]
    assert ledger.runtimes().estimate(ANNA).seen == 0


def test_tasks_come_in_the_order_in_which_they_ended_and_not_in_which_they_were_told(ledger: LedgerStore) -> None:
    for number in (3, 1, 2):
        ledger.keep_ended([an_ended_task(number)])
    assert numbers(ledger) == [1, 2, 3]


def test_of_each_kin_the_newest_stay(ledger: LedgerStore) -> None:
    ben = replace(ANNA, user="ben")
    for start in range(0, 120, 30):
        ledger.keep_ended(
            [an_ended_task(number, key=ben if number < 10 else ANNA) for number in range(start, start + 30)]
        )
    assert numbers(ledger) == [*range(10), *range(120 - KEPT, 120)]


def test_a_task_too_old_to_teach_is_not_kept_again_though_it_is_still_shown(ledger: LedgerStore) -> None:
    shown = [an_ended_task(number) for number in range(KEPT + 20)]
    ledger.keep_ended(shown)
    before = ledger.ended_tasks()
    ledger.keep_ended([])
    ledger.keep_ended(shown)
    assert ledger.ended_tasks() == before
    assert ledger.runtimes().estimate(ANNA).seen == KEPT


def test_crashes_do_not_push_out_what_teaches(ledger: LedgerStore) -> None:
    good = [an_ended_task(number) for number in range(5)]
    ledger.keep_ended([*good, *(an_ended_task(10 + n, outcome=TaskEnd.FAILED) for n in range(200))])
    assert set(good) < set(ledger.ended_tasks())
    assert len(ledger.ended_tasks()) == 5 + KEPT


def test_a_restart_keeps_what_was_learned(tmp_path: Path) -> None:
    url = sqlite_url(tmp_path / "ledger.db")
    first = SqlLedger(url)
    first.keep_ended([an_ended_task(number, HOUR) for number in range(9)])
    first.close()
    again = SqlLedger(url)
    assert again.runtimes().estimate(ANNA) == first.runtimes().estimate(ANNA)
    again.keep_ended([an_ended_task(number, HOUR) for number in range(9)])
    assert len(again.ended_tasks()) == 9


KEYS = [
    RuntimeKey(department=department, kind=kind, gpus=gpus, user=user)
    for department, user in (("vision", "anna"), ("vision", "ben"), ("speech", ""))
    for kind in (WorkKind.HPO, WorkKind.OTHER)
    for gpus in (1, 8)
]
ANY_TASK = st.builds(
    lambda number, minutes, key, outcome: an_ended_task(number, minutes * MINUTE, key=key, outcome=outcome),
    st.integers(0, 400),
    st.integers(1, 5000),
    st.sampled_from(KEYS[:2] + KEYS[6:8]),
    st.sampled_from([*[TaskEnd.SUCCEEDED] * 3, TaskEnd.FAILED]),
)


@settings(max_examples=25)
@given(st.lists(st.lists(ANY_TASK, max_size=80), max_size=6))
def test_the_book_of_a_running_agent_is_that_of_a_restarted_one_and_of_the_fake(
    tmp_path_factory: pytest.TempPathFactory, rounds: Sequence[Sequence[EndedTask]]
) -> None:
    url = sqlite_url(tmp_path_factory.mktemp("ledger") / "ledger.db")
    running, fake = SqlLedger(url), FakeLedger()
    for told in rounds:
        running.runtimes()
        running.keep_ended(told)
        fake.keep_ended(told)
    restarted = SqlLedger(url)
    assert running.ended_tasks() == restarted.ended_tasks() == fake.ended_tasks()
    for key in KEYS:
        told_now = running.runtimes().estimate(key)
        assert told_now == restarted.runtimes().estimate(key) == fake.runtimes().estimate(key)
    running.close()
    restarted.close()


def test_in_all_a_bounded_number_of_tasks_is_kept(tmp_path: Path) -> None:
    """Users without end: each of these is the only one of its kin."""
    ledger = SqlLedger(sqlite_url(tmp_path / "ledger.db"))
    ledger.runtimes()
    too_many = MOST_ENDED + 1001
    many = [
        an_ended_task(number, key=replace(ANNA, user=f"user-{number}"), ended=NOON + number * timedelta(seconds=1))
        for number in range(too_many)
    ]
    ledger.keep_ended(many[:MOST_ENDED])
    ledger.keep_ended(many[MOST_ENDED:])
    assert numbers(ledger) == list(range(1001, too_many))
    assert ledger.runtimes().estimate(many[0].key).from_what == "hpo of department vision"


def test_the_database_itself_refuses_to_change_or_lose_what_still_teaches(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    SqlLedger(sqlite_url(path)).keep_ended([an_ended_task(number) for number in range(KEPT)])
    with sqlite3.connect(path) as connection:
        for statement in ("DELETE FROM ended_task", "UPDATE ended_task SET gpus = 1"):
            with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                connection.execute(statement)


def test_a_damaged_table_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = SqlLedger(sqlite_url(path))
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TABLE ended_task")
    for call in (ledger.ended_tasks, ledger.runtimes, lambda: ledger.keep_ended([an_ended_task()])):
        with pytest.raises(LedgerBroken):
            call()


def test_a_broken_ledger_keeps_nothing_and_says_so() -> None:
    with pytest.raises(LedgerBroken):
        FakeLedger(broken=True).keep_ended([an_ended_task()])
