"""Made-up work: Starburst's table number by number, and a month that has the shape it claims."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta

import numpy as np
import pytest
from numpy.typing import NDArray

from contract.work import DataClass, Tier, WorkKind
from replay.synthetic import COMPANY_DAYS, COMPANY_STARTS_AT, example_company_month, starburst_500
from replay.trace import Trace

OWNED_GPUS = 96
MONTH_S = COMPANY_DAYS * 86_400


def test_starburst_has_the_totals_of_the_published_table() -> None:
    trace = starburst_500()
    assert len(trace.jobs) == 500
    assert round(trace.gpu_hours, 4) == 980.2197
    assert round(sum(job.runtime_s for job in trace.jobs) / 500 / 3600, 6) == 0.974508
    assert round(trace.jobs[-1].arrival_s / 3600, 4) == 30.8669
    assert Counter(job.gpus for job in trace.jobs) == {1: 356, 2: 67, 4: 51, 8: 26}


def test_starburst_begins_with_the_published_jobs() -> None:
    first, second = starburst_500().jobs[:2]
    assert (first.arrival_s, first.runtime_s, first.gpus) == (0.0, 1.0782212780301361 * 3600, 1)
    assert (second.arrival_s, second.runtime_s) == (0.09398364386610286 * 3600, 0.7785507313311778 * 3600)
    assert second.gpus == 4


def test_starburst_at_another_rate_keeps_run_times_and_sizes() -> None:
    slow, fast = starburst_500(8), starburst_500(32)
    assert [(job.runtime_s, job.gpus) for job in slow.jobs] == [(job.runtime_s, job.gpus) for job in fast.jobs]
    assert slow.jobs[-1].arrival_s == pytest.approx(4 * fast.jobs[-1].arrival_s)
    assert starburst_500(seed=14) != starburst_500()


def hourly_demand(trace: Trace) -> NDArray[np.float64]:
    """GPUs asked for if every job started at once: days by hours of the day."""
    changes = np.zeros(MONTH_S + 1)
    for job in trace.jobs:
        changes[min(MONTH_S, int(job.arrival_s))] += job.gpus
        changes[min(MONTH_S, int(job.arrival_s + job.runtime_s))] -= job.gpus
    demand: NDArray[np.float64] = np.cumsum(changes)[:-1].reshape(COMPANY_DAYS, 24, 3600).mean(axis=2)
    return demand


@pytest.fixture(scope="module", params=[0, 1, 2, 3])
def month(request: pytest.FixtureRequest) -> Trace:
    return example_company_month(request.param)


def test_a_month_asks_on_average_for_about_three_quarters_of_what_is_owned(month: Trace) -> None:
    assert 0.65 < hourly_demand(month).mean() / OWNED_GPUS < 0.85


def test_a_month_surges_past_what_is_owned_on_most_working_days_and_rests_at_night(month: Trace) -> None:
    demand = hourly_demand(month) / OWNED_GPUS
    working = [(COMPANY_STARTS_AT + timedelta(days=day)).weekday() < 5 for day in range(COMPANY_DAYS)]
    peaks = demand[working].max(axis=1)
    assert 1.25 < np.median(peaks) < 2.0
    assert (peaks > 1.5).sum() >= 5
    assert demand[working][:, 2:6].mean() < 0.6
    assert demand[np.logical_not(working)].mean() < 0.7


def test_a_month_closes_with_more_customer_work(month: Trace) -> None:
    customers = [job.arrival_s // 86_400 for job in month.jobs if job.department == "customers"]
    counts = Counter(customers)
    # Two Tuesdays to Fridays: the last of the month, and one in its middle.
    assert sum(counts[day] for day in range(23, 27)) > 1.2 * sum(counts[day] for day in range(9, 13))


def test_a_month_has_every_tier_kind_and_data_class(month: Trace) -> None:
    assert {job.tier for job in month.jobs} == set(Tier)
    assert {job.kind for job in month.jobs} == set(WorkKind)
    assert {job.data for job in month.jobs} == set(DataClass)
    assert len({job.department for job in month.jobs}) >= 5


def test_a_month_is_a_sound_trace(month: Trace) -> None:
    times = [job.arrival_s for job in month.jobs]
    assert times[0] == 0.0
    assert times == sorted(times)
    assert times[-1] < MONTH_S
    assert len({job.name for job in month.jobs}) == len(month.jobs)
    assert all(job.gpus >= 1 and 60 <= job.runtime_s <= 60 * 3600 and 0 < job.gpu_memory <= 80 for job in month.jobs)
    assert month.starts_at.isoformat() == "2026-11-01T00:00:00+08:00"


def test_work_that_serves_people_is_never_preemptible(month: Trace) -> None:
    flags = {(job.tier, job.kind, job.is_preemptible) for job in month.jobs}
    assert (Tier.PRODUCTION_CORE, WorkKind.INFERENCE, True) not in flags
    assert all(preemptible for _, kind, preemptible in flags if kind in (WorkKind.HPO, WorkKind.PREPROCESSING))
    assert {job.gpus for job in month.jobs if job.kind is WorkKind.PRETRAINING} <= {8, 16, 32}


def test_a_seed_means_the_same_month_for_ever() -> None:
    assert example_company_month(7) == example_company_month(7)
    assert example_company_month(7) != example_company_month(8)
    trace = example_company_month(1)
    assert (len(trace.jobs), round(trace.gpu_hours, 3)) == (15_334, 49_934.531)
