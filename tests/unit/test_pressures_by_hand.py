"""R4.5: what a person orders: so many nodes more at once, or no more than so many; both end by themselves."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest

from agent.core.decide import decide, remember_attempt
from agent.core.decision import Action, Decision, ReasonCode
from agent.core.memory import Memory
from agent.core.snapshot import NodePhase, Order, OrderKind, PoolState, Snapshot, Unknown
from contract.catalog import Billing, Catalog
from contract.units import Money, Nodes
from tests.builders import EVERY, NOON, a_catalog, a_node, a_policy, a_pool, a_snapshot, a_task, decided, tasks, watched


def an_order(kind: OrderKind = OrderKind.EMERGENCY, nodes: int = 20, *, base: int = 0, number: int = 1) -> Order:
    return Order(
        number=number,
        kind=kind,
        nodes=Nodes(nodes),
        base=Nodes(base),
        who="lin",
        why="release night",
        since=NOON - timedelta(minutes=1),
        until=NOON + timedelta(hours=2),
    )


def ordered(snapshot: Snapshot, *orders: Order) -> Snapshot:
    return replace(snapshot, orders=orders)


def shrink_to(nodes: int) -> Order:
    return an_order(OrderKind.SHRINK, nodes)


def two_steady_pools() -> Catalog:
    """A second pool that its cloud does not take back, dearer than the first; 20 and 12 nodes."""
    catalog = a_catalog()
    steady = replace(catalog.pools["eks-l4-spot"], pool="eks-od", billing=Billing.ON_DEMAND, quota=Nodes(12))
    dear = replace(steady, price=Money(Decimal(500), "CNY"))
    return replace(catalog, pools={**catalog.pools, "eks-od": dear})


def busy(count: int) -> PoolState:
    """A pool of nodes that all have work."""
    return a_pool(*(a_node(number, used=8) for number in range(count)))


def sizes(decision: Decision) -> dict[str, tuple[int, int]]:
    return {change.pool: (change.before, change.after) for change in decision.changes}


def leaving(decision: Decision) -> list[str]:
    return [victim for change in decision.changes for victim in change.victims]


# ---- emergency ----


def test_an_emergency_is_bought_at_once_whatever_load_and_queue_are() -> None:
    decision = decided(ordered(a_snapshot(use=5.0), an_order()), Memory())
    assert decision.chosen.policy == "emergency"
    assert sizes(decision) == {"ack-a100-od": (0, 20)}
    assert "order 1 of lin (release night)" in decision.chosen.reason.text


def test_several_pools_in_one_decision_and_never_spot() -> None:
    pools = [busy(5), a_pool(pool="eks-l4-spot"), a_pool(pool="eks-od")]
    snapshot = ordered(a_snapshot(pools=pools, catalog=two_steady_pools()), an_order(base=5))
    decision = decided(snapshot)
    assert sizes(decision) == {"ack-a100-od": (5, 20), "eks-od": (0, 5)}


def test_only_what_is_still_missing_is_bought() -> None:
    pools = [busy(12)]
    assert sizes(decided(ordered(a_snapshot(pools=pools), an_order(nodes=10, base=4)))) == {"ack-a100-od": (12, 14)}
    met = decided(ordered(a_snapshot(pools=pools), an_order(nodes=8, base=4)))
    assert met.action is Action.HOLD


def test_it_waits_for_no_cool_down_and_no_step() -> None:
    memory = replace(watched(a_snapshot()), last_grow=NOON - EVERY, last_shrink=NOON - EVERY)
    assert sizes(decided(ordered(a_snapshot(), an_order()), memory)) == {"ack-a100-od": (0, 20)}


def test_limits_hold_for_it_too() -> None:
    policy = a_policy()
    policy = replace(policy, limits=replace(policy.limits, max_cloud_nodes=Nodes(7)))
    decision = decided(ordered(a_snapshot(), an_order()), policy=policy)
    assert sizes(decision) == {"ack-a100-od": (0, 7)}
    assert [cap.code for cap in decision.caps] == [ReasonCode.NODE_LIMIT]


def test_what_no_pool_can_hold_is_said() -> None:
    decision = decided(ordered(a_snapshot(), an_order(nodes=25)))
    assert "no open pool has room for the other 5" in decision.chosen.reason.text
    full = decided(ordered(a_snapshot(pools=[busy(20)]), an_order(base=20)))
    assert full.action is Action.HOLD
    assert full.chosen.reason.code is ReasonCode.NOTHING_FITS


def test_an_expired_or_future_order_orders_nothing() -> None:
    past = replace(an_order(), until=NOON)
    future = replace(an_order(), since=NOON + EVERY)
    assert decided(ordered(a_snapshot(), past, future)).action is Action.HOLD


def test_where_a_stack_cannot_be_read_nothing_is_counted_and_nothing_bought() -> None:
    snapshot = replace(ordered(a_snapshot(), an_order()), blind_stacks=("burst-aws",))
    decision = decided(snapshot)
    assert decision.action is Action.HOLD
    assert decision.chosen.reason.code is ReasonCode.SIGNAL_UNKNOWN


def test_its_nodes_stay_while_it_is_in_force_and_go_when_it_ends() -> None:
    pools = [a_pool(*(a_node(number) for number in range(6)))]
    quiet = a_snapshot(use=5.0, pools=pools)
    held = decided(ordered(quiet, an_order(nodes=4, base=1)))
    assert leaving(held) == ["i-000"]
    assert "5 stay for order 1 of lin" in held.chosen.reason.text
    kept = decided(ordered(quiet, an_order(nodes=6)))
    assert kept.action is Action.HOLD
    assert kept.chosen.reason.code is ReasonCode.KEPT
    assert len(leaving(decided(quiet))) == 6


# ---- forced shrink ----


def test_idle_nodes_go_first_oldest_first_then_those_that_have_not_come() -> None:
    nodes = (
        a_node(1, used=8),
        a_node(2, since=NOON - timedelta(hours=1)),
        a_node(3, since=NOON - timedelta(hours=2)),
        a_node(4, NodePhase.BOOTING, since=NOON - timedelta(minutes=2)),
    )
    snapshot = a_snapshot(pools=[a_pool(*nodes)])
    assert leaving(decided(ordered(snapshot, shrink_to(3)))) == ["i-003"]
    assert leaving(decided(ordered(snapshot, shrink_to(1)))) == ["i-003", "i-002", "i-004"]


def test_a_busy_node_is_never_touched_and_how_many_stay_is_said() -> None:
    nodes = [a_node(number, used=8) for number in range(3)]
    snapshot = a_snapshot(pools=[a_pool(*nodes, a_node(9))])
    decision = decided(ordered(snapshot, shrink_to(1)))
    assert leaving(decision) == ["i-009"]
    assert "2 above it stay" in decision.chosen.reason.text
    busy = decided(ordered(a_snapshot(pools=[a_pool(*nodes)]), shrink_to(0)))
    assert busy.action is Action.HOLD
    said = {proposal.policy: reason.text for proposal, reason in busy.rejected}
    assert "3 above it stay, for they have work" in said["forced_shrink"]


def test_the_strictest_order_counts_and_one_that_is_met_is_quiet() -> None:
    snapshot = a_snapshot(pools=[a_pool(a_node(1), a_node(2), a_node(3))])
    decision = decided(ordered(snapshot, shrink_to(2), an_order(OrderKind.SHRINK, 1, number=2)))
    assert len(leaving(decision)) == 2
    met = decided(ordered(snapshot, shrink_to(3)))
    assert met.action is Action.HOLD


def test_nothing_grows_above_it_neither_queue_nor_emergency() -> None:
    snapshot = a_snapshot(queue=tasks(30), pools=[a_pool(a_node(1, used=8))])
    decision = decided(ordered(snapshot, shrink_to(4), an_order(base=1)))
    assert sizes(decision) == {"ack-a100-od": (1, 4)}
    assert ReasonCode.ORDER in [cap.code for cap in decision.caps]


def test_reserved_nodes_go_last_for_they_are_paid_anyway() -> None:
    catalog = a_catalog()
    reserved = replace(catalog.pools["ack-a100-od"], billing=Billing.RESERVED)
    catalog = replace(catalog, pools={**catalog.pools, "ack-a100-od": reserved})
    old = a_node(1, since=NOON - timedelta(days=9))
    pools = [a_pool(old), a_pool(a_node(2, pool="eks-l4-spot"), pool="eks-l4-spot")]
    snapshot = a_snapshot(use=5.0, pools=pools, catalog=catalog)
    assert leaving(decided(ordered(snapshot, shrink_to(1)))) == ["i-002"]
    one_a_step = replace(a_policy(), idle_reclaim=replace(a_policy().idle_reclaim, max_step=Nodes(1)))
    assert leaving(decided(snapshot, policy=one_a_step)) == ["i-002"]


@pytest.mark.parametrize("observed", [None, Unknown("throttled")])
def test_a_pool_that_is_held_or_unknown_is_left_alone(observed: Unknown | None) -> None:
    state = replace(a_pool(a_node(1), observed=observed), held="" if observed else "change 7 is still open")
    assert decided(ordered(a_snapshot(pools=[state]), shrink_to(0))).action is Action.HOLD


def test_an_order_that_was_carried_out_is_not_carried_out_again() -> None:
    policy, first_look = a_policy(), ordered(a_snapshot(), an_order())
    first, memory = decide(first_look, policy, Memory())
    memory = remember_attempt(memory, first, policy)
    later = replace(ordered(a_snapshot(pools=[a_pool(configured=20)]), an_order()), taken_at=NOON + EVERY)
    second, _ = decide(later, policy, memory)
    assert second.action is Action.HOLD


def small_and_cheap() -> Catalog:
    """A steady pool of L4 cards at a fifth of the price beside the A100 pool."""
    catalog = a_catalog()
    cheap = replace(catalog.pools["eks-l4-spot"], pool="eks-l4-od", billing=Billing.ON_DEMAND, quota=Nodes(30))
    return replace(catalog, pools={**catalog.pools, "eks-l4-od": cheap})


def test_an_emergency_buys_where_waiting_work_can_run_and_not_what_is_cheapest() -> None:
    pools = [a_pool(), a_pool(pool="eks-l4-spot"), a_pool(pool="eks-l4-od")]
    for queue, pool in (((a_task(1, memory=80),), "ack-a100-od"), ((a_task(1, memory=20),), "eks-l4-od")):
        snapshot = ordered(a_snapshot(queue=queue, pools=pools, catalog=small_and_cheap()), an_order(nodes=4))
        assert sizes(decided(snapshot)) == {pool: (0, 4)}


def test_with_nothing_waiting_it_buys_cards_no_smaller_than_the_owned_ones_and_only_then_others() -> None:
    pools = [a_pool(), a_pool(pool="eks-l4-spot"), a_pool(pool="eks-l4-od")]
    snapshot = a_snapshot(pools=pools, catalog=small_and_cheap())
    assert sizes(decided(ordered(snapshot, an_order(nodes=4)))) == {"ack-a100-od": (0, 4)}
    assert sizes(decided(ordered(snapshot, an_order(nodes=24)))) == {"ack-a100-od": (0, 20), "eks-l4-od": (0, 4)}
