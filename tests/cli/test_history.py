"""`decisions` and `explain` on a ledger: newest first, by id, for people and for machines."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.core.decide import decide
from agent.core.snapshot import Snapshot, Unknown
from agent.errors import ExitCode
from agent.ledger.store import SqlLedger, sqlite_url
from agent.ports import TickRecord
from spillway.main import _run
from tests.builders import EVERY, NOON, a_node, a_policy, a_pool, a_snapshot, tasks, watched

SPAN = timedelta(minutes=12)


def a_tick(snapshot: Snapshot, withdrawn: str | None = None) -> TickRecord:
    before = watched(snapshot, SPAN)
    decision, memory = decide(snapshot, a_policy(), before)
    return TickRecord(
        snapshot=snapshot,
        policy=a_policy(),
        memory_before=before,
        decided=decision,
        decision=decision,
        memory_after=memory,
        events=(),
        withdrawn=withdrawn,
    )


@pytest.fixture
def ledger(nowhere: Path) -> Path:
    """Four ticks: a burst, a hold, a withdrawn burst, a hold for doubt."""
    path = nowhere / "ledger.db"
    store = SqlLedger(sqlite_url(path))
    store.record(a_tick(a_snapshot(NOON, queue=tasks(7))))
    store.record(a_tick(a_snapshot(NOON + EVERY, use=60.0, pools=[a_pool(a_node(1, used=8))])))
    store.record(a_tick(a_snapshot(NOON + 2 * EVERY, queue=tasks(9)), "the queue emptied meanwhile"))
    store.record(a_tick(a_snapshot(NOON + 3 * EVERY, use=Unknown("Prometheus gave no series"))))
    store.close()
    return path


def run(ledger: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = _run([*arguments, "--ledger", str(ledger)])
    shown = capsys.readouterr()
    return int(code), shown.out, shown.err


def ids(ledger: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> list[int]:
    code, out, _ = run(ledger, capsys, "decisions", *arguments, "--output", "json")
    assert code == ExitCode.OK
    return [item["id"] for item in json.loads(out)["decisions"]]


def test_actions_are_listed_newest_first_and_all_ticks_on_demand(
    ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ids(ledger, capsys) == [3, 1]
    assert ids(ledger, capsys, "--all") == [4, 3, 2, 1]
    assert ids(ledger, capsys, "--all", "--limit", "2") == [4, 3]


def test_the_list_is_a_table_for_people(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(ledger, capsys, "decisions", "--all")
    assert (code, err) == (ExitCode.OK, "")
    assert "Burst: ack-a100-od 0 -> 7 (+7)" in out
    assert "Withdrawn: the queue emptied meanwhile." in out
    assert "Hold: local use is unknown: Prometheus gave no series." in out


def test_the_newest_action_is_explained_by_default(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, latest, _ = run(ledger, capsys, "explain")
    _, third, _ = run(ledger, capsys, "explain", "3")
    assert latest == third
    assert latest.startswith("Decision 3, ")
    assert "Withdrawn before anything was touched: the queue emptied meanwhile." in latest


def test_an_explanation_for_machines_is_whole(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(ledger, capsys, "explain", "1", "--output", "json")
    assert (code, err) == (ExitCode.OK, "")
    document = json.loads(out)
    assert document["decision"]["action"] == "grow"
    assert [item["met"] for item in document["evidence"]] == [True, True]
    assert document["cost_per_hour"] == {"amount": "1945.53", "currency": "CNY"}
    lost = {item["what"]: item["lost_because"]["code"] for item in document["alternatives"]}
    assert lost["do nothing"] == "outranked"
    assert "eks-l4-spot +7" in lost
    assert all(item["lost_because"]["text"] for item in document["alternatives"])
    assert document["sentences"][0] == document["headline"]


def test_a_hold_is_explained_with_its_doubt(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(ledger, capsys, "explain", "4", "--output", "json")
    document = json.loads(out)
    assert document["decision"]["action"] == "hold"
    assert document["decision"]["changes"] == []
    assert None in [item["met"] for item in document["evidence"]]


@pytest.mark.parametrize("which", ["99", "0", "first", "1.5", "", "\u00b2", "9" * 30])
def test_an_id_that_is_none_is_two_and_says_where_to_look(
    ledger: Path, capsys: pytest.CaptureFixture[str], which: str
) -> None:
    code, out, err = run(ledger, capsys, "explain", which)
    assert (code, out) == (ExitCode.BAD_CALL, "")
    assert err.startswith("error nothing_recorded: ledger: ")
    assert "spillway decisions --all" in err


def test_an_empty_ledger_says_that_nothing_was_decided(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = nowhere / "ledger.db"
    SqlLedger(sqlite_url(path)).close()
    assert run(path, capsys, "decisions")[0] == ExitCode.OK
    code, _, err = run(path, capsys, "explain")
    assert code == ExitCode.BAD_CALL
    assert "nothing was decided yet" in err


def test_a_file_that_is_no_ledger_is_one_clear_error(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = nowhere / "ledger.db"
    path.write_bytes(b"no database " * 500)
    code, out, err = run(path, capsys, "decisions", "--output", "json")
    assert (code, err) == (ExitCode.ERROR, "")
    assert json.loads(out)["error"]["code"] == "ledger_broken"
    assert path.read_bytes() == b"no database " * 500


@pytest.mark.parametrize(
    "url",
    [
        "bogus://host/db",
        "mysql+none://x/y",
        "postgresql://agent:canary-4711@127.0.0.1:9/db",
        "://",
    ],
)
def test_a_ledger_that_cannot_be_reached_is_no_defect_of_ours(
    url: str, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = _run(["decisions", "--ledger", url])
    shown = capsys.readouterr()
    assert code in (ExitCode.ERROR, ExitCode.BAD_CALL), shown.err
    assert "Traceback" not in shown.err
    assert "canary-4711" not in shown.err
    assert list(nowhere.iterdir()) == []


def test_the_ledger_is_found_by_variable_project_or_last_demo(
    ledger: Path, nowhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (nowhere / "out" / "demo").mkdir(parents=True)
    demo, own = nowhere / "out" / "demo" / "ledger.db", nowhere / "out" / "ledger.db"
    ledger.rename(demo)
    assert _run(["decisions"]) == ExitCode.OK
    shown = capsys.readouterr()
    assert "Burst" in shown.out
    assert "the ledger of the last demo" in shown.err
    demo.rename(own)
    assert _run(["decisions"]) == ExitCode.OK
    assert capsys.readouterr().err == ""
    own.rename(ledger)
    monkeypatch.setenv("SPILLWAY_LEDGER", f"sqlite:///{ledger}")
    assert _run(["decisions"]) == ExitCode.OK
    assert "Burst" in capsys.readouterr().out


def test_the_word_about_the_demos_ledger_never_spoils_json(
    ledger: Path, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (nowhere / "out" / "demo").mkdir(parents=True)
    ledger.rename(nowhere / "out" / "demo" / "ledger.db")
    _run(["decisions", "-o", "json"])
    assert len(json.loads(capsys.readouterr().out)["decisions"]) == 2


def test_a_past_decision_is_made_again_bit_for_bit(ledger: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number in ("1", "2", "3", "4"):
        code, out, err = run(ledger, capsys, "explain", number, "--rerun")
        assert (code, err) == (ExitCode.OK, "")
        assert "the same, bit for bit" in out
    code, out, _ = run(ledger, capsys, "explain", "1", "--rerun", "--output", "json")
    document = json.loads(out)
    assert (code, document["id"], document["same"], document["differences"]) == (ExitCode.OK, 1, True, [])


def test_a_decision_that_comes_out_otherwise_is_seven_with_its_fields(
    ledger: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = SqlLedger(sqlite_url(ledger))
    tick = a_tick(a_snapshot(NOON + 4 * EVERY, queue=tasks(7)))
    cheaper = replace(tick.decided, cost_per_hour=tick.decided.cost_per_hour * 2)
    number = store.record(replace(tick, decided=cheaper, decision=cheaper))
    store.close()
    code, out, err = run(ledger, capsys, "explain", str(number), "--rerun")
    assert (code, err) == (ExitCode.UNEXPECTED_CHANGES, "")
    assert "1 field differs." in out
    assert "cost_per_hour.amount" in out
    code, out, _ = run(ledger, capsys, "explain", str(number), "--rerun", "--output", "json")
    assert code == ExitCode.UNEXPECTED_CHANGES
    assert json.loads(out)["differences"] == [
        {"field": "cost_per_hour.amount", "stored": '"3891.062"', "again": '"1945.531"'}
    ]


def test_a_hold_tells_the_pools_that_the_held_policies_considered(
    nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = nowhere / "ledger.db"
    store = SqlLedger(sqlite_url(path))
    snapshot = a_snapshot(NOON, queue=tasks(7))
    before = replace(watched(snapshot, SPAN), last_grow=NOON - EVERY)
    decision, _ = decide(snapshot, a_policy(), before)
    store.record(replace(a_tick(snapshot), memory_before=before, decided=decision, decision=decision))
    store.close()
    code, out, _ = run(path, capsys, "explain", "1", "--output", "json")
    document = json.loads(out)
    assert (code, document["decision"]["action"]) == (ExitCode.OK, "hold")
    lost = {item["what"]: item for item in document["alternatives"]}
    assert lost["queue_pressure: grow ack-a100-od 0 -> 7 (+7)"]["lost_because"]["code"] == "cool_down"
    assert lost["eks-l4-spot +7"]["by"] == "queue_pressure"
    assert any("eks-l4-spot +7" in line for line in document["sentences"])
