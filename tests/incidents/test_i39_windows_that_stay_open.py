"""I39 (kedacore/keda#4677): a window is a start and a length, so that no rule for its end can name another day."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from agent.core.calendar_windows import WindowRule, open_windows
from contract.hours import Weekday
from spillway.main import _run

BERLIN = ZoneInfo("Europe/Berlin")
OFFICE = WindowRule(
    name="office",
    zone="Europe/Berlin",
    at=timedelta(hours=6, minutes=30),
    length=timedelta(hours=15, minutes=40),
    weekdays=tuple(Weekday)[:5],
)
POLICY = Path(__file__).resolve().parents[2] / "stacks" / "policies" / "reference.yaml"


@pytest.mark.parametrize(
    ("moment", "is_open"),
    [
        (datetime(2026, 11, 27, 6, 29, tzinfo=BERLIN), False),
        (datetime(2026, 11, 27, 6, 30, tzinfo=BERLIN), True),
        (datetime(2026, 11, 27, 22, 9, tzinfo=BERLIN), True),
        (datetime(2026, 11, 27, 22, 11, tzinfo=BERLIN), False),
        (datetime(2026, 11, 28, 12, 0, tzinfo=BERLIN), False),
        (datetime(2026, 11, 29, 12, 0, tzinfo=BERLIN), False),
        (datetime(2026, 11, 30, 12, 0, tzinfo=BERLIN), True),
    ],
    ids=["before", "opens", "last minute", "Friday 22:11", "Saturday noon", "Sunday noon", "Monday noon"],
)
def test_a_window_of_the_working_week_is_closed_on_friday_night_and_on_saturday(
    moment: datetime, is_open: bool
) -> None:
    assert bool(open_windows([OFFICE], moment)) is is_open


def test_it_is_closed_in_every_minute_of_a_weekend() -> None:
    start = datetime(2026, 11, 27, 22, 10, tzinfo=BERLIN).astimezone(UTC)
    end = datetime(2026, 11, 30, 6, 30, tzinfo=BERLIN).astimezone(UTC)
    for minute in range(int((end - start) / timedelta(minutes=1))):
        assert not open_windows([OFFICE], start + timedelta(minutes=minute))


def test_windows_that_overlap_are_shown_to_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["policy", "check", str(POLICY), "--from", "2026-01-01"]) == 0
    shown = capsys.readouterr().out
    assert "month-end and night: 84 times, first Sat 2026-01-24 18:00 UTC to Sat 2026-01-24 22:00 UTC" in shown
