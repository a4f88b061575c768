"""`spillway sweep`: results, resuming, pictures, a cluster; wrong calls say what to do."""

from __future__ import annotations

import fcntl
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pytest
import typer

from agent.errors import BadCall
from contract.problems import InvalidInput
from replay.contest import Result, compete
from replay.sweep import crew
from spillway.commands import sweep as command
from tests.replay.trace_files import ROOT, written

LINES = ("job_id,submit_time,duration,num_gpu", *(f"j{n},{n * 60},3600,4" for n in range(8)))
STACKS = ROOT / "stacks"
ECONOMY, RESPONSIVE = STACKS / "policies" / "economy.yaml", STACKS / "policies" / "responsive.yaml"


@pytest.fixture
def trace(tmp_path: Path) -> str:
    return str(written(tmp_path, *LINES))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out" / "sweep"


@pytest.fixture
def sweep(trace: str, out: Path) -> Callable[..., object]:
    """The command alone, as the table of main calls it, in this process and in the quick world."""

    def run(*arguments: str) -> object:
        app = typer.Typer()
        app.command("sweep")(command.sweep)
        given = [trace, "--catalog", str(STACKS / "catalog.yaml"), "--out", str(out), "--on-prem", "16"]
        if "--policy" not in arguments:
            given += ["--policy", str(ECONOMY)]
        if "--world" not in arguments:
            given += ["--world", "instant"]
        if "--workers" not in arguments:
            given += ["--workers", "1"]
        return app(args=[*given, *arguments], standalone_mode=False)

    return run


def lines(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (out / "results.jsonl").read_text(encoding="utf-8").splitlines()]


