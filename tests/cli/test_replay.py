"""`spillway replay`: the comparison for people and machines, and one clear error for each bad call."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agent.errors import ExitCode

_ROOT = Path(__file__).parents[2]
_KEYS = (
    "mean_wait_h",
    "p99_wait_h",
    "mean_jct_h",
    "cloud_gpu_h",
    "cloud_cost",
    "on_prem_use",
    "cloud_use",
    "idle_share",
    "direction_changes",
    "seconds",
)


def _spillway(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "spillway.main", "replay", *arguments],
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    rows = [
        f"{60 * number},{600 + 300 * (number % 7)},{(1, 2, 4, 8)[number % 4]},team-{number % 2}" for number in range(60)
    ]
    path.write_text("arrival,runtime,gpus,department\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize("world", ["real", "instant"])
def test_json_has_every_headline_figure_for_every_policy(trace: Path, world: str) -> None:
    done = _spillway(str(trace), "--world", world, "--on-prem", "16", "--against", "burst-at-once", "-o", "json")
    assert done.returncode == ExitCode.OK, done.stderr
    (played,) = json.loads(done.stdout)["traces"]
    assert [policy["policy"] for policy in played["policies"]] == ["policy", "burst-at-once"]
    assert all(key in policy for policy in played["policies"] for key in _KEYS)
    assert "lower_bound" in played or "optimum" in played
    assert played["jobs"] == 60


def test_the_table_and_a_report_of_two_policies(trace: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    done = _spillway(
        str(trace), "--on-prem", "16", "--against", "stacks/policies/economy.yaml", "--no-bound", "--html", str(report)
    )
    assert done.returncode == ExitCode.OK, done.stderr
    assert "economy" in done.stdout
    assert "<svg" in report.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--on-prem", "9"), "no whole nodes of 8"),
        (("--against", "magic"), "no baseline of world real"),
        (("--against", "constant-wait:x"), "is not a number"),
        (("--policy", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_a_bad_call_is_one_clear_error(trace: Path, arguments: tuple[str, ...], says: str) -> None:
    done = _spillway(str(trace), *arguments, "-o", "json")
    assert done.returncode == ExitCode.BAD_CALL
    assert says in json.loads(done.stdout)["error"]["message"]
    assert "Traceback" not in done.stderr


def test_a_bad_row_is_named_with_file_and_row_and_left_out_only_when_told_so(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("arrival,runtime,gpus\n0,60,1\n1,-5,1\n2,60,1000000\n", encoding="utf-8")
    refused = _spillway(str(path), "-o", "json")
    assert refused.returncode == ExitCode.BAD_CALL
    assert "bad.csv:3" in json.loads(refused.stdout)["error"]["message"]
    done = _spillway(str(path), "--skip-bad", "--against", "queue-only", "--no-bound", "-o", "json")
    assert done.returncode == ExitCode.OK, done.stderr
    (played,) = json.loads(done.stdout)["traces"]
    assert (played["jobs"], played["bad_rows"]) == (1, 2)


def test_a_made_up_month_stands_in_for_a_trace() -> None:
    done = _spillway("company-month", "--first-days", "0.1", "--against", "queue-only", "--no-bound", "-o", "json")
    assert done.returncode == ExitCode.OK, done.stderr
    assert json.loads(done.stdout)["traces"][0]["trace"].startswith("example-company-month")


def test_a_report_that_cannot_be_written_is_told_before_the_work_is_done(trace: Path, tmp_path: Path) -> None:
    for target in (tmp_path / "none" / "x.html", tmp_path):
        done = _spillway(str(trace), "--html", str(target))
        assert done.returncode == ExitCode.BAD_CALL
        assert "name a file in a folder that exists" in done.stderr
        assert done.stdout == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_told_without_a_traceback() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "spillway.main", "policy", "schema"],
            cwd=_ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == ExitCode.ERROR
    assert "the answer is not whole" in done.stderr
    assert "Traceback" not in done.stderr
