"""One suite over every ledger: what was recorded is there, whole, in order, for ever."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.core.config_change import ConfigChange, config_changes
from agent.core.decide import decide, remember_attempt
from agent.core.decision import Action
from agent.core.memory import Memory
from agent.core.phases import node_events
from agent.core.rerun import rerun
from agent.core.snapshot import Order, OrderKind
from agent.errors import InputsUnreadable, LedgerBroken
from agent.ledger.store import SqlLedger, sqlite_url
from agent.ports import Cancellation, ChangeState, LedgerStore, StoredOrder, TickRecord
from contract.units import Nodes
from tests.builders import EVERY, NOON, a_node, a_policy, a_pool, a_snapshot, tasks, watched
from tests.fakes.ledger import FakeLedger

Make = Callable[[], LedgerStore]
TABLES = ("tick", "memory", "change", "change_event", "node_event", "manual_order", "manual_order_event")


@pytest.fixture(params=["sqlite", "fake"])
def ledger(request: pytest.FixtureRequest, tmp_path: Path) -> LedgerStore:
    return SqlLedger(sqlite_url(tmp_path / "ledger.db")) if request.param == "sqlite" else FakeLedger()


def a_tick(queued: int = 9, step: int = 0) -> TickRecord:
    snapshot = a_snapshot(NOON + step * EVERY, queue=tasks(queued), pools=[a_pool(a_node(1))])
    before = watched(snapshot, timedelta(minutes=6))
    decision, memory = decide(snapshot, a_policy(), before)
    return TickRecord(
        snapshot=snapshot,
        policy=a_policy(),
        memory_before=before,
        decided=decision,
        decision=decision,
        memory_after=remember_attempt(memory, decision, a_policy()),
        events=node_events({}, snapshot),
    )


def change_of(tick: TickRecord) -> ConfigChange:
    [change] = config_changes(tick.decision)
    return change


def a_shrink() -> TickRecord:
    snapshot = a_snapshot(use=1.0, pools=[a_pool(a_node(1), a_node(2))])
    before = watched(snapshot)
    decision, memory = decide(snapshot, a_policy(), before)
    return TickRecord(
        snapshot=snapshot,
        policy=a_policy(),
        memory_before=before,
        decided=decision,
        decision=decision,
        memory_after=memory,
        events=(),
    )


def test_a_new_ledger_knows_nothing(ledger: LedgerStore) -> None:
    assert ledger.memory() == Memory()
    assert ledger.decisions(9, actions_only=False) == ()
    assert ledger.open_changes() == ()
    assert ledger.decision(1) is None
    assert ledger.inputs(1) is None


def test_a_tick_is_read_back_as_it_was(ledger: LedgerStore) -> None:
    tick = a_tick()
    number = ledger.record(tick)
    stored = ledger.decision(number)
    assert stored is not None
    assert stored.decision == tick.decision
    inputs = ledger.inputs(number)
    assert inputs is not None
    assert (inputs.snapshot, inputs.policy, inputs.memory) == (tick.snapshot, tick.policy, tick.memory_before)
    assert inputs.decided == tick.decided
    assert ledger.memory() == tick.memory_after


def test_what_a_failed_attempt_taught_is_where_the_next_tick_starts(ledger: LedgerStore) -> None:
    tick = a_tick()
    taught = Memory(failures={"ack-a100-od": 1})
    ledger.remember(ledger.record(tick), taught)
    assert ledger.memory() == taught


def test_a_stored_decision_runs_again_to_the_same_answer(ledger: LedgerStore) -> None:
    number = ledger.record(a_tick())
    inputs = ledger.inputs(number)
    assert inputs is not None
    assert rerun(inputs.snapshot, inputs.policy, inputs.memory, inputs.decided) == ()


def test_decisions_come_newest_first_and_actions_can_be_picked(ledger: LedgerStore) -> None:
    for step, queued in enumerate((9, 0, 9, 0)):
        ledger.record(a_tick(queued, step))
    assert [item.id for item in ledger.decisions(3, actions_only=False)] == [4, 3, 2]
    actions = ledger.decisions(9, actions_only=True)
    assert [item.id for item in actions] == [3, 1]
    assert all(item.decision.action is Action.GROW for item in actions)


def test_a_change_that_was_begun_stays_open_until_it_ends(ledger: LedgerStore) -> None:
    tick = a_tick()
    number = ledger.record(tick)
    change = ledger.begin(number, change_of(tick), "digest", NOON)
    [waiting] = ledger.open_changes()
    assert (waiting.id, waiting.state, waiting.decision_id) == (change, ChangeState.STARTED, number)
    assert dict(waiting.after) == change_of(tick).sizes_after()
    ledger.end(change, ChangeState.APPLIED, "done", NOON)
    assert ledger.open_changes() == ()
    assert ledger.changes(1)[0].state is ChangeState.APPLIED


def test_a_shrink_stays_open_until_its_nodes_are_seen_to_be_gone(ledger: LedgerStore) -> None:
    tick = a_shrink()
    change = ledger.begin(ledger.record(tick), change_of(tick), "digest", NOON)
    ledger.end(change, ChangeState.APPLIED, "done", NOON)
    [waiting] = ledger.open_changes()
    assert waiting.victims == {"ack-a100-od": ("i-001", "i-002")}
    ledger.end(change, ChangeState.VERIFIED, "gone", NOON)
    assert ledger.open_changes() == ()


def test_the_database_itself_refuses_to_rewrite_the_past(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = SqlLedger(sqlite_url(path))
    tick = a_tick()
    ledger.end(ledger.begin(ledger.record(tick), change_of(tick), "d", NOON), ChangeState.FAILED, "", NOON)
    ledger.cancel_order(ledger.give_order(an_order()).number, Cancellation(who="lin", why="over", at=NOON))
    with sqlite3.connect(path) as connection:
        for table in TABLES:
            for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET id = id + 1"):
                with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                    connection.execute(statement)


def test_a_ledger_outlives_its_process(tmp_path: Path) -> None:
    tick = a_tick()
    first = SqlLedger(sqlite_url(tmp_path / "ledger.db"))
    first.record(tick)
    first.close()
    assert SqlLedger(sqlite_url(tmp_path / "ledger.db")).memory() == tick.memory_after


def test_a_ledger_that_cannot_be_opened_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "ledger.db").write_bytes(b"this is no database" * 100)
    with pytest.raises(LedgerBroken, match="not a database"):
        SqlLedger(sqlite_url(tmp_path / "ledger.db"))


def test_a_damaged_row_is_one_clear_error(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = SqlLedger(sqlite_url(path))
    ledger.record(a_tick())
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER memory_no_update")
        connection.execute("UPDATE memory SET content = x'00'")
    with pytest.raises(LedgerBroken):
        SqlLedger(sqlite_url(path)).memory()


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda stored: stored["snapshot"].pop("pools"), "pools"),
        (lambda stored: stored["snapshot"].update(weather=3), "snapshot.weather"),
        (lambda stored: stored["policy"]["limits"].update(max_cloud_nodes="many"), "many"),
    ],
)
def test_inputs_of_another_version_are_one_clear_error_and_the_decision_is_still_told(
    tmp_path: Path, edit: Callable[[dict[str, Any]], object], says: str
) -> None:
    path = tmp_path / "ledger.db"
    ledger = SqlLedger(sqlite_url(path))
    ledger.record(a_tick())
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER tick_no_update")
        [[packed]] = connection.execute("SELECT inputs FROM tick")
        stored = json.loads(zlib.decompress(packed))
        edit(stored)
        connection.execute("UPDATE tick SET inputs = ?", [zlib.compress(json.dumps(stored).encode())])
    assert ledger.decision(1) is not None
    with pytest.raises(InputsUnreadable, match=says) as caught:
        ledger.inputs(1)
    assert caught.value.target == "decision 1"


# ---- orders by hand ----


def an_order(nodes: int = 20, kind: OrderKind = OrderKind.EMERGENCY) -> Order:
    return Order(
        number=0,
        kind=kind,
        nodes=Nodes(nodes),
        base=Nodes(3),
        who="lin",
        why="release night; \u4e0a\u7ebf",
        since=NOON,
        until=NOON + timedelta(hours=2),
    )


def test_an_order_is_read_back_as_it_was_given_with_a_number_of_its_own(ledger: LedgerStore) -> None:
    assert ledger.orders() == ()
    first = ledger.give_order(an_order())
    second = ledger.give_order(an_order(4, OrderKind.SHRINK))
    assert (first.number, second.number) == (1, 2)
    assert replace(first, number=0) == an_order()
    assert ledger.orders() == (
        StoredOrder(order=first, cancelled=None),
        StoredOrder(order=second, cancelled=None),
    )


def test_an_order_is_in_force_from_its_start_to_its_end_and_no_longer(ledger: LedgerStore) -> None:
    ledger.give_order(an_order())
    [stored] = ledger.orders()
    second = timedelta(seconds=1)
    times = (NOON - second, NOON, stored.order.until - second, stored.order.until)
    assert [stored.is_in_force(at) for at in times] == [False, True, True, False]


def test_a_cancelled_order_is_in_force_no_more_and_the_first_cancellation_counts(ledger: LedgerStore) -> None:
    number = ledger.give_order(an_order()).number
    other = ledger.give_order(an_order())
    ends = Cancellation(who="wu", why="false alarm", at=NOON + timedelta(minutes=5))
    ledger.cancel_order(number, ends)
    ledger.cancel_order(number, Cancellation(who="lin", why="too late", at=NOON + timedelta(minutes=9)))
    [stored, untouched] = ledger.orders()
    assert stored.cancelled == ends
    assert not stored.is_in_force(NOON + timedelta(minutes=10))
    assert untouched == StoredOrder(order=other, cancelled=None)


def test_an_order_that_was_never_given_cannot_be_cancelled(ledger: LedgerStore) -> None:
    with pytest.raises(LedgerBroken):
        ledger.cancel_order(7, Cancellation(who="wu", why="false alarm", at=NOON))


def test_a_ledger_of_the_first_version_is_brought_up_to_date_and_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    ledger = SqlLedger(sqlite_url(path))
    ledger.record(a_tick())
    ledger.close()
    with sqlite3.connect(path) as connection:
        for table in ("ended_task", "manual_order_event", "manual_order"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("UPDATE alembic_version SET version_num = '0001'")
    again = SqlLedger(sqlite_url(path))
    assert again.decision(1) is not None
    assert again.orders() == ()
    assert again.give_order(an_order()).number == 1
