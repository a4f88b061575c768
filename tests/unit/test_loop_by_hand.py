"""R4.5 through one whole tick: orders are taken up, named, kept in the picture, and carried out."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.core.decision import Action
from agent.core.rerun import rerun
from agent.core.snapshot import NodePhase, Order, OrderKind, Snapshot
from agent.errors import SignalUnavailable
from agent.ports import Cancellation
from contract.units import Nodes
from contract.work import Tier
from tests.builders import NOON, a_node, a_pool, a_snapshot
from tests.fakes.bench import bench


def idle_nodes() -> Snapshot:
    return a_snapshot(use=2.0, pools=[a_pool(a_node(1), a_node(2), a_node(3, used=8)), a_pool(pool="eks-l4-spot")])


def an_order(kind: OrderKind = OrderKind.EMERGENCY, nodes: int = 4) -> Order:
    return Order(
        number=0,
        kind=kind,
        nodes=Nodes(nodes),
        base=Nodes(0),
        who="lin",
        why="release night",
        since=NOON,
        until=NOON + timedelta(hours=2),
    )


def test_a_persons_order_is_carried_out_named_and_kept_in_the_picture() -> None:
    made = bench(a_snapshot(use=5.0))
    made.ledger.give_order(an_order())
    report = made.agent.tick()
    assert report.decision is not None
    assert "order 1 of lin (release night)" in report.decision.chosen.reason.text
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": 4}
    inputs = made.ledger.inputs(report.decision_id or 0)
    assert inputs is not None
    assert [order.number for order in inputs.snapshot.orders] == [1]
    assert rerun(inputs.snapshot, inputs.policy, inputs.memory, inputs.decided) == ()


def test_a_dry_run_says_what_an_order_would_do() -> None:
    made = bench(a_snapshot(use=5.0))
    made.ledger.give_order(an_order())
    decision = made.agent.dry_run().decision
    assert decision is not None
    assert decision.chosen.policy == "emergency"


@pytest.mark.parametrize("over", ["ended", "cancelled", "not yet"])
def test_an_order_that_is_not_in_force_is_not_in_the_picture(over: str) -> None:
    at = {"ended": NOON + timedelta(hours=2), "cancelled": NOON, "not yet": NOON - timedelta(seconds=1)}[over]
    made = bench(a_snapshot(at, use=5.0))
    number = made.ledger.give_order(an_order()).number
    if over == "cancelled":
        made.ledger.cancel_order(number, Cancellation(who="wu", why="false alarm", at=NOON))
    report = made.agent.tick()
    assert report.snapshot is not None
    assert report.snapshot.orders == ()
    assert report.decision is not None
    assert report.decision.action is Action.HOLD


def test_an_order_to_shrink_gives_idle_nodes_back_and_is_named() -> None:
    made = bench(a_snapshot(use=95.0, pools=idle_nodes().pools), size=3)
    made.ledger.give_order(an_order(OrderKind.SHRINK, 1))
    report = made.agent.tick()
    assert report.decision is not None
    assert "order 1 of lin" in report.decision.chosen.reason.text
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": 1}


def working(*, used: int = 8) -> Snapshot:
    node = replace(a_node(1, used=used), tasks=(("research/a", Tier.RESEARCH),) if used else ())
    return a_snapshot(use=95.0, pools=[a_pool(node), a_pool(pool="eks-l4-spot")])


def test_an_order_to_vacate_cordons_and_evicts_and_touches_no_stack_until_the_node_is_empty() -> None:
    made = bench(working(), size=1)
    made.gate.busy["node-001"] = 8
    made.ledger.give_order(an_order(OrderKind.VACATE, 0))
    report = made.agent.tick()
    assert report.error is None
    assert (made.gate.cordoned, made.gate.evicted) == (["node-001"], [("node-001", ("research/a",))])
    assert made.stacks.log == []
    assert made.ledger.memory().vacating == {"i-001": "ack-a100-od"}
    made.sensor.snapshots[:] = [replace(working(used=0), taken_at=NOON + timedelta(seconds=30))]
    made.agent.tick()
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": 0}


def test_what_a_disruption_budget_keeps_is_told_and_asked_for_again() -> None:
    made = bench(working(), replace(working(), taken_at=NOON + timedelta(seconds=30)), size=1)
    made.gate.guarded["node-001"] = "a-0"
    made.ledger.give_order(an_order(OrderKind.VACATE, 0))
    for _ in range(2):
        notes = made.agent.tick().notes
        assert "node-001: a disruption budget keeps a-0; asked again at the next tick" in notes
    assert len(made.gate.evicted) == 2


def test_a_cluster_that_does_not_answer_an_eviction_fails_the_tick_and_the_node_is_released_one_day() -> None:
    made = bench(working(), size=1)
    number = made.ledger.give_order(an_order(OrderKind.VACATE, 0)).number
    made.gate.error = SignalUnavailable("503", target="cluster", hint="wait")
    assert isinstance(made.agent.tick().error, SignalUnavailable)
    made.ledger.cancel_order(number, Cancellation(who="wu", why="enough", at=NOON))
    made.gate.cordoned.append("node-001")
    node = replace(a_node(1, NodePhase.DRAINING, used=8), tasks=(("research/a", Tier.RESEARCH),))
    cordoned = a_snapshot(NOON + timedelta(seconds=30), pools=[a_pool(node), a_pool(pool="eks-l4-spot")])
    made.sensor.snapshots[:] = [cordoned]
    assert isinstance(made.agent.tick().error, SignalUnavailable), "an uncordon that fails is not forgotten"
    assert made.ledger.memory().vacating == {"i-001": "ack-a100-od"}
    made.gate.error = None
    made.sensor.snapshots[:] = [replace(cordoned, taken_at=NOON + timedelta(seconds=60))]
    made.agent.tick()
    assert made.gate.cordoned == []
    assert made.ledger.memory().vacating == {}
