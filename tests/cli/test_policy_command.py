"""`spillway policy`: a policy in sentences, its overlaps and next openings; contradictions end with 2."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.core.policy import policy_schema
from agent.errors import ExitCode
from spillway.main import _run

STACKS = Path(__file__).resolve().parents[2] / "stacks"
REFERENCE = STACKS / "policies" / "reference.yaml"


def edited(tmp_path: Path, *edits: tuple[str, str]) -> Path:
    text = REFERENCE.read_text(encoding="utf-8")
    for before, after in edits:
        assert before in text
        text = text.replace(before, after)
    file = tmp_path / "policy.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_it_says_what_the_policy_means_and_when_windows_open(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["policy", "check", str(REFERENCE), "--from", "2026-11-20"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "the policy is good" in shown
    assert "Rents 5 to 10 nodes a step, by need, when local GPU use was at or above 85.0 % for 5m" in shown
    assert "month-end: Mon 2026-11-23 16:00 UTC to Mon 2026-11-30 16:00 UTC" in shown
    assert "month-end and night: 84 times, first Mon 2026-11-23 18:00 UTC" in shown
    assert "what the one keeps stays, other idle nodes go back" in shown


def test_the_same_as_data(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["policy", "check", str(REFERENCE), "--from", "2026-11-20", "--output", "json"]) == ExitCode.OK
    data = json.loads(capsys.readouterr().out)
    assert data["problems"] == []
    assert [item["window"] for item in data["next_openings"]] == ["night", "month-end"]
    assert data["overlaps"][0]["windows"] == ["month-end", "night"]
    assert data["overlaps"][0]["times"] == 84
    assert "limits" in data["sentences"]


@pytest.mark.parametrize("output", ["text", "json"])
def test_contradictions_are_told_each_with_key_and_fix(
    output: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = edited(tmp_path, ("keep_nodes: 10", "keep_nodes: 50"), ("max_back_off: 30m", "max_back_off: 1m"))
    assert _run(["policy", "check", str(file), "--output", output]) == ExitCode.BAD_CALL
    shown = capsys.readouterr()
    told = shown.err if output == "text" else json.loads(shown.out)["error"]["message"]
    assert "cool_down: max_back_off is below back_off" in told
    assert "calendar: month-end keeps 50 nodes, limits.max_cloud_nodes allows 40" in told
    assert told.count("fix: ") == 2


def test_two_windows_of_one_kind_are_told_what_wins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = "    - {name: day, length: 24h, keep_nodes: 2}\n    - {name: dusk, length: 24h, give_back_idle: true}\n"
    file = edited(tmp_path, ("    - name: night\n", f"{more}    - name: night\n"))
    assert _run(["policy", "check", str(file), "--from", "2026-11-01"]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "day and month-end: 84 times" in shown
    assert "the higher number is kept" in shown
    assert "idle nodes go back by the first in the file" in shown


def test_a_pool_that_the_catalogue_has_not_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = edited(tmp_path, ("warm_pool:\n  nodes: 0", "warm_pool:\n  nodes: 1\n  pool: ghost"))
    assert _run(["policy", "check", str(file)]) == ExitCode.OK, "no catalogue stands beside it"
    capsys.readouterr()
    catalog = ["--catalog", str(STACKS / "catalog.yaml")]
    assert _run(["policy", "check", str(file), *catalog]) == ExitCode.BAD_CALL
    assert "warm_pool: pool names ghost, which is no rented pool" in capsys.readouterr().err


def test_a_policy_without_windows_has_no_openings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    file = tmp_path / "policy.yaml"
    file.write_text(text[: text.index("# What is known")] + text[text.index("# Ready nodes") :], encoding="utf-8")
    assert _run(["policy", "check", str(file)]) == ExitCode.OK
    shown = capsys.readouterr().out
    assert "next openings" not in shown
    assert "overlaps" not in shown


def test_the_schema_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["policy", "schema"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out) == policy_schema()
