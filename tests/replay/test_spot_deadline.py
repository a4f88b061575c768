"""A job with a deadline on spot: never late whatever spot does, and cheaper than on-demand on recordings."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.uniform_progress import Place
from replay.spot_deadline import DeadlineJob, Run, greedy, on_demand_only, run_job
from replay.spot_history import SpotHistory, read_spot_history
from tests.replay.trace_files import EVALUATION, SHIPPED

H = 3600.0
SPOT_PRICE = 1 / 3
JOB = DeadlineJob(work_s=10 * H, deadline_s=15 * H, boot_s=0.2 * H)
BAMBOO = "bamboo/bamboo_gcp_a100x1_us_east1b_2021-12.csv"


def history(*spans: tuple[float, int]) -> SpotHistory:
    """Machines for so many hours, one span after the other, again and again."""
    times = [sum(hours for hours, _ in spans[:place]) * H for place in range(len(spans))]
    period = sum(hours for hours, _ in spans) * H
    return SpotHistory(name="made", times_s=tuple(times), nodes=tuple(nodes for _, nodes in spans), period_s=period)


ALWAYS, NEVER = history((1, 1)), history((1, 0))


def test_spot_that_stays_costs_spot_only() -> None:
    run = run_job(ALWAYS, JOB)
    assert run.paid_s == {Place.SPOT: 10.2 * H, Place.ON_DEMAND: 0}
    assert run.cost(SPOT_PRICE) == pytest.approx(3.4 * H)
    assert (run.ended_s, run.lost) == (10.2 * H, 0)


def test_without_spot_it_costs_what_on_demand_costs() -> None:
    run, plain = run_job(NEVER, JOB), run_job(NEVER, JOB, chooser=on_demand_only)
    assert run.cost(SPOT_PRICE) == pytest.approx(plain.cost(SPOT_PRICE))
    assert run.ended_s <= JOB.deadline_s


def test_greedy_waits_for_the_net_and_uniform_progress_does_not() -> None:
    """Spot that comes late in the window comes in time for the one and too late for the other to pause."""
    late = history((6, 0), (20, 1))
    assert run_job(late, JOB, chooser=greedy).paid_s[Place.ON_DEMAND] > 0
    assert run_job(NEVER, JOB, chooser=greedy).ended_s == pytest.approx(JOB.deadline_s - 0.4 * H, abs=H)


def test_a_machine_that_is_taken_takes_what_was_not_saved() -> None:
    job = DeadlineJob(work_s=2 * H, deadline_s=20 * H, boot_s=0, unsaved_s=0.5 * H, look_every_s=H / 4)
    run = run_job(history((1, 1), (1, 0), (9, 1)), job)
    assert run.lost == 1
    assert run.paid_s[Place.SPOT] + run.paid_s[Place.ON_DEMAND] == pytest.approx(2.5 * H)


def test_all_machines_are_needed_at_once() -> None:
    job = DeadlineJob(work_s=H, deadline_s=9 * H, boot_s=0, machines=4)
    assert run_job(history((5, 3)), job).paid_s[Place.SPOT] == 0
    assert run_job(history((5, 4)), job).paid_s[Place.SPOT] == H


spans = st.lists(st.tuples(st.floats(0.05, 8).map(lambda hours: round(hours, 2)), st.integers(0, 1)), min_size=1)
jobs = st.builds(
    lambda work, stretch, boot, unsaved, look: DeadlineJob(
        work_s=work * H,
        deadline_s=work * H * stretch + (2 * (boot + unsaved) + look) * H,
        boot_s=boot * H,
        unsaved_s=unsaved * H,
        look_every_s=look * H,
    ),
    st.integers(1, 30),
    st.sampled_from((1.0, 1.05, 1.5, 3.0)),
    st.sampled_from((0.0, 0.1, 0.2, 1.0)),
    st.sampled_from((0.0, 0.3)),
    st.sampled_from((0.05, 0.1, 0.5)),
)


@given(jobs, spans.map(lambda made: history(*made)), st.integers(0, 100))
def test_the_deadline_is_met_whatever_spot_does(job: DeadlineJob, spot: SpotHistory, starts_h: int) -> None:
    for chooser in (None, greedy):
        run = run_job(spot, job, starts_h * H, *([chooser] if chooser else []))
        assert run.ended_s <= job.deadline_s + 1e-3


@given(jobs, spans.map(lambda made: history(*made)))
def test_no_more_is_paid_than_on_demand_until_the_deadline(job: DeadlineJob, spot: SpotHistory) -> None:
    assert run_job(spot, job).cost(SPOT_PRICE) <= job.deadline_s + 1e-3


def savings(path: Path, stretch: float, job_h: float, machines: int = 0) -> tuple[float, float, list[Run]]:
    """Saved against on-demand only, by our rules and by greedy, over twelve starts."""
    spot = read_spot_history(path)
    job = DeadlineJob(work_s=job_h * H, deadline_s=job_h * H * stretch, boot_s=0.2 * H, machines=machines or spot.most)
    starts = [spot.period_s * part / 12 for part in range(12)]
    ours = [run_job(spot, job, start) for start in starts]
    theirs = sum(run_job(spot, job, start, greedy).cost(SPOT_PRICE) for start in starts)
    plain = sum(run_job(spot, job, start, on_demand_only).cost(SPOT_PRICE) for start in starts)
    assert all(run.ended_s <= job.deadline_s for run in ours)
    return 1 - sum(run.cost(SPOT_PRICE) for run in ours) / plain, 1 - theirs / plain, ours


def test_the_shipped_recording_saves_two_thirds() -> None:
    saved, _, runs = savings(SHIPPED / BAMBOO, 1.2, 8, machines=16)
    assert saved == pytest.approx(0.667, abs=0.001)
    assert all(run.paid_s[Place.ON_DEMAND] == 0 for run in runs)


@pytest.mark.evaluation
@pytest.mark.parametrize("stretch", [1.08, 1.5, 2.0])
def test_every_recording_is_in_time_and_cheaper_on_average(stretch: float) -> None:
    """48 hours of work, a fifth of an hour for a start, spot at a third of the price."""
    paths = sorted((EVALUATION / "spot_traces").glob("*.csv.gz"))
    if not paths:
        pytest.skip(f"no spot recordings in {EVALUATION}: the evaluation data is not on this machine")
    found = {path.name: savings(path, stretch, 48)[:2] for path in paths}
    assert {name: saved for name, (saved, _) in found.items() if saved < 0} == {}
    mean = sum(saved for saved, _ in found.values()) / len(found)
    assert mean > 0.25
    if stretch == 1.08:
        assert mean > sum(saved for _, saved in found.values()) / len(found)
