"""I41 (kubernetes/kubernetes#121594): a start in the repeated hour opens once, one in the missing hour opens too."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from agent.core.calendar_windows import WindowRule, open_now, openings

HALF_PAST_ONE, HALF_PAST_TWO = timedelta(hours=1, minutes=30), timedelta(hours=2, minutes=30)


def rule(zone: str, at: timedelta) -> WindowRule:
    return WindowRule(name="job", zone=zone, at=at, length=timedelta(hours=4))


@pytest.mark.parametrize(
    ("zone", "at", "opens"),
    [
        ("Europe/Berlin", HALF_PAST_ONE, "2026-03-29T00:30"),
        ("Europe/Berlin", HALF_PAST_TWO, "2026-03-29T01:00"),
        ("Europe/Berlin", HALF_PAST_ONE, "2026-10-24T23:30"),
        ("Europe/Berlin", HALF_PAST_TWO, "2026-10-25T00:30"),
        ("America/New_York", HALF_PAST_ONE, "2026-03-08T06:30"),
        ("America/New_York", HALF_PAST_TWO, "2026-03-08T07:00"),
        ("America/New_York", HALF_PAST_ONE, "2026-11-01T05:30"),
        ("America/New_York", HALF_PAST_TWO, "2026-11-01T07:30"),
    ],
)
def test_once_each_and_in_spring_at_the_first_valid_minute(zone: str, at: timedelta, opens: str) -> None:
    start = datetime.fromisoformat(opens).replace(tzinfo=UTC)
    local = start.astimezone(ZoneInfo(zone))
    since = local.replace(hour=0, minute=0).astimezone(UTC)
    found = openings(rule(zone, at), since, since + timedelta(hours=23))
    assert [item.start for item in found] == [start]
    assert found[0].end - found[0].start == timedelta(hours=4), "length is real elapsed time"


@pytest.mark.parametrize("day", ["2026-03-28T12:00", "2026-10-24T12:00"])
@pytest.mark.parametrize("at", [HALF_PAST_ONE, HALF_PAST_TWO])
@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_walking_through_the_night_it_goes_from_shut_to_open_once(zone: str, at: timedelta, day: str) -> None:
    noon = datetime.fromisoformat(day).replace(tzinfo=UTC)
    seen = [open_now(rule(zone, at), noon + timedelta(minutes=number)) is not None for number in range(24 * 60)]
    assert sum(later and not before for before, later in pairwise(seen)) == 1
    assert sum(seen) == 4 * 60
