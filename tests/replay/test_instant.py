"""Engines without nodes and boots: no GPU is given out twice, nobody starts early, and patience pays."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replay.instant import budgets
from replay.instant.engine import run_budgets
from replay.instant.jobs import Columns, Outcome, percentile
from replay.instant.line import Line
from replay.instant.patient import Temper, run_patient
from replay.instant.rack import Rack, Shares
from replay.synthetic import starburst_500

_SIZES = st.sampled_from([1, 2, 3, 4, 8, 12, 16, 24])
_HOURS = st.floats(0.01, 20.0, allow_nan=False)
_JOBS = st.lists(st.tuples(st.floats(0.0, 30.0, allow_nan=False), _HOURS, _SIZES), min_size=1, max_size=40)


def _columns(jobs: list[tuple[float, float, int]]) -> Columns:
    ordered = sorted(jobs, key=lambda job: job[0])
    return Columns(
        arrival_h=[job[0] for job in ordered], runtime_h=[job[1] for job in ordered], gpus=[job[2] for job in ordered]
    )


def _most_at_once(outcome: Outcome) -> int:
    """GPUs on-prem at the busiest moment."""
    columns, ends, busy, most = outcome.columns, list[tuple[float, int]](), 0, 0
    order = sorted(range(len(columns.gpus)), key=lambda job: outcome.start_h[job])
    for job in order:
        if outcome.in_cloud[job]:
            continue
        now = outcome.start_h[job]
        while ends and ends[0][0] <= now:
            busy -= heappop(ends)[1]
        busy += columns.gpus[job]
        heappush(ends, (now + columns.runtime_h[job], columns.gpus[job]))
        most = max(most, busy)
    return most


@given(jobs=_JOBS, factor=st.floats(0.0, 1.0), in_order=st.booleans())
def test_budgets_never_give_a_gpu_out_twice_nor_start_before_arrival(
    jobs: list[tuple[float, float, int]], factor: float, in_order: bool
) -> None:
    columns = _columns(jobs)
    outcome = run_budgets(columns, 3, budgets.compute_wait(factor, in_order=in_order))
    assert _most_at_once(outcome) <= 24
    assert all(wait >= -1e-9 for wait in outcome.waits_h())


@given(jobs=_JOBS, patience=st.floats(0.001, 2.0))
def test_patience_never_gives_a_gpu_out_twice_nor_forgets_a_job(
    jobs: list[tuple[float, float, int]], patience: float
) -> None:
    columns = _columns(jobs)
    outcome = run_patient(columns, 3, Temper(patience=patience))
    assert _most_at_once(outcome) <= 24
    assert all(start >= arrival for start, arrival in zip(outcome.start_h, columns.arrival_h, strict=True))


@given(jobs=_JOBS, patience=st.floats(0.001, 2.0), factor=st.sampled_from([0.2, 1.0, 3.0]))
def test_wrong_estimates_cost_money_or_time_and_never_a_gpu_twice(
    jobs: list[tuple[float, float, int]], patience: float, factor: float
) -> None:
    columns = _columns(jobs)
    ended: list[int] = []
    told = (lambda job: columns.runtime_h[job] * factor, ended.append)
    outcome = run_patient(columns, 3, Temper(patience=patience), told=told)
    assert _most_at_once(outcome) <= 24
    assert sorted(ended) == list(range(len(columns.gpus)))


@given(jobs=_JOBS)
def test_told_the_truth_it_decides_as_if_it_knew(jobs: list[tuple[float, float, int]]) -> None:
    columns = _columns(jobs)
    told = (columns.runtime_h.__getitem__, lambda _job: None)
    knows, hears = (run_patient(columns, 3, Temper(patience=0.1), told=how) for how in (None, told))
    assert list(knows.in_cloud) == list(hears.in_cloud)


def test_a_job_larger_than_the_cluster_leaves_at_once() -> None:
    outcome = run_patient(_columns([(0.0, 1.0, 32), (0.0, 1.0, 1)]), 3, Temper(patience=10.0))
    assert list(outcome.in_cloud) == [True, False]
    assert outcome.waits_h() == [0.0, 0.0]


def test_more_patience_is_cheaper_and_slower_on_the_500_jobs() -> None:
    columns = Columns.of(starburst_500())
    runs = [run_patient(columns, 4, Temper(patience=patience)) for patience in (0.001, 0.05, 0.1, 0.3)]
    bills = [run.cloud_gpu_h for run in runs]
    assert bills == sorted(bills, reverse=True)
    waits = [sum(run.waits_h()) for run in runs]
    assert waits == sorted(waits)


def test_the_500_jobs_cost_less_than_the_best_schedule_published() -> None:
    run = run_patient(Columns.of(starburst_500()), 4, Temper(patience=0.1))
    assert sum(run.waits_h()) / 500 <= 0.0516
    assert run.cloud_gpu_h * 2.5 < 524.5


def test_weariness_makes_the_longest_waits_shorter() -> None:
    columns = Columns.of(starburst_500())
    calm, weary = (run_patient(columns, 4, Temper(patience=0.5, weary_after=w)) for w in (float("inf"), 0.5))
    assert percentile(weary.waits_h(), 0.99) < percentile(calm.waits_h(), 0.99)


@given(
    steps=st.lists(st.one_of(_SIZES, st.integers(-5, -1)), max_size=60),
    best_fit=st.booleans(),
)
def test_a_rack_fits_what_its_nodes_say(steps: list[int], best_fit: bool) -> None:
    rack, held = Rack(4, best_fit=best_fit), list[Shares]()
    for step in steps:
        if step < 0 and held:
            rack.give(held.pop(step % len(held)))
        elif step > 0:
            free, (whole, rest) = sorted(rack.free(), reverse=True), divmod(step, 8)
            could = free[whole - 1] == 8 if whole else True
            could = could and (not rest or (len(free) > whole and free[whole] >= rest))
            assert rack.fits(step) == could
            if could:
                shares = rack.take(step)
                assert sum(count for _, count in shares) == step
                assert len({node for node, _ in shares}) == len(shares)
                held.append(shares)
    assert sum(rack.free()) == 32 - sum(count for shares in held for _, count in shares)


def test_a_rack_without_room_refuses_instead_of_guessing() -> None:
    rack = Rack(1, best_fit=True)
    rack.take(8)
    with pytest.raises(ValueError, match="no node has 1 free"):
        rack.take(1)


@given(gpus=st.lists(_SIZES, min_size=1, max_size=30), leavers=st.sets(st.integers(0, 29)), in_order=st.booleans())
def test_a_line_offers_in_the_order_of_arrival(gpus: list[int], leavers: set[int], in_order: bool) -> None:
    line = Line(gpus)
    for job in range(len(gpus)):
        line.join(job)
    for job in leavers & set(range(len(gpus))):
        line.leave(job)
    room, started = 24, list[int]()

    def start(job: int) -> None:
        nonlocal room
        room -= gpus[job]
        started.append(job)

    line.offer(lambda size: size <= room, start, in_order=in_order)
    expected, left, blocked = list[int](), 24, False
    for job in range(len(gpus)):
        if job in leavers or blocked:
            continue
        if gpus[job] <= left:
            expected.append(job)
            left -= gpus[job]
        elif in_order:
            blocked = True
    assert started == expected
    assert len(line) == len(set(range(len(gpus))) - leavers) - len(started)


def test_a_job_that_comes_back_stands_where_it_stood() -> None:
    line = Line([1, 1, 1])
    for job in (0, 1, 2):
        line.join(job)
    line.leave(0)
    line.leave(2)
    line.offer(lambda _gpus: False, lambda _job: None, in_order=False)
    line.join(0)
    seen: list[int] = []
    line.offer(lambda _gpus: True, seen.append, in_order=False)
    assert seen == [0, 1]


def test_use_and_percentiles_of_nothing_are_nothing() -> None:
    empty = run_budgets(_columns([]), 1, budgets.queue_only())
    assert empty.on_prem_use == 0.0
    assert percentile([], 0.99) == 0.0
    assert run_budgets(_columns([(1.0, 1.0, 1)]), 1, budgets.queue_only()).on_prem_use == 0.0


def test_use_counts_what_ran_between_first_and_last_arrival() -> None:
    outcome = run_budgets(_columns([(0.0, 5.0, 8), (10.0, 5.0, 8)]), 1, budgets.queue_only())
    assert outcome.on_prem_use == pytest.approx(0.5)


def test_starbursts_come_back_pays_for_work_in_vain() -> None:
    jobs = [(0.0, 4.0, 8), (0.1, 2.0, 8)]
    policy = budgets.star_wait(10.0, budgets.ComeBack(after_h=0.5, times=3))
    outcome = run_budgets(_columns(jobs), 1, policy)
    assert not any(outcome.in_cloud)
    assert outcome.cloud_gpu_h == pytest.approx(8 * 0.5)


def test_capacity_wait_gives_larger_jobs_longer() -> None:
    outcome = run_budgets(_columns([(0.0, 9.0, 8), (0.0, 1.0, 1), (0.0, 1.0, 4)]), 1, budgets.capacity_wait(0.5))
    waits = defaultdict(float, zip(outcome.columns.gpus, outcome.waits_h(), strict=True))
    assert waits[1] == pytest.approx(0.5)
    assert waits[4] == pytest.approx(2.0)
