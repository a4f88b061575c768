"""I32 and the first cut of R4.7: late nodes are given back by name, unfilled orders are taken back."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from agent.core.decide import decide, remember_attempt
from agent.core.decision import Action, ReasonCode
from agent.core.snapshot import LaunchFailure, NodePhase
from contract.units import Gpus
from tests.builders import (
    EVERY,
    NOON,
    a_catalog,
    a_node,
    a_policy,
    a_pool,
    a_snapshot,
    an_on_demand_row,
    an_owned_row,
    decided,
    tasks,
    watched,
)


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


def test_a_ready_node_that_is_silent_for_a_whole_boot_time_without_work_is_given_back() -> None:
    silent = a_node(1, NodePhase.BOOTING, since=NOON - timedelta(hours=2))
    snapshot = a_snapshot(pools=[a_pool(silent)])
    memory = replace(watched(snapshot, timedelta(minutes=30)), ready_at={"i-001": NOON - timedelta(hours=1)})
    since = {"i-001": NOON - timedelta(minutes=21)}
    assert decided(snapshot, replace(memory, silent_since=since)).action is Action.SHRINK
    working = a_snapshot(pools=[a_pool(replace(silent, gpus_used=Gpus(4)))])
    assert decided(working, replace(memory, silent_since=since)).action is Action.HOLD


def test_nothing_is_judged_late_right_after_a_gap_or_a_jump_of_the_clock() -> None:
    young = a_node(1, NodePhase.BOOTING, since=NOON - timedelta(minutes=3))
    before = watched(a_snapshot(pools=[a_pool(young)]), timedelta(minutes=30))
    jumped = a_snapshot(NOON + timedelta(hours=1), pools=[a_pool(young)])
    assert decided(jumped, before).action is Action.HOLD


def test_a_late_node_is_not_given_back_twice_while_its_machine_still_stands() -> None:
    late = a_node(1, NodePhase.JOINED, since=NOON - timedelta(minutes=30))
    busy = [a_node(number, used=8) for number in range(2, 6)]
    policy = a_policy()
    sizes: list[int] = []
    snapshot = a_snapshot(pools=[a_pool(late, *busy)])
    memory = watched(snapshot)
    for step in range(5):
        size = sizes[-1] if sizes else 5
        now = a_snapshot(NOON + step * EVERY, pools=[a_pool(late, *busy, configured=size)])
        decision, memory = decide(now, policy, memory)
        sizes.append(int(decision.changes[0].after) if decision.changes else size)
    assert sizes == [4, 4, 4, 4, 4]


def test_an_orphan_beyond_the_configured_size_blocks_nothing() -> None:
    orphan = a_node(1, NodePhase.BOOTING, since=NOON - timedelta(hours=1))
    pools = [a_pool(orphan, configured=0), a_pool(pool="ack-b")]
    catalog = a_catalog(an_owned_row(), an_on_demand_row(), an_on_demand_row("ack-b"))
    decision = decided(a_snapshot(queue=tasks(9), catalog=catalog, pools=pools))
    assert [change.pool for change in decision.changes] == ["ack-b"]


def test_an_order_the_cloud_is_silent_about_is_taken_back_after_the_deadline() -> None:
    snapshot = a_snapshot(pools=[a_pool(configured=5)])
    waiting = replace(watched(snapshot), grown_at={"ack-a100-od": NOON - timedelta(minutes=20)})
    assert decided(snapshot, waiting).action is Action.HOLD
    over = replace(watched(snapshot), grown_at={"ack-a100-od": NOON - timedelta(minutes=21)})
    assert decided(snapshot, over).action is Action.SHRINK
