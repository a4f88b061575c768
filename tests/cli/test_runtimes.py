"""`spillway runtimes`, and where `explain` says that run times came from: on ledgers, and on the twin end to end."""

from __future__ import annotations

import json
import sqlite3
import zlib
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.core.ended_work import TaskEnd
from agent.errors import ExitCode
from agent.ledger.store import SqlLedger, sqlite_url
from spillway.main import _run
from tests.cli.site import Site
from tests.ended import ANNA, ANNAS_WORK, HOUR, an_ended_task
from tests.sim.builders import a_job

SECOND = timedelta(seconds=1)


@pytest.fixture
def path(nowhere: Path) -> Path:
    """A ledger that has learned nothing."""
    found = nowhere / "ledger.db"
    SqlLedger(sqlite_url(found)).close()
    return found


def run(path: Path, capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert _run(["runtimes", "--ledger", str(path), *arguments]) == ExitCode.OK
    return capsys.readouterr().out


def teach(path: Path, *spans: timedelta) -> None:
    ledger = SqlLedger(sqlite_url(path))
    ledger.keep_ended([an_ended_task(number, span) for number, span in enumerate(spans)])
    ledger.close()


def test_an_empty_book_says_so_and_what_to_do(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(path, capsys).startswith("No run time was learned yet")
    document = json.loads(run(path, capsys, "--output", "json"))
    assert document == {
        "quantile": 0.5,
        "least": 5,
        "learned_from": 0,
        "held_out": None,
        "ended_otherwise": {},
        "work": [],
    }


def test_each_kind_of_work_is_told_with_its_spread_and_its_error(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teach(path, *[HOUR] * 6, 2 * HOUR, 2 * HOUR)
    shown = run(path, capsys)
    [line] = [line for line in shown.splitlines() if line.startswith(ANNAS_WORK)]
    assert line.removeprefix(ANNAS_WORK).split() == ["8", "1h", "1h", "2h", "itself", "3", "x", "2.00", "33%"]
    assert "8 tasks are learned from; 3 later tasks were told wrong by x 2.00 typically, 33% lay in range" in shown


def test_machines_are_told_the_same(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    teach(path, *[HOUR] * 6)
    [work] = json.loads(run(path, capsys, "--output", "json"))["work"]
    assert (work["work"], work["ended"], work["held_out"]["tasks"]) == (ANNAS_WORK, 6, 1)
    assert work["told"]["median_s"] == pytest.approx(3600)


def test_work_of_which_too_few_ended_is_unknown_and_crashes_are_counted(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = SqlLedger(sqlite_url(path))
    outcomes = [TaskEnd.FAILED, TaskEnd.FAILED, TaskEnd.VANISHED]
    ledger.keep_ended([an_ended_task(n, SECOND, outcome=outcome) for n, outcome in enumerate(outcomes)])
    assert "Ended otherwise, and taught nothing: 2 failed, 1 vanished." in run(path, capsys)
    ledger.keep_ended([an_ended_task(10)])
    shown = run(path, capsys)
    assert "unknown" in shown
    assert "1 tasks are learned from. Work of which fewer than 5 ended is unknown." in shown


def test_work_told_from_wider_kin_names_it_and_the_list_can_be_cut(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    teach(path, *[HOUR] * 6)
    ledger = SqlLedger(sqlite_url(path))
    ledger.keep_ended([an_ended_task(100, HOUR, key=replace(ANNA, user="ben"))])
    assert "hpo of department vision" in run(path, capsys)
    assert "1 other kinds of work; show more with --limit." in run(path, capsys, "--limit", "1")


# ---- end to end on the twin ----


def ticks(site: Site, count: int) -> None:
    for _ in range(count):
        assert site.run("tick").code == ExitCode.OK
        site.world.advance_to(site.world.now_s + 30.0)


def test_finished_jobs_of_the_twin_teach_the_agent_and_a_past_decision_says_so_and_runs_again(site: Site) -> None:
    """Each tick is a process of its own here: all that is learned is in the ledger."""
    for number in range(6):
        site.world.dispatcher.submit(a_job(f"early-{number}", submitted_s=site.world.now_s, duration_s=95.0))
    ticks(site, 6)
    shown = site.run("runtimes").out
    assert "other of department research on 5-8 GPUs" in shown
    assert "1m35s" in shown
    for number in range(40):
        site.world.dispatcher.submit(a_job(f"late-{number}", submitted_s=site.world.now_s, duration_s=9e4))
    site.run("tick")
    newest = json.loads(site.run("decisions", "--all", "--limit", "1", "--output", "json").out)["decisions"][0]["id"]
    told = site.run("explain", str(newest)).out
    assert "0 stated" in told
    assert "from 6 ended tasks (other of department research on 5-8 GPUs): 1m35s." in told
    assert "the same, bit for bit" in site.run("explain", str(newest), "--rerun").out
    runtimes = json.loads(site.run("explain", str(newest), "--output", "json").out)["runtimes"]
    assert runtimes[0].startswith("Runtimes of waiting tasks (")


def test_a_decision_whose_inputs_another_version_stored_is_still_explained(site: Site) -> None:
    ticks(site, 1)
    with sqlite3.connect(site.folder / "ledger.db") as connection:
        connection.execute("DROP TRIGGER tick_no_update")
        [[packed]] = connection.execute("SELECT inputs FROM tick")
        stored = json.loads(zlib.decompress(packed))
        stored["snapshot"]["weather"] = "fair"
        connection.execute("UPDATE tick SET inputs = ?", [zlib.compress(json.dumps(stored).encode())])
    told = site.run("explain", "1")
    assert told.code == ExitCode.OK
    assert "Runtimes" not in told.out
