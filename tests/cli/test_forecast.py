"""`spillway forecast`: text, JSON, a page; wrong calls say what to do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer

from agent.errors import BadCall
from contract.problems import InvalidInput
from spillway.commands.forecast import forecast
from tests.replay.demand_cases import demand_of, office, quiet_nights, written_series


def run(*arguments: str) -> None:
    """The command alone, as the table of main calls it."""
    app = typer.Typer()
    app.command("forecast")(forecast)
    app(args=list(arguments), standalone_mode=False)


@pytest.fixture
def series(tmp_path: Path) -> str:
    """Six weeks of office hours."""
    return str(written_series(tmp_path, demand_of(office, 6, noise=3.0)))


def test_it_shows_the_week_the_errors_and_what_to_approve(series: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(series, "--on-prem", "96")
    shown = capsys.readouterr().out
    for part in ("usual week", "as last week (naive)", "(chosen)", "better than both naive ones", "end of month"):
        assert part in shown
    assert "weekdays: [mon, tue, wed, thu, fri]" in shown
    assert "approved_by: null" in shown


def test_machines_get_one_document(series: str, capsys: pytest.CaptureFixture[str]) -> None:
    run(series, "--on-prem", "96", "--output", "json", "--plan-for", "p50", "--weeks-held-out", "1", "--lead", "1h30m")
    found = json.loads(capsys.readouterr().out)
    assert found["plan_for"] == 0.5
    assert found["weeks_held_out"] == 1
    assert found["proposals"][0]["lead"] == "1h30m"
    assert found["prewarm_yaml"].startswith("prewarm:")


def test_a_night_and_a_missing_size_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(str(written_series(tmp_path, demand_of(quiet_nights, 2, noise=1.0))))
    shown = capsys.readouterr().out
    assert "give_back_idle: true" in shown
    assert "note: give --on-prem GPUS" in shown
    assert "1 held-out week;" in shown


def test_a_page_is_written_or_refused(series: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "week.html"
    run(series, "--html", str(page))
    assert "<svg" in page.read_text(encoding="utf-8")
    with pytest.raises(BadCall, match="cannot be written"):
        run(series, "--html", str(tmp_path / "none" / "week.html"))


@pytest.mark.parametrize(
    ("arguments", "message"), [(("--zone", "Mars/Base"), "not a time zone"), (("--lead", "soon"), "soon")]
)
def test_a_wrong_option_says_what_is_right(series: str, arguments: tuple[str, str], message: str) -> None:
    with pytest.raises(BadCall, match=message) as caught:
        run(series, *arguments)
    assert caught.value.hint.startswith("write it such as")


def test_a_history_that_is_too_short_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="at least 2 weeks"):
        run(str(written_series(tmp_path, demand_of(office, 1))))
