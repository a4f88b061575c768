"""R4.1: out when local use has been high for long enough and tasks queue, by need, within quota."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from agent.core.decide import decide
from agent.core.decision import Action, ReasonCode
from agent.core.memory import Memory, observe
from agent.core.policy import Policy, parse_policy
from agent.core.snapshot import NodePhase, Unknown
from contract.problems import InvalidInput
from contract.units import Percent
from contract.yaml_document import parse_document
from tests.builders import (
    EVERY,
    NOON,
    a_catalog,
    a_node,
    a_policy,
    a_pool,
    a_snapshot,
    a_spot_row,
    a_task,
    an_on_demand_row,
    an_owned_row,
    decided,
    tasks,
    watched,
)


def grown(decision: object) -> dict[str, int]:
    return {change.pool: change.delta for change in decision.changes}  # type: ignore[attr-defined]


def test_bursts_when_use_was_high_for_five_minutes_and_five_tasks_queue() -> None:
    decision = decided(a_snapshot(use=85.0, queue=tasks(5)))
    assert decision.action is Action.GROW
    assert grown(decision) == {"ack-a100-od": 5}


@pytest.mark.parametrize(
    ("use", "queued", "why"),
    [
        (84.9, 50, ReasonCode.BELOW_THRESHOLD),
        (100.0, 4, ReasonCode.BELOW_THRESHOLD),
        (100.0, 0, ReasonCode.BELOW_THRESHOLD),
    ],
)
def test_holds_below_either_threshold(use: float, queued: int, why: ReasonCode) -> None:
    decision = decided(a_snapshot(use=use, queue=tasks(queued)))
    assert decision.action is Action.HOLD
    reasons = {proposal.policy: reason.code for proposal, reason in decision.rejected}
    assert reasons["queue_pressure"] is why


def test_one_low_sample_in_the_window_holds() -> None:
    snapshot = a_snapshot(queue=tasks(9))
    memory = watched(replace(snapshot, taken_at=NOON - 2 * EVERY))
    memory = observe(memory, a_snapshot(NOON - EVERY, use=84.0), timedelta(minutes=2))
    assert decided(snapshot, memory).action is Action.HOLD


def test_a_fresh_agent_waits_for_a_whole_window() -> None:
    policy, memory = a_policy(), Memory()
    actions = []
    for step in range(12):
        decision, memory = decide(a_snapshot(NOON + step * EVERY, queue=tasks(6)), policy, memory)
        actions.append(decision.action)
    assert actions.index(Action.GROW) == 9, "ten samples of 30 s cover five minutes"


@pytest.mark.parametrize(("queued", "nodes"), [(5, 5), (6, 6), (10, 10), (11, 10), (40, 10)])
def test_a_step_is_five_to_ten_nodes_by_need(queued: int, nodes: int) -> None:
    assert sum(grown(decided(a_snapshot(queue=tasks(queued)))).values()) == nodes


def test_the_smallest_step_is_five_even_for_five_small_tasks() -> None:
    small = [a_task(number, gpus=1) for number in range(5)]
    assert grown(decided(a_snapshot(queue=small))) == {"ack-a100-od": 5}


def test_nodes_on_their_way_count_so_that_nothing_is_bought_twice() -> None:
    joined = [a_node(number, NodePhase.JOINED, since=NOON - timedelta(minutes=6)) for number in range(5)]
    decision = decided(a_snapshot(queue=tasks(5), pools=[a_pool(*joined)]))
    assert decision.action is Action.HOLD
    reasons = {proposal.policy: reason.code for proposal, reason in decision.rejected}
    assert reasons["queue_pressure"] is ReasonCode.COVERED_BY_COMING


def test_ordered_nodes_without_an_instance_count_as_coming() -> None:
    snapshot = a_snapshot(queue=tasks(5), pools=[a_pool(configured=5)])
    ordered = replace(watched(snapshot), grown_at={"ack-a100-od": NOON - timedelta(minutes=2)})
    assert decided(snapshot, ordered).action is Action.HOLD


def test_quota_bounds_the_step() -> None:
    catalog = a_catalog(an_owned_row(), an_on_demand_row(quota=3))
    decision = decided(a_snapshot(queue=tasks(9), catalog=catalog, pools=[a_pool()]))
    assert grown(decision) == {"ack-a100-od": 3}


def test_the_cheapest_fitting_pool_wins_and_the_other_says_why_it_lost() -> None:
    cheap = [a_task(number, gpus=8, memory=24, preemptible=True) for number in range(6)]
    decision = decided(a_snapshot(queue=cheap))
    assert grown(decision) == {"eks-l4-spot": 6}
    [lost] = decision.chosen.alternatives
    assert lost.what.startswith("ack-a100-od")
    assert lost.lost_because.code is ReasonCode.DEARER


def test_work_that_may_not_be_interrupted_never_buys_spot() -> None:
    catalog = a_catalog(an_owned_row(), a_spot_row())
    queue = [a_task(number, memory=24, preemptible=False) for number in range(6)]
    decision = decided(a_snapshot(queue=queue, catalog=catalog, pools=[a_pool(pool="eks-l4-spot")]))
    assert decision.action is Action.HOLD


def test_work_that_needs_more_gpu_memory_never_buys_smaller_cards() -> None:
    queue = [a_task(number, memory=80, preemptible=True) for number in range(6)]
    assert grown(decided(a_snapshot(queue=queue))) == {"ack-a100-od": 6}


def test_a_gang_that_does_not_fit_as_a_whole_buys_nothing() -> None:
    gang = a_task(0, gpus=64)
    small_quota = a_catalog(an_owned_row(), an_on_demand_row(quota=7))
    decision = decided(a_snapshot(queue=[gang] * 5, catalog=small_quota, pools=[a_pool()]))
    assert decision.action is Action.HOLD


def test_a_gang_never_lies_across_two_pools() -> None:
    catalog = a_catalog(an_owned_row(), an_on_demand_row("ack-a", 3), an_on_demand_row("ack-b", 6, "300"))
    queue = [a_task(number, gpus=32) for number in range(5)]
    decision = decided(a_snapshot(queue=queue, catalog=catalog, pools=[a_pool(pool="ack-a"), a_pool(pool="ack-b")]))
    assert "ack-a" not in grown(decision)
    assert grown(decision)["ack-b"] >= 4


def test_a_pool_whose_nodes_are_unknown_is_not_grown() -> None:
    pools = [a_pool(configured=0, observed=Unknown("throttled")), a_pool(pool="eks-l4-spot")]
    assert decided(a_snapshot(queue=tasks(6), pools=pools)).action is Action.HOLD


def test_a_pool_with_a_persons_edit_waiting_is_not_grown() -> None:
    pools = [a_pool(configured=2, applied=0), a_pool(pool="eks-l4-spot")]
    assert decided(a_snapshot(queue=tasks(30), pools=pools)).action is Action.HOLD


def test_a_pool_that_backs_off_is_passed_over() -> None:
    snapshot = a_snapshot(queue=tasks(6))
    memory = replace(watched(snapshot), back_off_until={"ack-a100-od": NOON + timedelta(minutes=1)})
    assert decided(snapshot, memory).action is Action.HOLD
    later = replace(memory, back_off_until={"ack-a100-od": NOON})
    assert decided(snapshot, later).action is Action.GROW


def queued(*counts: int) -> Memory:
    """An agent that saw a full cluster and these many tasks at its last samples, after an hour of `counts[0]`."""
    memory = watched(a_snapshot(NOON - len(counts) * EVERY, queue=tasks(counts[0])))
    for number, count in enumerate(counts):
        at = NOON - (len(counts) - number) * EVERY
        memory = observe(memory, a_snapshot(at, queue=tasks(count)), timedelta(minutes=2))
    return memory


def trending(share: float | None = 50.0) -> Policy:
    policy = a_policy()
    trend = None if share is None else Percent(share)
    return replace(policy, queue_pressure=replace(policy.queue_pressure, not_if_falling=trend))


def test_a_queue_that_falls_by_itself_is_left_to_fall() -> None:
    falling = queued(40, 40, 36, 32, 28, 20, 14, 12, 9, 8)
    decision, _ = decide(a_snapshot(queue=tasks(7)), trending(), falling)
    assert decision.action is Action.HOLD
    assert decision.chosen.reason.code is ReasonCode.FALLING
    assert "40" not in decision.chosen.reason.text, "averages, not samples"
    assert decide(a_snapshot(queue=tasks(7)), trending(None), falling)[0].action is Action.GROW


def test_a_dip_of_one_sample_is_no_trend_and_a_steady_or_rising_queue_is_served() -> None:
    for counts in ((20,) * 9 + (6,), (20,) * 10, (6, 8, 10, 12, 14, 16, 18, 20, 22, 24)):
        decision, _ = decide(a_snapshot(queue=tasks(counts[-1])), trending(), queued(*counts))
        assert decision.action is Action.GROW


def test_unknown_samples_are_no_trend() -> None:
    snapshot = a_snapshot(queue=tasks(7))
    memory = queued(20, 20)
    blind = tuple(replace(sample, queued_tasks=Unknown("no answer")) for sample in memory.samples)
    assert decide(snapshot, trending(), replace(memory, samples=blind))[0].action is Action.GROW


def test_a_trend_of_nothing_is_refused_for_it_would_hold_every_step() -> None:
    shipped = (Path(__file__).parents[2] / "stacks" / "policy.yaml").read_text(encoding="utf-8")
    text = shipped.replace("not_if_falling: 50%", "not_if_falling: 0%")
    with pytest.raises(InvalidInput, match="0% would hold every step"):
        parse_policy(*parse_document(text, "policy.yaml"))
