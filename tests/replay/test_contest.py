"""A contest: figures that add up, baselines by name, the order of policies, and what could never run."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.core.policy import Policy, parse_policy
from contract.catalog import read_catalog
from contract.problems import InvalidInput
from contract.units import GiB, Nodes
from contract.yaml_document import read_document
from replay.bounds import best_possible
from replay.contest import Arena, Entrant, NoSuchEntrant, Result, World, compete, enter
from replay.differences import differences
from replay.fitting import fitting
from replay.headline import direction_changes
from replay.site.run import Replay
from replay.site.truth import Estimates, Truth
from replay.spot_history import shipped_history
from replay.synthetic import example_company_month, starburst_500
from replay.trace import Job, Trace
from replay.traces.shape import first_days

_STACKS = Path(__file__).parents[2] / "stacks"
_REAL = ("queue-only", "burst-at-once", "constant-wait:0.2", "compute-wait", "cluster-autoscaler", "karpenter")
_INSTANT = ("queue-only", "burst-at-once", "constant-wait", "compute-wait:0.04", "capacity-wait", "star-wait")


def _policy(name: str = "policies/economy.yaml") -> Policy:
    return parse_policy(*read_document(_STACKS / name))


def _arena(trace: Trace | None = None, world: World = World.REAL, nodes: int = 4, **truth: object) -> Arena:
    catalog = read_catalog(_STACKS / "catalog.yaml")
    spot = {row.pool: shipped_history() for row in catalog.cloud_pools() if row.is_preemptible}
    if trace is None:
        month = first_days(example_company_month(0), 0.7)
        trace = replace(month, jobs=tuple(replace(job, runtime_s=min(job.runtime_s, 3600.0)) for job in month.jobs))
    return Arena(trace=trace, catalog=catalog, owned_nodes=nodes, world=world, truth=Truth(spot=spot, **truth))  # type: ignore[arg-type]


def _run(arena: Arena, name: str) -> Result:
    return compete(arena, enter(name, _policy(), arena.world))


@pytest.mark.parametrize("name", [*_REAL, "fixed-extra:2"])
def test_every_baseline_runs_a_real_site_to_its_end(name: str) -> None:
    arena = _arena()
    it = _run(arena, name).headline
    assert it.unfinished == 0
    assert it.jobs == len(arena.trace.jobs)
    assert it.cloud_gpu_h <= it.paid_gpu_h + 1e-6
    assert 0 <= it.on_prem_use <= 1
    assert it.p99_wait_h >= 0
    assert it.mean_jct_h > it.mean_wait_h
    if name == "queue-only":
        assert it.cloud_cost.amount == 0


@pytest.mark.parametrize("name", [*_INSTANT, "fixed-extra:1"])
def test_every_baseline_runs_without_nodes(name: str) -> None:
    it = _run(_arena(starburst_500(), World.INSTANT), name).headline
    assert it.jobs == 500
    assert it.cloud_use is None
    total = sum(money.amount for money in it.spend_by_department.values())
    if not name.startswith("star"):
        assert float(total) == pytest.approx(float(it.cloud_cost.amount), abs=0.01)


@pytest.mark.parametrize(
    ("name", "world"), [("magic", World.REAL), ("star-wait", World.REAL), ("karpenter", World.INSTANT)]
)
def test_a_baseline_that_is_not_there_is_refused_with_those_that_are(name: str, world: World) -> None:
    with pytest.raises(NoSuchEntrant, match="burst-at-once"):
        enter(name, _policy(), world)


@pytest.mark.parametrize("figure", ["x", "-1", "nan", "1e12"])
def test_a_figure_that_is_none_is_refused(figure: str) -> None:
    with pytest.raises(NoSuchEntrant):
        enter(f"constant-wait:{figure}", _policy(), World.REAL)


def test_the_order_of_policies_holds_with_the_whole_truth_on() -> None:
    arena = _arena()
    patient = compete(arena, replace(enter("queue-only", _policy(), World.REAL), name="economy", baseline=""))
    hasty, queue = (_run(arena, name) for name in ("burst-at-once", "queue-only"))
    assert queue.headline.cloud_cost < patient.headline.cloud_cost < hasty.headline.cloud_cost
    assert queue.headline.mean_wait_h > patient.headline.mean_wait_h


@pytest.mark.parametrize("estimates", list(Estimates))
def test_whatever_is_told_of_runtimes_every_job_ends(estimates: Estimates) -> None:
    for world, trace in ((World.REAL, None), (World.INSTANT, starburst_500())):
        arena = _arena(trace, world, estimates=estimates)
        it = compete(arena, replace(enter("queue-only", _policy(), world), baseline="")).headline
        assert it.unfinished == 0


def test_failed_boots_outages_and_reclaims_lose_no_job() -> None:
    arena = _arena(boot_failures=0.3, outages_every_s=6 * 3600.0, outage_s=1800.0)
    it = compete(arena, replace(enter("queue-only", _policy(), World.REAL), baseline="")).headline
    assert it.unfinished == 0


def test_the_bill_is_shared_out_whole() -> None:
    it = _run(_arena(), "burst-at-once").headline
    total = sum(float(money.amount) for money in it.spend_by_department.values())
    assert total == pytest.approx(float(it.cloud_cost.amount), abs=0.01)


def test_no_policy_is_below_the_bound_and_a_small_case_is_solved() -> None:
    jobs = tuple(
        Job(name=f"j{n}", arrival_s=600.0 * n, runtime_s=3600.0 * (1 + n % 3), gpus=(1, 8, 4)[n % 3]) for n in range(8)
    )
    arena = _arena(Trace(name="small", jobs=jobs), World.INSTANT, nodes=1)
    result = compete(arena, replace(enter("queue-only", _policy(), World.INSTANT), baseline=""))
    best = best_possible(arena, [result])
    assert best is not None
    assert best.is_optimum
    assert best.gpu_h <= result.headline.cloud_gpu_h + 1e-9
    arena = _arena(starburst_500(), World.INSTANT)
    result = _run(arena, "burst-at-once")
    best = best_possible(arena, [result])
    assert best is not None
    assert not best.is_optimum
    assert 0 < best.gpu_h <= result.headline.cloud_gpu_h
    assert best.gap == pytest.approx(1 - best.gpu_h / result.headline.cloud_gpu_h)


def test_where_no_bound_is_known_none_is_claimed() -> None:
    arena = _arena(starburst_500(), World.INSTANT)
    best = best_possible(arena, [_run(arena, "queue-only")])
    assert best is not None
    assert (best.gpu_h, best.is_optimum, best.gap) == (0.0, True, None)
    assert best_possible(replace(arena, per_node=4), [_run(arena, "burst-at-once")]) is None


def test_differences_add_up_to_the_rented_time() -> None:
    arena = _arena()
    one, other = _run(arena, "burst-at-once"), _run(arena, "cluster-autoscaler")
    found = list(differences(one, [other]))
    assert found
    assert all(span.since < span.until and span.other == "cluster-autoscaler" for span in found)
    total = other.headline.paid_gpu_h - one.headline.paid_gpu_h
    assert sum(span.gpu_h for span in found) == pytest.approx(total, rel=0.2, abs=60)
    instant = _arena(starburst_500(), World.INSTANT)
    assert list(differences(_run(instant, "queue-only"), [_run(instant, "burst-at-once")])) == []


def test_turns_without_a_change_of_direction_count_none() -> None:
    assert direction_changes([]) == 0


def test_a_job_that_fits_nowhere_is_named_or_left_out_and_counted() -> None:
    jobs = (
        Job(name="fine", arrival_s=0.0, runtime_s=60.0, gpus=8),
        Job(name="giant", arrival_s=1.0, runtime_s=60.0, gpus=4096),
    )
    arena = _arena(Trace(name="t.csv", jobs=jobs))
    with pytest.raises(InvalidInput, match=r"giant.*4096 GPUs of 0 GiB fit neither"):
        fitting(arena, _policy(), skip_bad=False)
    left = fitting(arena, _policy(), skip_bad=True)
    assert [job.name for job in left.jobs] == ["fine"]
    assert len(left.bad_rows) == 1
    for jobs_left in ((), jobs[1:]):
        with pytest.raises(InvalidInput):
            fitting(replace(arena, trace=Trace(name="t.csv", jobs=jobs_left)), _policy(), skip_bad=True)


def test_in_the_instant_world_every_job_must_fit_at_home() -> None:
    jobs = tuple(Job(name=f"j{n}", arrival_s=0.0, runtime_s=60.0, gpus=64) for n in range(30))
    with pytest.raises(InvalidInput, match="10 more jobs"):
        fitting(_arena(Trace(name="t.csv", jobs=jobs), World.INSTANT), _policy(), skip_bad=False)


@pytest.mark.parametrize("name", ["economy", "burst-at-once", "cluster-autoscaler"])
def test_work_that_arrives_while_a_node_is_given_back_leaves_no_node_standing_for_ever(name: str) -> None:
    """A slow hand: minutes between decision and deed, so that many victims have work again."""
    arena = _arena(actuation_s=240.0)
    policy = _policy()
    entrant = Entrant(name=name, policy=policy) if name == "economy" else enter(name, policy, arena.world)
    outcome = compete(arena, entrant).outcome
    assert isinstance(outcome, Replay)
    assert all(machine.gone_s is not None for machine in outcome.machines)
    idle_h = max(machine.empty_s for machine in outcome.machines) / 3600
    assert idle_h < 1.0, "a node without work goes back minutes after"


def _starving() -> Trace:
    """A job that holds all of home for a month, and a small one behind it with a deadline."""
    jobs = (
        Job(name="long", arrival_s=0.0, runtime_s=30 * 86400.0, gpus=32),
        Job(name="small", arrival_s=60.0, runtime_s=600.0, gpus=8, deadline_s=3600.0),
    )
    return Trace(name="t.csv", jobs=jobs)


def test_who_never_started_has_waited_until_the_end() -> None:
    ninety = replace(_starving(), jobs=(Job(name="giant", arrival_s=0.0, runtime_s=60.0, gpus=100),))
    it = _run(_arena(ninety), "queue-only").headline
    assert it.unfinished == 1
    assert it.mean_wait_h > 700


def test_a_deadline_is_told_to_the_policy_and_whether_it_was_met_to_the_reader() -> None:
    arena = _arena(_starving())
    assert _run(arena, "queue-only").headline.deadlines_met == 0.0
    patient = replace(_policy(), wait_or_pay=replace(_policy().wait_or_pay, patience=timedelta(days=30)))
    longest = dict.fromkeys(patient.wait_or_pay.longest, timedelta(days=60))
    patient = replace(patient, wait_or_pay=replace(patient.wait_or_pay, longest=longest))
    assert compete(arena, Entrant(name="patient", policy=patient)).headline.deadlines_met == 1.0


def test_a_job_that_needs_larger_cards_than_the_owned_ones_does_not_run_at_home() -> None:
    job = Job(name="fat", arrival_s=0.0, runtime_s=60.0, gpus=8, gpu_memory=GiB(8000))
    with pytest.raises(InvalidInput, match="8000 GiB fit neither"):
        fitting(_arena(Trace(name="t.csv", jobs=(job,))), _policy(), skip_bad=False)


def test_no_gang_beyond_the_limits_of_the_policy_is_let_in() -> None:
    gang = Trace(name="t.csv", jobs=(Job(name="gang", arrival_s=0.0, runtime_s=60.0, gpus=80),))
    small = replace(_policy(), limits=replace(_policy().limits, max_cloud_nodes=Nodes(9)))
    fitting(_arena(gang), _policy(), skip_bad=False)
    with pytest.raises(InvalidInput, match="policy's limits"):
        fitting(_arena(gang), small, skip_bad=False)


def test_a_figure_of_nothing_is_nothing() -> None:
    arena = _arena(starburst_500(), World.INSTANT)
    waits = [_run(arena, name).headline.mean_wait_h for name in ("queue-only", "fixed-extra:0", "fixed-extra:4")]
    assert waits[0] == waits[1] > waits[2]


def test_a_quiet_year_between_two_jobs_costs_no_ticks() -> None:
    far = (
        Job(name="a", arrival_s=0.0, runtime_s=60.0, gpus=8),
        Job(name="b", arrival_s=3e9, runtime_s=60.0, gpus=8),
    )
    for name in ("queue-only", "burst-at-once", "karpenter", "cluster-autoscaler"):
        assert _run(_arena(Trace(name="t.csv", jobs=far)), name).headline.unfinished == 0
