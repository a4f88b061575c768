"""Starburst's own rows, measured with its unchanged simulator (skyburst, 39a380a): ours must be the same to 0.5 %.

Only because these hold are our own figures in the same semantics believed.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from replay.instant import budgets
from replay.instant.budgets import BudgetPolicy, ComeBack
from replay.instant.engine import run_budgets
from replay.instant.jobs import Columns, percentile
from replay.synthetic import starburst_500
from replay.traces.registry import read_trace
from tests.replay.trace_files import for_evaluation

_FILES = {
    "itp03": ("microsoft_itp_2021/cluster03.csv.gz", 21),
    "itp04": ("microsoft_itp_2021/cluster04.csv.gz", 74),
    "philly": ("philly_jobs/philly_jobs_2017-09-04_to_2017-10-29.csv.gz", 69),
}
# trace, policy, mean wait h, p99 wait h, cloud GPU-h, cloud jobs
_ROWS = [
    ("itp03", budgets.burst_at_once(), 0.0, 0.0, 61540, 1391),
    ("itp03", budgets.constant_wait(1.0), 0.4945, 1.0, 56065, 1294),
    ("itp03", budgets.constant_wait(1.0, in_order=False), 0.4572, 1.0, 57181, 1187),
    ("itp03", budgets.compute_wait(0.04), 0.7942, 7.47, 45756, 1675),
    ("itp03", budgets.compute_wait(0.076, in_order=True), 1.6024, 16.36, 41869, 1864),
    ("itp03", budgets.compute_wait(0.076, longest_line=30), 1.0932, 12.24, 38891, 1710),
    ("itp03", budgets.queue_only(in_order=True), 63.1405, 205.35, 0, 0),
    ("itp03", budgets.queue_only(), 50.7224, 184.14, 0, 0),
    ("itp04", budgets.burst_at_once(in_order=False), 0.0, 0.0, 96149, 1174),
    ("itp04", budgets.compute_wait(0.04), 0.1562, 2.60, 25034, 2807),
    ("itp04", budgets.compute_wait(0.076), 0.2402, 3.99, 18667, 2897),
    ("itp04", budgets.constant_wait(32.0), 3.5033, 21.00, 0, 0),
    ("itp04", budgets.queue_only(), 1.4761, 13.43, 0, 0),
    ("philly", budgets.burst_at_once(), 0.0, 0.0, 162928, 14188),
    ("philly", budgets.constant_wait(1.0), 0.3703, 1.00, 154567, 7539),
    ("philly", budgets.compute_wait(0.04), 0.1285, 3.00, 86604, 27465),
    ("philly", budgets.compute_wait(0.32), 0.7136, 17.25, 50205, 35906),
    ("philly", budgets.compute_wait(0.076, longest_line=30), 0.1718, 3.00, 80314, 27832),
    ("philly", budgets.queue_only(in_order=True), 134.3872, 234.06, 0, 0),
    ("philly", budgets.queue_only(), 17.0013, 82.98, 0, 0),
]
_DOLLARS_PER_GPU_HOUR = 2.5
_TABLE = [
    (budgets.burst_at_once(), 760.68, 0.0, 60),
    (budgets.constant_wait(0.243627), 705.55, 0.05163, 35),
    (budgets.star_wait(0.0475265, ComeBack(after_h=0.0625, times=3, as_published=True)), 662.11, 0.05122, 64),
    (budgets.compute_wait(0.0780562), 584.00, 0.05119, 68),
]


@pytest.mark.evaluation
@pytest.mark.parametrize(
    ("name", "policy", "wait", "p99", "cloud", "jobs"),
    _ROWS,
    ids=[f"{row[0]} {row[1].name} {'in order' if row[1].in_order else 'out of order'}" for row in _ROWS],
)
def test_a_row_of_their_simulator_is_ours(
    name: str, policy: BudgetPolicy, wait: float, p99: float, cloud: float, jobs: int
) -> None:
    path, nodes = _FILES[name]
    outcome = run_budgets(Columns.of(read_trace(for_evaluation(path))), nodes, policy)
    waits = outcome.waits_h()
    assert sum(waits) / len(waits) == pytest.approx(wait, rel=0.005, abs=1e-4)
    assert percentile(waits, 0.99) == pytest.approx(p99, rel=0.005, abs=0.01)
    assert outcome.cloud_gpu_h == pytest.approx(cloud, rel=0.005)
    assert sum(outcome.in_cloud) == pytest.approx(jobs, rel=0.005)


@pytest.mark.parametrize(("policy", "dollars", "wait", "jobs"), _TABLE, ids=[row[0].name for row in _TABLE])
def test_the_published_table_of_500_jobs_is_ours(policy: BudgetPolicy, dollars: float, wait: float, jobs: int) -> None:
    outcome = run_budgets(Columns.of(starburst_500()), 4, replace(policy, best_fit=True))
    waits = outcome.waits_h()
    assert outcome.cloud_gpu_h * _DOLLARS_PER_GPU_HOUR == pytest.approx(dollars, rel=0.005)
    assert sum(waits) / len(waits) == pytest.approx(wait, rel=0.005, abs=1e-6)
    assert sum(outcome.in_cloud) == jobs
