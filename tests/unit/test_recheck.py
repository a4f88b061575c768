"""Think, then look again: a plan only ever gets smaller, and one that no longer fits says why."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.costing import change_cost
from agent.core.decision import Action, Decision, PoolChange, ReasonCode
from agent.core.recheck import Withdrawn, recheck
from agent.core.snapshot import LaunchFailure, NodePhase, NodeView, Order, OrderKind, Snapshot, Unknown
from contract.units import Gpus, Nodes
from tests.builders import NOON, a_node, a_pool, a_snapshot, decided, tasks

SPOT = a_pool(pool="eks-l4-spot")
LATER = NOON + timedelta(seconds=3)


def a_growth() -> Decision:
    decision = decided(a_snapshot(queue=tasks(7)))
    assert decision.action is Action.GROW
    return decision


def quiet(*nodes: NodeView, configured: int | None = None, observed: Unknown | None = None) -> Snapshot:
    pool = a_pool(*nodes, configured=configured, observed=observed)
    return a_snapshot(LATER, use=2.0, pools=[pool, SPOT])


@cache
def a_shrink(count: int = 3) -> Decision:
    """All `count` idle nodes leave."""
    nodes = [a_node(number) for number in range(count)]
    decision = decided(a_snapshot(use=2.0, pools=[a_pool(*nodes), SPOT]))
    assert decision.action is Action.SHRINK
    return decision


def why(outcome: Decision | Withdrawn) -> str:
    assert isinstance(outcome, Withdrawn), outcome
    return outcome.why


def kept(outcome: Decision | Withdrawn) -> PoolChange:
    assert isinstance(outcome, Decision), outcome
    [change] = outcome.changes
    return change


def test_a_plan_that_still_fits_is_left_as_it_is() -> None:
    growth, shrink = a_growth(), a_shrink()
    assert recheck(growth, a_snapshot(LATER, queue=tasks(7))) is growth
    assert recheck(shrink, quiet(*(a_node(number) for number in range(3)))) is shrink


def test_doing_nothing_needs_no_second_look() -> None:
    hold = decided(a_snapshot(use=50.0))
    assert recheck(hold, a_snapshot(use=Unknown("gone"), queue=Unknown("gone"), pools=[])) is hold


@pytest.mark.parametrize("configured", [0, 2, 4])
def test_a_size_that_somebody_changed_withdraws_the_plan(configured: int) -> None:
    newer = quiet(*(a_node(number) for number in range(3)), configured=configured)
    assert why(recheck(a_shrink(), newer)) == (f"ack-a100-od was 3 when decided and is configured {configured} now")


@pytest.mark.parametrize(
    ("newer", "says"),
    [
        (a_snapshot(LATER, queue=()), "the queue emptied meanwhile"),
        (a_snapshot(LATER, queue=Unknown("503")), "the queue is unknown now: 503"),
        (
            a_snapshot(LATER, queue=tasks(7), pools=[a_pool(configured=0, observed=Unknown("throttled")), SPOT]),
            "the nodes of ack-a100-od cannot be read now",
        ),
    ],
)
def test_a_growth_is_withdrawn_when_its_ground_is_gone(newer: Snapshot, says: str) -> None:
    assert why(recheck(a_growth(), newer)) == says


@pytest.mark.parametrize(
    "returned",
    [a_node(1, used=1), a_node(1, NodePhase.DRAINING, used=8), a_node(1, NodePhase.LEAVING), None],
    ids=["got work", "cordoned with work", "is leaving already", "was not seen"],
)
def test_a_node_that_may_not_leave_now_stays_and_the_others_go(returned: NodeView | None) -> None:
    nodes = [a_node(0), *([returned] if returned else []), a_node(2)]
    outcome = recheck(a_shrink(), quiet(*nodes, configured=3))
    change = kept(outcome)
    assert change.victims == ("i-000", "i-002")
    assert (change.before, change.after) == (3, 1)
    assert isinstance(outcome, Decision)
    assert outcome.cost_per_hour == change_cost(quiet().catalog, outcome.changes)


def test_a_cordoned_idle_node_may_still_leave() -> None:
    newer = quiet(a_node(0, NodePhase.DRAINING), a_node(1), a_node(2))
    assert kept(recheck(a_shrink(), newer)).victims == ("i-000", "i-001", "i-002")


@pytest.mark.parametrize(
    "newer",
    [
        quiet(a_node(0, used=8), a_node(1, used=8), a_node(2, used=1)),
        quiet(configured=3, observed=Unknown("throttled")),
    ],
)
def test_a_shrink_with_nobody_left_to_go_is_withdrawn(newer: Snapshot) -> None:
    assert "have work again or cannot be read" in why(recheck(a_shrink(), newer))


def a_taken_back_order() -> Decision:
    """Five were ordered, none came, the cloud said no."""
    failure = LaunchFailure(code="NoStock", message="sold out", at=NOON)
    decision = decided(a_snapshot(use=50.0, pools=[replace(a_pool(configured=5), failure=failure), SPOT]))
    assert decision.chosen.reason.code is ReasonCode.UNFILLED_ORDER
    return decision


def test_an_order_that_is_taken_back_names_nobody_and_stands() -> None:
    decision = a_taken_back_order()
    assert recheck(decision, quiet(configured=5)) is decision


def test_machines_that_come_while_an_order_is_taken_back_are_kept() -> None:
    newcomers = [a_node(number, NodePhase.BOOTING, since=LATER) for number in range(2)]
    assert kept(recheck(a_taken_back_order(), quiet(*newcomers, configured=5))).after == 2


@settings(deadline=None)
@given(busy=st.sets(st.integers(0, 5)), gone=st.sets(st.integers(0, 5)), extra=st.integers(0, 3))
def test_no_second_look_ever_lets_more_nodes_go(busy: set[int], gone: set[int], extra: int) -> None:
    shrink = a_shrink(6)
    before = set(shrink.changes[0].victims)
    nodes = [a_node(number, used=Gpus(8) if number in busy else 0) for number in range(6 + extra) if number not in gone]
    outcome = recheck(shrink, quiet(*nodes, configured=6))
    free = {f"i-{number:03d}" for number in range(6) if number not in busy | gone}
    if isinstance(outcome, Withdrawn):
        assert not free or len(nodes) > 6, "more machines than are configured: not ours to shrink"
        return
    [change] = outcome.changes
    assert set(change.victims) == free <= before
    assert change.before - change.after == len(change.victims)


def an_order(kind: OrderKind, nodes: int, until: datetime = NOON + timedelta(hours=1)) -> Order:
    return Order(number=1, kind=kind, nodes=Nodes(nodes), base=Nodes(0), who="lin", why="w", since=NOON, until=until)


def test_what_an_order_wanted_is_dropped_when_the_order_was_cancelled_meanwhile() -> None:
    emergency = an_order(OrderKind.EMERGENCY, 4)
    growth = decided(replace(a_snapshot(), orders=(emergency,)))
    assert growth.chosen.policy == "emergency"
    assert isinstance(recheck(growth, replace(a_snapshot(LATER), orders=(emergency,))), Decision)
    assert "cancelled" in why(recheck(growth, a_snapshot(LATER)))
    ceiling = an_order(OrderKind.SHRINK, 1)
    pools = [a_pool(a_node(1), a_node(2)), SPOT]
    shrink = decided(replace(a_snapshot(pools=pools), orders=(ceiling,)))
    assert shrink.chosen.policy == "forced_shrink"
    assert isinstance(recheck(shrink, replace(a_snapshot(LATER, pools=pools), orders=(ceiling,))), Decision)
    assert "cancelled" in why(recheck(shrink, a_snapshot(LATER, pools=pools)))


def test_a_growth_beyond_an_order_given_meanwhile_is_dropped() -> None:
    newer = a_snapshot(LATER, queue=tasks(7))
    assert "allows 3 nodes now" in why(recheck(a_growth(), replace(newer, orders=(an_order(OrderKind.SHRINK, 3),))))
    assert isinstance(recheck(a_growth(), replace(newer, orders=(an_order(OrderKind.SHRINK, 30),))), Decision)
