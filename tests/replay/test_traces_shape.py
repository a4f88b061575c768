"""Shapes of a trace: less of it, denser, other tiers and departments; nothing else changes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.work import Tier
from replay.trace import Job, Trace
from replay.traces.shape import BadShape, first_days, scale_arrivals, thin, tiers_by_department, with_departments

DAY = 86_400.0


def a_trace(*arrivals: float) -> Trace:
    jobs = (
        Job(name=f"j{place}", arrival_s=at, runtime_s=60.0, gpus=1, deadline_s=at + 100.0, department="abc"[place % 3])
        for place, at in enumerate(arrivals)
    )
    return Trace(name="t", jobs=tuple(jobs), left_out=3)


def names(trace: Trace) -> list[str]:
    return [job.name for job in trace.jobs]


def test_the_first_days_end_before_their_last_moment() -> None:
    trace = a_trace(0.0, DAY - 1, DAY, 2 * DAY)
    assert names(first_days(trace, 1)) == ["j0", "j1"]
    assert names(first_days(trace, 1.5)) == ["j0", "j1", "j2"]
    assert first_days(trace, 99) == trace


def test_twice_as_dense_is_half_the_time_and_the_same_work() -> None:
    denser = scale_arrivals(a_trace(0.0, 50.0, 300.0), 2)
    assert [(job.arrival_s, job.runtime_s, job.deadline_s) for job in denser.jobs] == [
        (0.0, 60.0, 100.0),
        (25.0, 60.0, 125.0),
        (150.0, 60.0, 250.0),
    ]


def test_thinning_keeps_each_nth_job_and_the_first() -> None:
    trace = a_trace(0.0, 1.0, 2.0, 3.0, 4.0)
    assert names(thin(trace, 2)) == ["j0", "j2", "j4"]
    assert thin(trace, 1) == trace


def test_departments_give_their_jobs_a_tier() -> None:
    trace = tiers_by_department(a_trace(0.0, 1.0, 2.0), {"a": Tier.RESEARCH, "b": Tier.EXPLORATION})
    assert [job.tier for job in trace.jobs] == [Tier.RESEARCH, Tier.EXPLORATION, Tier.PRODUCTION]


def test_departments_are_dealt_in_turn() -> None:
    trace = with_departments(a_trace(0.0, 1.0, 2.0), ["x", "y"])
    assert [job.department for job in trace.jobs] == ["x", "y", "x"]


def test_what_else_is_known_of_a_trace_stays() -> None:
    assert thin(a_trace(0.0, 1.0), 2).left_out == 3


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (lambda trace: first_days(trace, 0), "0 days hold no job"),
        (lambda trace: first_days(trace, float("nan")), "nan days hold no job"),
        (lambda trace: scale_arrivals(trace, 0), "0 times as dense"),
        (lambda trace: scale_arrivals(trace, float("inf")), "inf times as dense"),
        (lambda trace: scale_arrivals(trace, float("nan")), "nan times as dense"),
        (lambda trace: thin(trace, 0), "each 0th job is none"),
        (lambda trace: with_departments(trace, []), "at least one department"),
        (
            lambda trace: tiers_by_department(trace, {"zz": Tier.RESEARCH}),
            "no job is of department zz; the trace has a, b",
        ),
    ],
)
def test_a_shape_that_cannot_be_given_says_why(shape: Callable[[Trace], Trace], message: str) -> None:
    with pytest.raises(BadShape, match=message):
        shape(a_trace(0.0, 1.0))


ARRIVALS = st.lists(st.floats(0, 1e7), min_size=0, max_size=20).map(lambda more: (0.0, *sorted(more)))


@given(arrivals=ARRIVALS, days=st.floats(0.01, 200), factor=st.floats(0.01, 100), every=st.integers(1, 30))
def test_every_shape_leaves_a_sound_trace(arrivals: tuple[float, ...], days: float, factor: float, every: int) -> None:
    trace = a_trace(*arrivals)
    for shaped in (first_days(trace, days), scale_arrivals(trace, factor), thin(trace, every)):
        times = [job.arrival_s for job in shaped.jobs]
        assert times[0] == 0.0
        assert times == sorted(times)
        assert set(names(shaped)) <= set(names(trace))
