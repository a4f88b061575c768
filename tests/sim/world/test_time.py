"""The clock and the agenda: time runs forward, in order, without sleeping."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.world.agenda import Agenda
from sim.world.clock import Clock

ORIGIN = datetime(2026, 11, 30, 8, tzinfo=UTC)


class Watch:
    """A monotonic source that moves when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_virtual_clock_counts_real_seconds_and_jumps() -> None:
    watch = Watch()
    clock = Clock(ORIGIN, monotonic=watch)
    watch.now += 4.5
    clock.jump(25.5)
    assert clock.seconds() == 30.0
    assert clock.now() == datetime(2026, 11, 30, 8, 0, 30, tzinfo=UTC)


def test_scaled_clock_runs_sixty_times_as_fast() -> None:
    watch = Watch()
    clock = Clock(ORIGIN, speed=60, monotonic=watch)
    watch.now += 2.0
    assert clock.seconds() == 120.0


def test_naive_origin_is_refused() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Clock(datetime(2026, 11, 30))  # noqa: DTZ001


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf")])
def test_clock_does_not_jump_backwards_or_to_nowhere(seconds: float) -> None:
    with pytest.raises(ValueError, match="forward"):
        Clock(ORIGIN).jump(seconds)


@pytest.mark.parametrize("speed", [-1.0, float("nan"), 1e9])
def test_absurd_speed_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="speed"):
        Clock(ORIGIN, speed)


def test_events_at_one_time_run_in_the_order_of_their_planning() -> None:
    agenda, seen = Agenda(), list[str]()
    for name in ("a", "b", "c"):
        agenda.at(5.0, partial(seen.append, name))
    agenda.run_until(5.0)
    assert seen == ["a", "b", "c"]


def test_event_may_plan_another_that_is_due_at_once() -> None:
    agenda, seen = Agenda(), list[float]()
    agenda.at(1.0, lambda: agenda.after(0.0, lambda: seen.append(agenda.now_s)))
    agenda.run_until(1.0)
    assert seen == [1.0]


def test_cancelled_event_does_not_run() -> None:
    agenda, seen = Agenda(), list[str]()
    agenda.at(1.0, lambda: seen.append("never")).cancel()
    agenda.run_until(2.0)
    assert seen == []


def test_past_is_closed() -> None:
    agenda = Agenda()
    agenda.run_until(10.0)
    with pytest.raises(ValueError, match="passed"):
        agenda.at(9.0, lambda: None)
    with pytest.raises(ValueError, match="forward"):
        agenda.run_until(9.0)


@given(st.lists(st.floats(0, 1000), max_size=40), st.lists(st.floats(0, 1000), max_size=10))
def test_events_never_run_backwards_whatever_the_steps(times: list[float], steps: list[float]) -> None:
    agenda, seen = Agenda(), list[float]()
    for when in times:
        agenda.at(when, lambda: seen.append(agenda.now_s))
    for step in sorted(steps):
        agenda.run_until(step)
    agenda.run_until(1000.0)
    assert seen == sorted(times)
