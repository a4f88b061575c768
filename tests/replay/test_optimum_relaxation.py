"""Any prices prove a bound: not only the good ones that the ascent finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.optimum.exact import exact
from replay.optimum.model import Schedule
from replay.optimum.relaxation import Pool, Prices, Relaxation
from tests.replay.optimum_cases import Case, cases


def a_pool(case: Case) -> Pool:
    """The jobs of a case that fit its cluster."""
    fits = [job for job in case.jobs if job.gpus <= 8 * case.nodes]
    return Pool(
        arrival_h=np.array([job.arrival_s / 3600 for job in fits]),
        runtime_h=np.array([job.runtime_s / 3600 for job in fits]),
        gpus=np.array([float(job.gpus) for job in fits]),
        capacity=8.0 * case.nodes,
        wait_budget_h=float(case.wait_budget_h),
    )


@settings(max_examples=200)
@given(
    cases(most_jobs=6),
    st.lists(st.floats(0.05, 3), min_size=1, max_size=8),
    st.lists(st.floats(0, 2), min_size=8, max_size=8),
    st.floats(0.01, 8),
)
def test_no_prices_prove_more_than_the_optimum(
    case: Case, widths: list[float], cells: list[float], wait: float
) -> None:
    pool = a_pool(case)
    found = exact(case.jobs, case.nodes, case.max_mean_wait_h)
    assert isinstance(found, Schedule)
    forced = sum(job.gpu_hours for job in case.jobs if job.gpus > 8 * case.nodes)
    if not len(pool.gpus):
        assert found.cloud_gpu_h == pytest.approx(forced)
        return
    relaxation = Relaxation(pool, np.concatenate([[0.0], np.cumsum(widths)]), 0.01)
    prices = Prices(wait=wait, cells=np.array(cells[: len(widths)]))
    assert forced + relaxation.value(prices) <= found.cloud_gpu_h + 1e-6


@settings(max_examples=60)
@given(cases(most_jobs=6), st.lists(st.floats(0, 2), min_size=6, max_size=6), st.floats(0.1, 8))
def test_the_starts_tried_hold_the_least_cost_of_all_starts(case: Case, cells: list[float], wait: float) -> None:
    pool = a_pool(case)
    if not len(pool.gpus):
        return
    edges = np.linspace(0.0, 9.0, 7)
    integral = np.concatenate([[0.0], np.cumsum(np.array(cells) * 1.5)])
    least = 0.0
    for arrival, runtime, gpus in zip(pool.arrival_h, pool.runtime_h, pool.gpus, strict=True):
        starts = arrival + np.linspace(0.0, pool.wait_budget_h, 997)
        held = np.interp(starts + runtime, edges, integral) - np.interp(starts, edges, integral)
        least += min(gpus * runtime, float((wait * (starts - arrival) + gpus * held).min()))
    charge = wait * pool.wait_budget_h + pool.capacity * float(integral[-1])
    value = Relaxation(pool, edges, 0.1).value(Prices(wait=wait, cells=np.array(cells)))
    assert value <= least - charge + 1e-9
    # The sampled minimum is at most half a step of the steepest slope above the true one.
    assert value >= least - charge - len(pool.gpus) * (wait + 8 * 2 * 2) * (pool.wait_budget_h / 996) - 1e-9


def test_a_price_below_the_least_is_refused() -> None:
    pool = Pool(arrival_h=np.zeros(1), runtime_h=np.ones(1), gpus=np.ones(1), capacity=8.0, wait_budget_h=1.0)
    relaxation = Relaxation(pool, np.array([0.0, 1.0]), 0.5)
    for prices in (Prices(wait=0.4, cells=np.zeros(1)), Prices(wait=1.0, cells=np.array([-0.1]))):
        with pytest.raises(ValueError, match="below its least"):
            relaxation.value(prices)


def test_the_gradient_is_that_of_the_smoothed_value() -> None:
    pool = Pool(
        arrival_h=np.array([0.0, 0.3, 0.7]),
        runtime_h=np.array([1.0, 2.5, 0.4]),
        gpus=np.array([8.0, 4.0, 8.0]),
        capacity=8.0,
        wait_budget_h=1.0,
    )
    relaxation = Relaxation(pool, np.linspace(0.0, 4.0, 9), 0.1)
    cells = np.linspace(0.1, 0.6, 8)
    value, gradient, exact_value = relaxation.smoothed(Prices(wait=1.0, cells=cells), 0.1)
    assert value <= exact_value == pytest.approx(relaxation.value(Prices(wait=1.0, cells=cells)))
    step = 1e-6
    more_wait = relaxation.smoothed(Prices(wait=1.0 + step, cells=cells), 0.1)[0]
    assert (more_wait - value) / step == pytest.approx(gradient.wait, abs=1e-4)
    for cell in range(8):
        moved = cells.copy()
        moved[cell] += step
        there = relaxation.smoothed(Prices(wait=1.0, cells=moved), 0.1)[0]
        assert (there - value) / step == pytest.approx(gradient.cells[cell], abs=1e-4)
