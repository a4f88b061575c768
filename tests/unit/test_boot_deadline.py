"""I32 and the first cut of R4.7: late nodes are given back by name, unfilled orders are taken back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from agent.core.decide import decide, remember_attempt
from agent.core.decision import Action, ReasonCode
from agent.core.snapshot import LaunchFailure, NodePhase
from tests.builders import NOON, a_node, a_policy, a_pool, a_snapshot, decided, tasks, watched


def test_a_node_past_its_deadline_is_given_back_by_name() -> None:
    late = a_node(1, NodePhase.JOINED, since=NOON - timedelta(minutes=21))
    decision = decided(a_snapshot(pools=[a_pool(late, a_node(2, used=8))]))
    assert decision.action is Action.SHRINK
    assert decision.chosen.reason.code is ReasonCode.OVERDUE_NODE
    assert [change.victims for change in decision.changes] == [("i-001",)]


def test_a_node_within_its_deadline_is_left_alone() -> None:
    young = a_node(1, NodePhase.JOINED, since=NOON - timedelta(minutes=20))
    assert decided(a_snapshot(pools=[a_pool(young)])).action is Action.HOLD


def test_a_node_that_was_ready_and_fell_silent_is_not_judged_by_the_boot_deadline() -> None:
    silent = a_node(1, NodePhase.BOOTING, since=NOON - timedelta(hours=2))
    snapshot = a_snapshot(pools=[a_pool(silent)])
    memory = replace(watched(snapshot), ready_at={"i-001": NOON - timedelta(hours=1)})
    assert decided(snapshot, memory).action is Action.HOLD


def test_an_order_that_the_cloud_refused_is_taken_back_and_its_pool_backs_off() -> None:
    failure = LaunchFailure(code="OperationDenied.NoStock", message="sold out", at=NOON)
    pool = replace(a_pool(a_node(1, used=8), configured=6), failure=failure)
    snapshot = a_snapshot(queue=tasks(9), pools=[pool])
    memory = replace(watched(snapshot), grown_at={"ack-a100-od": NOON - timedelta(minutes=1)})
    policy = a_policy()
    decision, memory = decide(snapshot, policy, memory)
    assert decision.chosen.reason.code is ReasonCode.UNFILLED_ORDER
    assert "OperationDenied.NoStock" in decision.chosen.reason.text
    assert [(change.before, change.after, change.victims) for change in decision.changes] == [(6, 1, ())]
    memory = remember_attempt(memory, decision, policy)
    assert memory.back_off_until["ack-a100-od"] == NOON + timedelta(minutes=3)


def test_the_back_off_doubles_and_is_bounded() -> None:
    failure = LaunchFailure(code="QuotaExceeded", message="", at=NOON)
    snapshot = a_snapshot(pools=[replace(a_pool(configured=5), failure=failure)])
    policy, memory = a_policy(), watched(snapshot)
    pauses = []
    for _ in range(6):
        decision, memory = decide(snapshot, policy, memory)
        memory = remember_attempt(memory, decision, policy)
        pauses.append((memory.back_off_until["ack-a100-od"] - NOON) // timedelta(minutes=1))
    assert pauses == [3, 6, 12, 24, 30, 30]


def test_a_failure_from_before_our_order_takes_nothing_back() -> None:
    failure = LaunchFailure(code="QuotaExceeded", message="", at=NOON - timedelta(hours=1))
    snapshot = a_snapshot(pools=[replace(a_pool(configured=5), failure=failure)])
    memory = replace(watched(snapshot), grown_at={"ack-a100-od": NOON - timedelta(minutes=2)})
    assert decided(snapshot, memory).action is Action.HOLD


def test_an_order_the_cloud_is_silent_about_is_taken_back_after_the_deadline() -> None:
    snapshot = a_snapshot(pools=[a_pool(configured=5)])
    waiting = replace(watched(snapshot), grown_at={"ack-a100-od": NOON - timedelta(minutes=20)})
    assert decided(snapshot, waiting).action is Action.HOLD
    over = replace(watched(snapshot), grown_at={"ack-a100-od": NOON - timedelta(minutes=21)})
    assert decided(snapshot, over).action is Action.SHRINK
