"""Precedence, cool-downs and caps, as properties over any snapshot."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.costing import change_cost, running_cost
from agent.core.decide import decide, remember_attempt
from agent.core.decision import Action, ReasonCode
from agent.core.snapshot import NodePhase, PoolState, QueuedTask, Snapshot, Unknown
from contract.units import Money, Nodes
from tests.builders import (
    EVERY,
    NOON,
    a_catalog,
    a_node,
    a_policy,
    a_pool,
    a_snapshot,
    a_task,
    an_on_demand_row,
    an_owned_row,
    decided,
    tasks,
    watched,
)

phases = st.sampled_from([phase for phase in NodePhase if phase is not NodePhase.GONE])


@st.composite
def pools(draw: st.DrawFn) -> tuple[PoolState, ...]:
    made = []
    for name, first in (("ack-a100-od", 0), ("eks-l4-spot", 100)):
        nodes = [
            a_node(
                first + number,
                draw(phases),
                pool=name,
                used=draw(st.sampled_from([0, 0, 1, 8])),
                since=NOON - timedelta(minutes=draw(st.integers(0, 300))),
            )
            for number in range(draw(st.integers(0, 12)))
        ]
        configured = len(nodes) + draw(st.integers(0, 3))
        blind = Unknown("throttled") if draw(st.integers(0, 5)) == 0 else None
        made.append(a_pool(*nodes, pool=name, configured=configured, observed=blind))
    return tuple(made)


queued = st.builds(
    a_task,
    st.integers(0, 9999),
    st.sampled_from([1, 2, 8, 16, 64]),
    memory=st.sampled_from([16, 80]),
    preemptible=st.booleans(),
)


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    use: float | Unknown = draw(st.one_of(st.floats(0, 100), st.just(Unknown("no answer"))))
    queue: tuple[QueuedTask, ...] | Unknown = tuple(draw(st.lists(queued, max_size=20)))
    if draw(st.integers(0, 9)) == 0:
        queue = Unknown("API server is down")
    return a_snapshot(use=use, queue=queue, pools=draw(pools()))


@settings(max_examples=300, deadline=None)
@given(snapshots(), st.integers(0, 40), st.integers(0, 20000))
def test_no_growth_ever_passes_quota_node_limit_cost_limit_or_step(snapshot: Snapshot, nodes: int, cost: int) -> None:
    policy = a_policy()
    limits = replace(policy.limits, max_cloud_nodes=Nodes(nodes), max_cost_per_hour=Money(Decimal(cost + 1), "CNY"))
    policy = replace(policy, limits=limits)
    decision = decided(snapshot, policy=policy)
    if decision.action is not Action.GROW:
        return
    sizes = {pool.pool: int(pool.configured) for pool in snapshot.pools}
    for change in decision.changes:
        assert change.before == sizes[change.pool]
        assert change.after <= snapshot.catalog.pools[change.pool].quota
        sizes[change.pool] = int(change.after)
    assert sum(sizes.values()) <= limits.max_cloud_nodes
    assert running_cost(snapshot.catalog, sizes.items()) <= limits.max_cost_per_hour
    assert 0 < sum(change.delta for change in decision.changes) <= policy.queue_pressure.max_step


@settings(max_examples=300, deadline=None)
@given(snapshots())
def test_no_shrink_ever_names_a_node_with_work(snapshot: Snapshot) -> None:
    decision = decided(snapshot)
    working = {node.instance_id for pool in snapshot.pools for node in pool.nodes() if node.gpus_used}
    for change in decision.changes:
        assert not working & set(change.victims)
        if decision.action is Action.SHRINK:
            assert change.after <= change.before
            assert len(change.victims) in (0, change.before - change.after)


@settings(max_examples=300, deadline=None)
@given(snapshots())
def test_unknown_never_acts(snapshot: Snapshot) -> None:
    blind = replace(snapshot, local_use=Unknown("no answer"), queue=Unknown("no answer"))
    decision = decided(blind)
    overdue_only = (ReasonCode.OVERDUE_NODE, ReasonCode.UNFILLED_ORDER)
    assert decision.action is Action.HOLD or decision.chosen.reason.code in overdue_only
    for change in decision.changes:
        assert not isinstance(snapshot.pool(change.pool).observed, Unknown)


@settings(max_examples=200, deadline=None)
@given(snapshots())
def test_the_same_inputs_give_the_same_decision(snapshot: Snapshot) -> None:
    memory = watched(snapshot, timedelta(minutes=15))
    assert decide(snapshot, a_policy(), memory) == decide(snapshot, a_policy(), memory)


@settings(max_examples=200, deadline=None)
@given(snapshots())
def test_the_cost_of_a_decision_is_that_of_its_changes(snapshot: Snapshot) -> None:
    decision = decided(snapshot)
    assert decision.cost_per_hour == change_cost(snapshot.catalog, decision.changes)
    assert (decision.cost_per_hour.amount > 0) == (decision.action is Action.GROW)


@settings(max_examples=100, deadline=None)
@given(snapshots())
def test_every_decision_says_why_even_when_it_does_nothing(snapshot: Snapshot) -> None:
    decision = decided(snapshot)
    policies = {proposal.policy for proposal, _ in decision.rejected} | {decision.chosen.policy}
    assert {"queue_pressure", "idle_reclaim", "boot_deadline"} <= policies
    assert decision.chosen.reason.text
    assert all(reason.text for _, reason in decision.rejected)


def test_two_growths_keep_their_distance() -> None:
    policy, snapshot = a_policy(), a_snapshot(queue=tasks(30))
    first, memory = decide(snapshot, policy, watched(snapshot))
    memory = remember_attempt(memory, first, policy)
    bigger = a_snapshot(NOON + EVERY, queue=tasks(30), pools=[a_pool(configured=10)])
    soon, memory = decide(bigger, policy, memory)
    assert soon.action is Action.HOLD
    assert soon.chosen.reason.code is ReasonCode.COOL_DOWN
    for step in range(2, 10):
        at = NOON + step * EVERY
        _, memory = decide(replace(bigger, taken_at=at), policy, memory)
    later, _ = decide(replace(bigger, taken_at=NOON + timedelta(minutes=5)), policy, memory)
    assert later.action is Action.GROW


def test_a_cap_leaves_its_reason() -> None:
    policy = a_policy()
    policy = replace(policy, limits=replace(policy.limits, max_cloud_nodes=Nodes(3)))
    decision = decided(a_snapshot(queue=tasks(9)), policy=policy)
    assert [change.delta for change in decision.changes] == [3]
    assert [cap.code for cap in decision.caps] == [ReasonCode.NODE_LIMIT]


def test_a_growth_capped_to_nothing_is_a_hold_with_that_reason() -> None:
    policy = a_policy()
    policy = replace(policy, limits=replace(policy.limits, max_cost_per_hour=Money(Decimal(100), "CNY")))
    decision = decided(a_snapshot(queue=tasks(9)), policy=policy)
    assert decision.action is Action.HOLD
    assert decision.chosen.reason.code is ReasonCode.COST_LIMIT


@pytest.mark.parametrize("price", ["0", "0.000000000000000000000000000001"])
def test_a_pool_that_costs_next_to_nothing_divides_no_limit(price: str) -> None:
    catalog = a_catalog(an_owned_row(), an_on_demand_row(price=price))
    snapshot = a_snapshot(queue=tasks(7), pools=[a_pool()], catalog=catalog)
    assert decided(snapshot).action is Action.GROW
