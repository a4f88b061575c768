"""I32 (kubernetes/autoscaler#1949): a node that is Ready without GPUs is coming capacity until its deadline."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.core.decision import Action, ReasonCode
from sim.world.faults import FOREVER, Fault, FaultKind
from sim.world.nodes import Phase
from tests.incidents.stage import Stage, StageHand
from tests.sim.builders import a_job

FILL = a_job("fill", gpus=16, duration_s=9e5)
LATE = Fault(name="late", kind=FaultKind.GPU_LATE, delay_s=240.0)
pools = pytest.mark.parametrize("pool", ["eks-h100", "ack-a100"])


def with_one_task_waiting(hand: StageHand, pool: str, fault: Fault) -> Stage:
    """The owned nodes are full and one more task waits."""
    stage = hand.stage(pool)
    stage.world.arm([fault])
    stage.submit(FILL, a_job("waits", duration_s=9e5))
    return stage


@pools
def test_exactly_one_node_is_bought_though_its_gpus_appear_four_minutes_after_it_joined(
    hand: StageHand, pool: str
) -> None:
    stage = with_one_task_waiting(hand, pool, LATE)
    joined = 0
    while stage.ready() == 0:
        stage.tick()
        joined += any(node.phase is Phase.JOINED for node in stage.group.nodes)
        assert len(stage.reports) < 100
    assert joined >= 8, "it stood Ready without GPUs for four minutes of ticks"
    stage.run_for(timedelta(minutes=10))
    assert stage.bought() == 1
    assert [decision.action for decision in stage.acted()] == [Action.GROW]
    assert stage.busy() == stage.standing()


@pools
def test_while_it_has_no_gpus_every_tick_says_that_it_is_on_its_way(hand: StageHand, pool: str) -> None:
    stage = with_one_task_waiting(hand, pool, LATE)
    stage.run_until(lambda: stage.ready() == 1)
    since = stage.acted()[0].taken_at + stage.policy.cool_down.after_grow
    reasons = {
        report.decision.chosen.reason.code
        for report in stage.reports
        if report.decision and report.decision.taken_at > since and not report.decision.changes
    }
    assert reasons <= {ReasonCode.COVERED_BY_COMING, ReasonCode.NOTHING_TO_DO}
    rejected = [
        reason.code
        for report in stage.reports
        if report.decision and report.decision.taken_at > since
        for proposal, reason in report.decision.rejected
        if proposal.policy == "queue_pressure"
    ]
    assert ReasonCode.COVERED_BY_COMING in rejected


@pools
def test_past_its_deadline_it_is_given_back_by_name_reported_and_replaced(hand: StageHand, pool: str) -> None:
    """Its GPUs would come after an hour: the deadline of the catalogue is 20 min after the launch."""
    never = Fault(name="never", kind=FaultKind.GPU_LATE, delay_s=3600.0, count=1, until_s=FOREVER)
    stage = with_one_task_waiting(hand, pool, never)
    stage.run_until(lambda: stage.bought() == 1)
    [broken] = stage.standing()
    ordered = stage.acted()[0].taken_at
    stage.run_until(lambda: stage.ready() == 1, at_most=timedelta(hours=2))

    give_back = next(item for item in stage.acted() if item.action is Action.SHRINK)
    assert give_back.chosen.reason.code is ReasonCode.OVERDUE_NODE
    assert [change.victims for change in give_back.changes] == [(broken,)]
    assert timedelta(minutes=20) < give_back.taken_at - ordered < timedelta(minutes=22)
    told = next(report for report in stage.reports if report.decision is give_back)
    assert "deadline" in give_back.chosen.reason.text
    assert [change.state.value for change in told.changes] == ["applied"]
    assert stage.bought() == 2
    assert broken not in stage.standing()
    assert stage.busy() == stage.standing()
