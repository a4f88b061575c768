"""`spillway order`: who, why, until when; refused with one clear error when one of them is missing or absurd."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.core.config_change import config_changes
from agent.core.decide import decide
from agent.core.snapshot import OrderKind
from agent.errors import ExitCode
from agent.ledger.store import SqlLedger, sqlite_url
from agent.ports import ChangeState, TickRecord
from spillway.main import _run
from tests.builders import NOON, a_node, a_policy, a_pool, a_snapshot, tasks, watched
from tests.cli.site import Site

WHY = ("--why", "release night", "--who", "lin")
GIVE = ("order", "emergency", "--nodes", "20", "--for", "2h", *WHY)


@pytest.fixture
def store(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> SqlLedger:
    """An empty ledger, found by its variable."""
    monkeypatch.setenv("SPILLWAY_LEDGER", f"sqlite:///{nowhere}/ledger.db")
    monkeypatch.delenv("SPILLWAY_CLOCK_URL", raising=False)
    return SqlLedger(sqlite_url(nowhere / "ledger.db"))


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = _run(list(arguments))
    shown = capsys.readouterr()
    return int(code), shown.out, shown.err


def document(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    code, out, err = run(capsys, *arguments, "--output", "json")
    assert (code, err) == (ExitCode.OK, "")
    found: dict[str, Any] = json.loads(out)
    return found


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[tuple[int, str]]:
    orders = document(capsys, "order", "list", *arguments)["orders"]
    return [(order["number"], order["state"]) for order in orders]


def remember_a_burst(store: SqlLedger, state: ChangeState | None) -> None:
    """One node stands; eight more were decided, and the change came so far."""
    snapshot = a_snapshot(queue=tasks(8), pools=[a_pool(a_node(1, used=8)), a_pool(pool="eks-l4-spot")])
    before = watched(snapshot, timedelta(minutes=12))
    decision, memory = decide(snapshot, a_policy(), before)
    tick = TickRecord(
        snapshot=snapshot,
        policy=a_policy(),
        memory_before=before,
        decided=decision,
        decision=decision,
        memory_after=memory,
        events=(),
    )
    number = store.record(tick)
    if state:
        [change] = config_changes(decision)
        store.end(store.begin(number, change, "d", NOON), state, "", NOON)


def test_an_emergency_has_who_why_and_until_when(store: SqlLedger, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, *GIVE)
    assert (code, err) == (ExitCode.OK, "")
    assert out.startswith("Order 1: 20 nodes more than the 0 rented then, 20 in all, until ")
    assert "by lin: release night." in out
    [stored] = store.orders()
    order = stored.order
    assert (order.kind, order.nodes, order.base) == (OrderKind.EMERGENCY, 20, 0)
    assert (order.who, order.why) == ("lin", "release night")
    assert order.until - order.since == timedelta(hours=2)


@pytest.mark.parametrize(
    ("state", "base"),
    [
        (None, 1),
        (ChangeState.APPLIED, 9),
        (ChangeState.VERIFIED, 9),
        (ChangeState.REFUSED, 1),
        (ChangeState.UNSETTLED, 1),
    ],
)
def test_it_counts_from_what_is_rented_by_the_last_picture_and_what_was_done_on_it(
    store: SqlLedger, capsys: pytest.CaptureFixture[str], state: ChangeState | None, base: int
) -> None:
    remember_a_burst(store, state)
    assert document(capsys, *GIVE)["order"]["base"] == base


def test_an_order_to_shrink_may_be_to_nothing(store: SqlLedger, capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "order", "shrink", "--to", "0", "--for", "8h", *WHY)["order"]
    assert (found["kind"], found["nodes"], found["state"]) == ("shrink", 0, "in_force")
    moving = document(capsys, "order", "shrink", "--to", "0", "--for", "8h", "--move-work", *WHY)["order"]
    assert (moving["kind"], moving["nodes"]) == ("vacate", 0)
    assert "at most 0 nodes, moving work that is not core" in run(capsys, "order", "list")[1]
    assert datetime.fromisoformat(found["until"]) - datetime.fromisoformat(found["since"]) == timedelta(hours=8)
    assert store.orders()[0].order.kind is OrderKind.SHRINK


def test_the_user_logged_in_orders_by_default(
    store: SqlLedger, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOGNAME", "wu")
    found = document(capsys, "order", "emergency", "--nodes", "1", "--for", "30m", "--why", "x")
    assert found["order"]["who"] == store.orders()[0].order.who == "wu"


def test_what_is_in_force_is_listed_newest_first_and_the_rest_on_demand(
    store: SqlLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "No order is in force." in run(capsys, "order", "list")[1]
    run(capsys, *GIVE)
    run(capsys, *GIVE)
    past = store.orders()[0].order
    store.give_order(replace(past, since=past.since - timedelta(days=2), until=past.since - timedelta(days=1)))
    run(capsys, "order", "cancel", "2", "--why", "false alarm", "--who", "wu")
    assert listed(capsys) == [(1, "in_force")]
    assert listed(capsys, "--all") == [(3, "ended"), (2, "cancelled"), (1, "in_force")]
    text = run(capsys, "order", "list", "--all")[1]
    assert "cancelled by wu: false alarm" in text


def test_a_cancellation_has_who_and_why(store: SqlLedger, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *GIVE)
    found = document(capsys, "order", "cancel", "1", "--why", "false alarm", "--who", "wu")["order"]
    assert found["state"] == "cancelled"
    assert (found["cancelled"]["who"], found["cancelled"]["why"]) == ("wu", "false alarm")
    assert store.orders()[0].cancelled is not None


BAD: list[tuple[Sequence[str], str]] = [
    (("emergency", "--nodes", "0", "--for", "2h", *WHY), "--nodes"),
    (("emergency", "--nodes", "-3", "--for", "2h", *WHY), "--nodes"),
    (("emergency", "--nodes", "9" * 30, "--for", "2h", *WHY), "--nodes"),
    (("emergency", "--nodes", "many", "--for", "2h", *WHY), "--nodes"),
    (("emergency", "--for", "2h", *WHY), "--nodes"),
    (("emergency", "--nodes", "1", *WHY), "--for"),
    (("emergency", "--nodes", "1", "--for", "0s", *WHY), "--for"),
    (("emergency", "--nodes", "1", "--for", "2", *WHY), "--for"),
    (("emergency", "--nodes", "1", "--for", "-2h", *WHY), "--for"),
    (("emergency", "--nodes", "1", "--for", "7d1s", *WHY), "--for"),
    (("emergency", "--nodes", "1", "--for", "9" * 20 + "d", *WHY), "--for"),
    (("emergency", "--nodes", "1", "--for", "2h"), "--why"),
    (("emergency", "--nodes", "1", "--for", "2h", "--why", " \n "), "--why"),
    (("emergency", "--nodes", "1", "--for", "2h", "--why", "x" * 301), "--why"),
    (("emergency", "--nodes", "1", "--for", "2h", "--why", "\x1b[31m"), "--why"),
    (("emergency", "--nodes", "1", "--for", "2h", "--why", "x", "--who", ""), "--who"),
    (("shrink", "--to", "-1", "--for", "2h", *WHY), "--to"),
    (("cancel", "7", "--why", "x"), "order 7"),
    (("cancel", "0", "--why", "x"), "N"),
    (("cancel", "9" * 30, "--why", "x"), "N"),
    (("cancel", "1"), "--why"),
]


@pytest.mark.parametrize(("arguments", "names"), BAD)
def test_what_cannot_be_ordered_is_one_clear_error_and_nothing_is_kept(
    store: SqlLedger, capsys: pytest.CaptureFixture[str], arguments: Sequence[str], names: str
) -> None:
    code, out, err = run(capsys, "order", *arguments)
    assert (code, out) == (ExitCode.BAD_CALL, "")
    assert names in err
    assert "next: " in err
    assert err.count("error ") == 1
    assert store.orders() == ()


def test_what_is_over_cannot_be_cancelled_again(store: SqlLedger, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, *GIVE)
    order = store.orders()[0].order
    store.give_order(replace(order, since=order.since - timedelta(days=2), until=order.since - timedelta(days=1)))
    run(capsys, "order", "cancel", "1", "--why", "x", "--who", "wu")
    for number, says in (("1", "was cancelled by wu already"), ("2", "ended by itself at ")):
        code, _, err = run(capsys, "order", "cancel", number, "--why", "x")
        assert (code, says in err) == (ExitCode.BAD_CALL, True)


def test_what_looks_like_a_secret_is_blotted_out_before_it_is_kept(
    store: SqlLedger, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, "order", "emergency", "--nodes", "1", "--for", "1h", "--why", "use password=canary-4711 for it")
    assert "canary-4711" not in store.orders()[0].order.why
    assert "canary-4711" not in run(capsys, "order", "list", "-o", "json")[1]


def test_an_order_into_a_ledger_that_is_not_there_is_refused(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, *GIVE, "--ledger", "typo.db")
    assert (code, "there is no ledger" in err) == (ExitCode.BAD_CALL, True)
    assert list(nowhere.iterdir()) == []


def test_the_agent_on_a_twin_takes_an_order_up_and_names_it(site: Site) -> None:
    assert site.run("tick").code == ExitCode.OK
    given = site.run("order", "emergency", "--nodes", "2", "--for", "2h", "--why", "release night", "--who", "lin")
    assert given.code == ExitCode.OK, given.err
    held = site.run("tick", "--dry-run", "--output", "json").document()
    assert str(held["headline"]).startswith("Burst: ")
    assert "order 1 of lin (release night)" in json.dumps(held["decision"])
    assert (
        "order: 2 nodes more than the 0 rented then, 2 in all; order 1 of lin (release night)" in site.run("status").out
    )
    assert [order["number"] for order in site.run("status", "--output", "json").document()["orders"]] == [1]  # type: ignore[attr-defined]
    site.run("order", "cancel", "1", "--why", "false alarm")
    assert "order 1" not in site.run("tick", "--dry-run").out
    assert "order 1" not in site.run("status").out
