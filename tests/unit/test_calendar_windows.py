"""Windows of time against a walk through every minute, in zones with all kinds of clock changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.calendar_windows import (
    WindowRule,
    first_moment,
    next_opening,
    open_now,
    open_windows,
    openings,
    overlaps,
)
from contract.hours import Weekday

MINUTE, HOUR, DAY = timedelta(minutes=1), timedelta(hours=1), timedelta(days=1)
FROM, TO = date(2026, 1, 1), date(2028, 1, 1)
# Shift of 30 min (Lord Howe), change at midnight (Santiago, Beirut), at UTC midnight (Azores), none, half hours.
ZONES = (
    *("UTC", "Asia/Shanghai", "Asia/Kathmandu", "Europe/Berlin", "America/New_York"),
    *("Australia/Lord_Howe", "America/Santiago", "Asia/Beirut", "Atlantic/Azores", "Pacific/Chatham"),
)


def a_rule(name: str = "night", zone: str = "Europe/Berlin", at: timedelta = 2 * HOUR, **more: object) -> WindowRule:
    return replace(WindowRule(name=name, zone=zone, at=at, length=4 * HOUR), **more)  # type: ignore[arg-type]


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@cache
def days_of_change(zone: str) -> tuple[date, ...]:
    """Days of the two years on whose next day another offset holds."""
    found, day = [], FROM
    while day < TO:
        noon, later = (datetime(d.year, d.month, d.day, 12, tzinfo=ZoneInfo(zone)) for d in (day, day + DAY))
        if noon.utcoffset() != later.utcoffset():
            found += [day, day + DAY]
        day += DAY
    return tuple(found)


def minutes_around(day: date) -> Iterator[datetime]:
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - 15 * HOUR
    return (start + number * MINUTE for number in range(54 * 60))


def walked(day: date, zone: str) -> dict[int, datetime]:
    """For each minute of the day the first moment at which the clocks show it or a later time."""
    wanted, found, place = datetime.fromisoformat(f"{day}"), {}, ZoneInfo(zone)
    number = 0
    for moment in minutes_around(day):
        shown = moment.astimezone(place).replace(tzinfo=None)
        while number < 24 * 60 and shown >= wanted + number * MINUTE:
            found[number] = moment
            number += 1
    return found


@pytest.mark.parametrize("zone", ZONES)
def test_on_every_day_of_a_clock_change_every_start_is_the_first_moment_that_shows_it(zone: str) -> None:
    changes = days_of_change(zone)
    assert len(changes) == (0 if zone in ("UTC", "Asia/Shanghai", "Asia/Kathmandu") else 8)
    for day in changes:
        for number, moment in walked(day, zone).items():
            assert first_moment(day, number * MINUTE, zone) == moment, (day, number)


@settings(max_examples=150, deadline=None)
@given(st.dates(FROM, TO), st.sampled_from(ZONES))
def test_on_any_other_day_too(day: date, zone: str) -> None:
    found = walked(day, zone)
    assert all(first_moment(day, number * MINUTE, zone) == found[number] for number in range(0, 24 * 60, 7))


def test_a_day_that_a_zone_leaves_out_opens_with_the_next() -> None:
    """Samoa had no 30 December 2011."""
    rule = a_rule(zone="Pacific/Apia")
    found = openings(rule, at("2011-12-29T12:00"), at("2011-12-31T11:00"))
    assert [item.start for item in found] == [at("2011-12-29T12:00"), at("2011-12-30T10:00"), at("2011-12-30T12:00")]


def test_a_jump_that_is_no_whole_number_of_minutes_has_an_end_too() -> None:
    """Local mean time became zone time."""
    assert first_moment(date(1893, 4, 1), 3 * MINUTE, "Europe/Berlin") <= at("1893-03-31T23:07")


rules = st.builds(
    a_rule,
    zone=st.sampled_from(ZONES),
    at=st.integers(0, 24 * 60 - 1).map(lambda number: number * MINUTE),
    length=st.integers(1, 50).map(lambda number: number * 31 * MINUTE),
    weekdays=st.lists(st.sampled_from(Weekday), unique=True).map(tuple),
    not_on=st.lists(st.dates(FROM, TO), max_size=3).map(tuple),
)
moments = st.datetimes(
    datetime.fromisoformat("2026-01-05"), datetime.fromisoformat("2027-12-20"), timezones=st.just(UTC)
)


@settings(max_examples=150, deadline=None)
@given(rules, moments, st.integers(0, 30))
def test_open_now_agrees_with_the_list_of_openings(rule: WindowRule, now: datetime, lead_hours: int) -> None:
    lead = lead_hours * HOUR
    listed = openings(rule, now - rule.length - DAY, now + lead + DAY)
    around = [item for item in listed if item.start - lead <= now < item.end]
    found = open_now(rule, now.astimezone(ZoneInfo(rule.zone)), lead)
    assert (found in around) if around else (found is None)


@settings(max_examples=100, deadline=None)
@given(rules, moments)
def test_the_next_opening_is_the_first_of_those_that_come(rule: WindowRule, now: datetime) -> None:
    coming = openings(rule, now + MINUTE / 60_000_000, now + 40 * DAY)
    found = next_opening([rule], now)
    assert found is not None
    assert not coming or found == coming[0]
    assert found.start > now


@settings(max_examples=60, deadline=None)
@given(rules, moments)
def test_one_day_never_opens_twice_and_a_window_is_as_long_as_it_says(rule: WindowRule, now: datetime) -> None:
    found = openings(rule, now, now + 30 * DAY)
    days = [item.start.astimezone(ZoneInfo(rule.zone)).date() for item in found]
    assert len(set(days)) == len(days)
    assert all(item.end - item.start == rule.length for item in found)
    assert not set(days) & set(rule.not_on)
    assert not rule.weekdays or {tuple(Weekday)[day.weekday()] for day in days} <= set(rule.weekdays)


@settings(max_examples=60, deadline=None)
@given(st.lists(rules, min_size=2, max_size=3), moments)
def test_two_windows_overlap_exactly_where_both_are_open(made: list[WindowRule], now: datetime) -> None:
    named = [replace(rule, name=f"window {number}") for number, rule in enumerate(made)]
    found = overlaps(named, now, now + 3 * DAY)
    for number in range(0, 3 * 24 * 60, 11):
        moment = now + number * MINUTE
        here = {item.name for item in open_windows(named, moment)}
        told = {name for item in found if item.start <= moment < item.end for name in (item.first, item.second)}
        assert (len(here) >= 2) == bool(told)
        assert told <= here


def test_the_last_days_of_a_month_open_once_with_their_first() -> None:
    rule = a_rule("month-end", zone="Asia/Shanghai", at=timedelta(0), length=7 * DAY, last_days_of_month=7)
    found = openings(rule, at("2028-01-01T00:00"), at("2028-05-01T00:00"))
    starts = [item.start.astimezone(ZoneInfo("Asia/Shanghai")) for item in found]
    assert [(item.month, item.day, item.hour) for item in starts] == [(1, 25, 0), (2, 23, 0), (3, 25, 0), (4, 24, 0)]
    assert open_now(rule, at("2028-01-23T16:00"), DAY) is not None, "a day before, at midnight of Shanghai"
    assert open_now(rule, at("2028-01-23T15:59"), DAY) is None


def test_listed_dates_open_once_each_and_then_never_again() -> None:
    rule = a_rule(dates=(date(2026, 10, 1), date(2026, 12, 24)), not_on=(date(2026, 10, 1),))
    found = next_opening([rule], at("2026-09-01T00:00"))
    assert found is not None
    assert found.start == at("2026-12-24T01:00")
    assert next_opening([rule], at("2026-12-25T00:00")) is None


def test_a_window_that_no_day_is_left_for_never_opens() -> None:
    every_day = tuple(FROM + number * DAY for number in range(900))
    assert next_opening([a_rule(not_on=every_day)], at("2026-01-05T00:00")) is None