def test_the_product_is_run_and_each_cell_is_a_line(
    sweep: Callable[..., object], out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep(
        *("--policy", str(ECONOMY), "--policy", str(RESPONSIVE), "--patience", "3m,1h", "--seeds", "0-1,7"),
        *("--against", "queue-only", "--estimates", "wrong-x3"),
    )
    found = lines(out)
    assert len(found) == (2 * 2 + 1) * 3
    assert {line["policy"] for line in found} == {
        *("economy@3m", "economy@1h", "responsive@3m", "responsive@1h", "queue-only")
    }
    assert {line["seed"] for line in found} == {0, 1, 7}
    assert {line["estimates"] for line in found} == {"wrong-x3"}
    shown = capsys.readouterr().out
    assert "economy@3m" in shown
    assert "±" in shown
    assert "* mean" in shown


def test_a_second_call_runs_nothing_and_says_the_same(
    sweep: Callable[..., object],
    out: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sweep("--seeds", "0-1", "--against", "burst-at-once", "--output", "json")
    first = capsys.readouterr()
    monkeypatch.setattr(crew, "compete", _never)
    sweep("--seeds", "0-1", "--against", "burst-at-once", "--output", "json")
    second = capsys.readouterr()
    assert second.out == first.out
    assert "4 of 4 cells were done before" in second.err
    assert len(lines(out)) == 4
    rows = json.loads(first.out)["rows"]
    assert [row["policy"] for row in rows] == ["economy", "burst-at-once"]
    assert set(rows[0]["cloud_cost"]) == {"mean", "sd", "min", "max"}
    assert rows[0]["currency"] == "CNY"


def _never(*_: object) -> Result:
    raise AssertionError("nothing is left to run")


def test_a_changed_policy_is_run_again(sweep: Callable[..., object], out: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    text = (STACKS / "policy.yaml").read_text(encoding="utf-8")
    mine.write_text(text, encoding="utf-8")
    sweep("--policy", str(mine))
    mine.write_text(text + "\n# a remark changes nothing\n", encoding="utf-8")
    sweep("--policy", str(mine))
    assert len(lines(out)) == 1
    mine.write_text(text.replace("max_cloud_nodes: 40", "max_cloud_nodes: 39"), encoding="utf-8")
    sweep("--policy", str(mine))
    assert len(lines(out)) == 2


def test_one_bad_cell_ends_in_1_and_the_others_are_kept(
    sweep: Callable[..., object], out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def unlucky(arena: Any, entrant: Any) -> Result:
        if arena.truth.seed == 1:
            raise ValueError("seed 1 is unlucky")
        return compete(arena, entrant)

    monkeypatch.setattr(crew, "compete", unlucky)
    assert sweep("--seeds", "0-2", "--output", "json") == 1
    shown = capsys.readouterr()
    assert "failed jobs, economy, seed 1: ValueError: seed 1 is unlucky" in shown.err
    assert [line["seed"] for line in lines(out)] == [0, 2]
    data = json.loads(shown.out)
    assert data["failed"] == [{"cell": "jobs, economy, seed 1", "why": "ValueError: seed 1 is unlucky"}]
    assert data["rows"][0]["seeds"] == [0, 2]


def test_ctrl_c_leaves_what_is_done_and_says_so(
    sweep: Callable[..., object], out: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*arguments: Any) -> Iterator[Any]:
        yield next(crew.run(*arguments))
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run", run)
    # What typer makes of Ctrl-C, and main of that: ExitCode.CANCELLED.
    assert sweep("--seeds", "0-2") == 130
    assert "stopped: 1 of 3 cells are kept" in capsys.readouterr().err
    monkeypatch.setattr(command, "run", crew.run)
    sweep("--seeds", "0-2")
    assert [line["seed"] for line in lines(out)] == [0, 1, 2]


def test_the_page_has_the_pictures(sweep: Callable[..., object], tmp_path: Path) -> None:
    page = tmp_path / "sweep.html"
    sweep("--against", "queue-only", "--against", "burst-at-once", "--html", str(page))
    shown = page.read_text(encoding="utf-8")
    assert "Cost against mean wait" in shown
    assert "Cost against p99 wait" in shown
    with pytest.raises(BadCall, match="there is no folder"):
        sweep("--html", str(tmp_path / "none" / "sweep.html"))


def test_processes_give_what_one_process_gives(
    sweep: Callable[..., object], out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep("--seeds", "0-1", "--world", "real", "--against", "karpenter", "--output", "json")
    here = capsys.readouterr().out
    (out / "results.jsonl").unlink()
    sweep("--seeds", "0-1", "--world", "real", "--against", "karpenter", "--output", "json", "--workers", "2")
    assert capsys.readouterr().out == here


def test_two_files_of_one_name_and_two_policies_of_one_name_are_told_apart(
    sweep: Callable[..., object], trace: str, out: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    twin = written(tmp_path / "other", *LINES[:-1])
    same = written(tmp_path / "other", *LINES, name="same.csv")
    copy = tmp_path / "economy.yaml"
    copy.write_text(RESPONSIVE.read_text(encoding="utf-8"), encoding="utf-8")
    sweep(str(twin), str(same), "--policy", str(ECONOMY), "--policy", str(copy), "--policy", str(copy))
    found = lines(out)
    assert len(found) == 4
    assert {line["policy"] for line in found} == {str(ECONOMY), str(copy)}
    assert {line["trace"] for line in found} == {f"jobs ({trace})", f"jobs ({twin})"}


def test_patience_that_nothing_listens_to_is_told(
    sweep: Callable[..., object], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = tmp_path / "mine.yaml"
    lines = ECONOMY.read_text(encoding="utf-8").splitlines()
    start = next((n for n, line in enumerate(lines) if line.startswith("wait_or_pay:")), len(lines))
    end = next((n for n in range(start + 1, len(lines)) if lines[n][:1] not in (" ", "#", "")), len(lines))
    mine.write_text("\n".join([*lines[:start], *lines[end:]]), encoding="utf-8")
    sweep("--policy", str(mine), "--patience", "3m", "--world", "real")
    assert "--patience changes nothing there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--seeds", "a"), "'a' is not a seed"),
        (("--seeds", "-1"), "'-1' is not a seed"),
        (("--seeds", "4-0"), "not a range"),
        (("--seeds", "0-99999"), "not a range"),
        (("--seeds", "9" * 5000), "is not a seed"),
        (("--seeds", ""), "is not a seed"),
        (("--patience", "soon"), "not a duration"),
        (("--patience", "0s"), "patience of 0"),
        (("--on-prem", "12"), "no whole nodes"),
        (("--against", "karpenter"), "no baseline of world instant"),
        (("--against", "my.yaml"), "no policy file and no baseline"),
        (("none.csv",), "No such file"),
    ],
)
def test_a_wrong_call_says_what_is_right(
    sweep: Callable[..., object], out: Path, arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(BadCall, match=message) as caught:
        sweep(*arguments)
    assert caught.value.hint
    assert not out.exists()


def test_a_bad_trace_is_refused_before_anything_runs(sweep: Callable[..., object], tmp_path: Path, out: Path) -> None:
    bad = written(tmp_path, LINES[0], "j1,0,-5,4", name="bad.csv")
    with pytest.raises(InvalidInput, match=r"bad\.csv"):
        sweep(str(bad))
    assert not out.exists()


def test_a_folder_in_use_or_unwritable_is_refused(sweep: Callable[..., object], out: Path, tmp_path: Path) -> None:
    out.mkdir(parents=True)
    with (out / "sweep.lock").open("w") as lock:
        lock.write("4711")
        lock.flush()
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BadCall, match="process 4711 sweeps into it") as caught:
            sweep()
    assert "--out" in caught.value.hint
    (tmp_path / "plain").write_text("")
    with pytest.raises(BadCall, match="cannot be written"):
        sweep("--out", str(tmp_path / "plain" / "in"))


# ---- a cluster ----


def test_without_the_extra_the_way_to_get_it_is_told(
    sweep: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(BadCall) as caught:
        sweep("--cluster", "tcp://127.0.0.1:8786")
    assert caught.value.hint == "pip install 'spillway[cluster]'"


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_gives_what_one_process_gives(
    sweep: Callable[..., object], out: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    distributed: Any = pytest.importorskip("distributed")
    sweep("--seeds", "0-2", "--output", "json")
    here = capsys.readouterr().out
    (out / "results.jsonl").unlink()
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None, host="127.0.0.1", protocol="tcp"
    ) as cluster:
        sweep("--seeds", "0-2", "--output", "json", "--cluster", cluster.scheduler_address)
        assert capsys.readouterr().out == here
        assert len(lines(out)) == 3


@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_does_not_answer_is_told(sweep: Callable[..., object], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr(command, "_CLUSTER_TIMEOUT", "200ms")
    with pytest.raises(BadCall, match="no Dask scheduler answers"):
        sweep("--cluster", "tcp://127.0.0.1:9")
    with pytest.raises(BadCall, match="no Dask scheduler answers"):
        sweep("--cluster", "nonsense://")


def test_an_executor_is_all_that_a_crew_needs() -> None:
    with crew.alone().make() as executor:
        assert isinstance(executor, Executor)
        assert executor.submit(max, 1, 2).result() == 2
