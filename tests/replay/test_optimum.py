"""The exact optimum against trying everything, the bound below it, the search above it, all checked by `check`."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replay.optimum.bound import Fineness, lower_bound
from replay.optimum.exact import exact
from replay.optimum.incumbent import Effort, improve
from replay.optimum.model import IllPosed, Placement, Schedule, Unsolved, check, instance_of, schedule_of
from replay.optimum.report import Thoroughness, summary
from tests.replay.optimum_cases import Case, a_job, brute_force_gpu_h, cases

QUICK = Fineness(cells=64, iterations=15, seconds=60)
SHORT = Effort(seconds=60, rounds=150)


def solved(case: Case) -> Schedule:
    """The proved optimum; the cases are small enough for it."""
    found = exact(case.jobs, case.nodes, case.max_mean_wait_h)
    assert isinstance(found, Schedule)
    assert found.is_optimal
    return found


@settings(max_examples=150)
@given(cases())
def test_exact_is_what_trying_everything_finds(case: Case) -> None:
    found = solved(case)
    assert check(found, case.jobs, case.nodes, case.max_mean_wait_h) == []
    assert found.cloud_gpu_h == pytest.approx(brute_force_gpu_h(case))


@settings(max_examples=20)
@given(cases(most_jobs=7, most_nodes=3), st.integers(1, 40))
def test_no_bound_is_above_the_optimum(case: Case, cells: int) -> None:
    bound = lower_bound(case.jobs, case.nodes, case.max_mean_wait_h, replace(QUICK, cells=cells))
    assert 0 <= bound.gpu_h <= solved(case).cloud_gpu_h + 1e-6


@settings(max_examples=60)
@given(cases(most_jobs=7, most_nodes=3), st.integers(0, 3))
def test_the_search_is_feasible_and_never_below_the_optimum(case: Case, seed: int) -> None:
    found = improve(case.jobs, case.nodes, case.max_mean_wait_h, seed, SHORT)
    assert check(found, case.jobs, case.nodes, case.max_mean_wait_h) == []
    assert found.cloud_gpu_h >= solved(case).cloud_gpu_h - 1e-6


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.floats(0, 5), st.floats(0.01, 4), st.sampled_from([1, 2, 4, 8])), min_size=1, max_size=6),
    st.floats(0, 2),
)
def test_real_times_give_schedules_that_hold(rows: list[tuple[float, float, int]], mean: float) -> None:
    jobs = [a_job(arrival, runtime, gpus) for arrival, runtime, gpus in rows]
    found = exact(jobs, 1, mean)
    assert isinstance(found, Schedule)
    assert check(found, jobs, 1, mean) == []
    assert lower_bound(jobs, 1, mean, QUICK).gpu_h <= found.cloud_gpu_h + 1e-6


def test_one_job_of_two_goes_to_the_cloud_when_nobody_may_wait() -> None:
    jobs = [a_job(0, 2, 8), a_job(1, 1, 8)]
    none, half = exact(jobs, 1, 0.0), exact(jobs, 1, 0.5)
    assert isinstance(none, Schedule)
    assert isinstance(half, Schedule)
    assert none.placements == (Placement(start_h=0.0, shares=((0, 8),)), None)
    assert (none.cloud_gpu_h, none.mean_wait_h) == (8.0, 0.0)
    assert (half.cloud_gpu_h, half.mean_wait_h) == (0.0, 0.5)


def test_the_bound_is_tight_when_nobody_may_wait_and_jobs_fill_the_cluster() -> None:
    jobs = [a_job(0, 2, 8), a_job(0, 2, 8), a_job(0, 2, 8)]
    assert lower_bound(jobs, 1, 0.0).gpu_h == pytest.approx(32.0, rel=1e-2)


def test_a_gang_larger_than_the_cluster_is_a_cost_that_nobody_avoids() -> None:
    jobs = [a_job(0, 2, 24), a_job(0, 1, 1)]
    assert lower_bound(jobs, 2, 1.0).gpu_h == pytest.approx(48.0)
    assert improve(jobs, 2, 1.0, 0, SHORT).cloud_gpu_h == pytest.approx(48.0)
    alone = exact(jobs[:1], 2, 1.0)
    assert isinstance(alone, Schedule)
    assert alone.placements == (None,)


def test_no_seconds_is_unsolved_and_says_so() -> None:
    jobs = [a_job(index / 10, 1 + index / 7, 5, f"job-{index}") for index in range(9)]
    found = exact(jobs, 2, 0.3, seconds=0.0)
    assert isinstance(found, Unsolved)
    assert "not enough for 9 jobs" in found.why
    given = Thoroughness(exact_seconds=0.0, fineness=QUICK, effort=SHORT)
    assert summary(jobs, 2, 0.3, given).lower_bound_gpu_h > 0


def test_a_bound_without_time_is_the_trivial_one() -> None:
    assert lower_bound([a_job(0, 2, 8)] * 3, 1, 0.0, Fineness(seconds=0.0)).gpu_h == 0.0


def test_a_search_without_time_is_still_feasible() -> None:
    jobs = [a_job(0, 2, 8)] * 3
    found = improve(jobs, 1, 0.0, 0, Effort(seconds=0.0))
    assert check(found, jobs, 1, 0.0) == []
    assert found.cloud_gpu_h == 32.0


def test_a_seed_and_rounds_give_one_schedule() -> None:
    jobs = [a_job(index / 5, 1 + index % 3, 1 + index % 8, f"job-{index}") for index in range(40)]
    assert improve(jobs, 2, 0.2, 7, SHORT) == improve(jobs, 2, 0.2, 7, SHORT)


def test_summaries_are_exact_when_small_and_an_interval_when_large() -> None:
    jobs = [a_job(index / 5, 1 + index % 3, 1 + index % 8, f"job-{index}") for index in range(30)]
    given = Thoroughness(fineness=QUICK, effort=SHORT)
    small, large = summary(jobs[:6], 1, 0.2, given), summary(jobs, 1, 0.2, given)
    assert (small.how, small.gap) == ("exact", 0.0)
    assert 0 < large.lower_bound_gpu_h < large.best_known_gpu_h
    assert large.gap == pytest.approx(1 - large.lower_bound_gpu_h / large.best_known_gpu_h)
    known = summary(jobs, 1, 0.2, replace(given, known_gpu_h=large.lower_bound_gpu_h))
    assert known.gap == 0.0
    assert known.how.endswith("known schedule")


def test_no_jobs_cost_nothing() -> None:
    assert lower_bound([], 1, 0.0).gpu_h == 0.0
    assert exact([], 1, 0.0) == Schedule(placements=(), cloud_gpu_h=0.0, mean_wait_h=0.0, is_optimal=True)
    assert improve([], 1, 0.0, 0, SHORT).placements == ()
    assert summary([], 1, 0.0).gap == 0.0


@pytest.mark.parametrize(("nodes", "mean"), [(0, 1.0), (1, -1.0), (1, nan), (1, inf)])
def test_an_instance_without_sense_is_refused(nodes: int, mean: float) -> None:
    with pytest.raises(IllPosed, match="needs a node"):
        lower_bound([a_job()], nodes, mean)


@pytest.mark.parametrize("job", [a_job(nan), a_job(0, 0), a_job(0, inf), a_job(0, 1, 0)])
def test_a_job_without_sense_is_refused(job: object) -> None:
    with pytest.raises(IllPosed, match="job: needs"):
        exact([job], 1, 0.0)  # type: ignore[list-item]


NODE_0 = ((0, 8),)


@pytest.mark.parametrize(
    ("placements", "wrong"),
    [
        ((Placement(start_h=0.5, shares=NODE_0), None), "before it arrives"),
        ((Placement(start_h=1.0, shares=((3, 8),)), None), "on nodes"),
        ((Placement(start_h=1.0, shares=((0, 4), (1, 4))), None), "holds"),
        ((Placement(start_h=1.0, shares=NODE_0), Placement(start_h=2.5, shares=NODE_0)), "16 GPUs in use"),
        ((Placement(start_h=9.0, shares=NODE_0), None), "over"),
    ],
)
def test_check_names_what_is_wrong(placements: tuple[Placement | None, ...], wrong: str) -> None:
    jobs = [a_job(1, 2, 8, "first"), a_job(1, 2, 8, "second")]
    schedule = schedule_of(instance_of(jobs, 2, 1.0), placements)
    assert any(wrong in problem for problem in check(schedule, jobs, 2, 1.0))


def test_check_recounts_the_totals() -> None:
    jobs = [a_job(0, 2, 8), a_job(0, 2, 8)]
    good = schedule_of(instance_of(jobs, 1, 9.0), (Placement(start_h=0.0, shares=NODE_0), None))
    assert check(good, jobs, 1) == []
    assert "costs" in check(replace(good, cloud_gpu_h=1.0), jobs, 1)[0]
    assert "waits" in check(replace(good, mean_wait_h=1.0), jobs, 1)[0]
    assert "placements" in check(replace(good, placements=()), jobs, 1)[0]
