"""Uniform Progress: one rule after the other, as the paper states them, and what no state may do."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.uniform_progress import Place, Progress, Rule, choose

START = datetime(2026, 11, 2, tzinfo=UTC)
HOUR = timedelta(hours=1)
# 10 hours of work in 20, half an hour for a change, a look every 6 minutes.
IDLE = Progress(
    started_at=START,
    deadline=START + 20 * HOUR,
    work=10 * HOUR,
    done=0 * HOUR,
    changeover=HOUR / 2,
    look_every=HOUR / 10,
)


def after(hours: float, done: float, **more: object) -> tuple[Place, Rule]:
    """The choice after so many hours with so much done."""
    state = replace(IDLE, done=done * HOUR, **more)  # type: ignore[arg-type]
    choice = choose(state, START + hours * HOUR)
    assert choice.reason
    return choice.where, choice.rule


def test_work_that_is_done_takes_nothing() -> None:
    assert after(12, 10, where=Place.ON_DEMAND) == (Place.WAIT, Rule.THRIFTY)
    assert after(12, 11) == (Place.WAIT, Rule.THRIFTY)


def test_spot_is_taken_whenever_idle_even_behind_the_line() -> None:
    assert after(4, 2, is_spot_available=True) == (Place.SPOT, Rule.TAKING_RISKS)
    assert after(4, 1, is_spot_available=True) == (Place.SPOT, Rule.TAKING_RISKS)


def test_without_spot_it_waits_on_the_line_and_goes_on_demand_behind_it() -> None:
    assert after(4, 2) == (Place.WAIT, Rule.UNIFORM_PROGRESS)
    assert after(4, 1.99) == (Place.ON_DEMAND, Rule.UNIFORM_PROGRESS)


def test_spot_is_used_until_it_is_taken_away() -> None:
    assert after(8, 1, where=Place.SPOT) == (Place.SPOT, Rule.EXPLOITATION)


def test_on_demand_is_left_for_spot_two_changeovers_ahead_and_not_before() -> None:
    on_demand = {"where": Place.ON_DEMAND, "is_spot_available": True}
    assert after(4, 2.49, **on_demand) == (Place.ON_DEMAND, Rule.HYSTERESIS)
    assert after(4, 2.5, **on_demand) == (Place.SPOT, Rule.HYSTERESIS)


def test_on_demand_is_not_left_for_nothing() -> None:
    assert after(4, 5, where=Place.ON_DEMAND) == (Place.ON_DEMAND, Rule.HYSTERESIS)


@pytest.mark.parametrize("where", [Place.WAIT, Place.ON_DEMAND])
def test_the_safety_net_keeps_two_changeovers_and_a_look(where: Place) -> None:
    """9 hours of work left: at 9.9 hours left spot could fail once, and on-demand still be in time."""
    assert after(9.9, 1, where=where, is_spot_available=True)[1] is not Rule.SAFETY_NET
    assert after(9.95, 1, where=where, is_spot_available=True) == (Place.ON_DEMAND, Rule.SAFETY_NET)


def test_on_spot_the_net_is_one_changeover_and_a_look_and_what_is_left_of_the_start() -> None:
    assert after(10.4, 1, where=Place.SPOT) == (Place.SPOT, Rule.EXPLOITATION)
    assert after(10.41, 1, where=Place.SPOT) == (Place.ON_DEMAND, Rule.SAFETY_NET)
    assert after(10.2, 1, where=Place.SPOT, start_left=HOUR / 4) == (Place.ON_DEMAND, Rule.SAFETY_NET)


def test_spot_is_not_left_for_a_change_that_would_come_late() -> None:
    assert after(10.51, 1, where=Place.SPOT) == (Place.SPOT, Rule.EXPLOITATION)
    assert "may not" in choose(replace(IDLE, done=HOUR, where=Place.SPOT), START + 10.51 * HOUR).reason


def test_a_deadline_that_cannot_be_met_is_said() -> None:
    told = choose(replace(IDLE, done=HOUR), START + 11 * HOUR)
    assert told.where is Place.ON_DEMAND
    assert told.reason == "on-demand until done: 9.0 h of work, 9.0 h of time; it comes 0.5 h late even so"
    running = replace(IDLE, done=HOUR, where=Place.ON_DEMAND)
    assert "late" not in choose(running, START + 11 * HOUR).reason
    assert "1.0 h late" in choose(running, START + 12 * HOUR).reason


def test_a_deadline_before_the_start_counts_as_all_due() -> None:
    state = replace(IDLE, deadline=START - HOUR)
    assert state.line(START) == state.work
    assert choose(state, START).where is Place.ON_DEMAND


def test_the_hour_that_autumn_repeats_is_an_hour() -> None:
    """25 real hours from midnight to midnight in Berlin; clocks alone would say 24."""
    berlin = ZoneInfo("Europe/Berlin")
    state = replace(
        IDLE,
        started_at=datetime(2026, 10, 25, tzinfo=berlin),
        deadline=datetime(2026, 10, 26, tzinfo=berlin),
        work=20 * HOUR,
    )
    assert state.slack(state.started_at) == 5 * HOUR
    assert state.line(datetime(2026, 10, 25, 11, 30, tzinfo=UTC)) == 10.8 * HOUR


hours = st.floats(0, 40, allow_nan=False).map(lambda number: timedelta(hours=round(number, 3)))
states = st.builds(
    Progress,
    started_at=st.just(START),
    deadline=hours.map(lambda span: START + span),
    work=hours,
    done=hours,
    changeover=hours.map(lambda span: span / 20),
    where=st.sampled_from(Place),
    start_left=hours.map(lambda span: span / 40),
    is_spot_available=st.booleans(),
    look_every=hours.map(lambda span: span / 40),
)


@given(states, hours)
def test_spot_is_never_chosen_where_there_is_none(state: Progress, since: timedelta) -> None:
    if choose(state, START + since).where is Place.SPOT:
        assert state.is_spot_available or state.where is Place.SPOT


@given(states, hours)
def test_it_waits_only_when_done_or_with_the_time_to_finish_on_demand(state: Progress, since: timedelta) -> None:
    if choose(state, START + since).where is Place.WAIT and state.left:
        assert state.slack(START + since) - state.look_every >= state.changeover


@given(states, hours)
def test_more_time_never_calls_for_the_safety_net(state: Progress, since: timedelta) -> None:
    later = replace(state, deadline=state.deadline + HOUR)
    if choose(state, START + since).rule not in (Rule.SAFETY_NET, Rule.EXPLOITATION):
        assert choose(later, START + since).rule is not Rule.SAFETY_NET
