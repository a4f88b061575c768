"""R4.7: what an order brought in part goes back when no waiting task can use it, and repeated failure stays quiet."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise

from agent.core.decide import decide, remember_attempt
from agent.core.decision import Action, Decision, ReasonCode
from agent.core.memory import Memory, observe
from agent.core.rules.warm_pool import WarmPool
from agent.core.snapshot import LaunchFailure, NodePhase, NodeView, PoolState, QueuedTask, Snapshot, Unknown
from contract.units import Nodes
from tests.builders import EVERY, NOON, a_node, a_policy, a_pool, a_snapshot, a_task, watched

POOL = "ack-a100-od"
BOOT = timedelta(minutes=9)
GANG = a_task(1, gpus=32)


def half_filled(
    *, queue: tuple[QueuedTask, ...] | Unknown = (GANG,), configured: int | None = None
) -> tuple[Snapshot, Memory]:
    """Three of four nodes came, the order for the fourth was taken back, and a boot's time went by."""
    nodes = [a_node(number, since=NOON - timedelta(minutes=20)) for number in range(3)]
    snapshot = a_snapshot(
        use=95.0, queue=queue, pools=[a_pool(*nodes, configured=configured), a_pool(pool="eks-l4-spot")]
    )
    memory = watched(snapshot, timedelta(minutes=15))
    later = NOON + timedelta(hours=1)
    return snapshot, replace(
        memory, failures={POOL: 1}, back_off_until={POOL: later}, grown_at={POOL: NOON - timedelta(minutes=30)}
    )


def victims(decision: Decision) -> set[str]:
    return {victim for change in decision.changes for victim in change.victims}


def test_the_part_that_came_goes_back_for_no_waiting_task_fits_in_it() -> None:
    snapshot, memory = half_filled()
    decision, _ = decide(snapshot, a_policy(), memory)
    assert decision.chosen.policy == "half_gang"
    assert decision.chosen.reason.code is ReasonCode.HALF_GANG
    assert victims(decision) == {"i-000", "i-001", "i-002"}


def test_it_waits_for_no_cool_down_for_the_nodes_never_worked() -> None:
    snapshot, memory = half_filled()
    decision, _ = decide(snapshot, a_policy(), replace(memory, last_grow=NOON - EVERY, last_shrink=NOON - EVERY))
    assert decision.chosen.policy == "half_gang"


def test_it_stays_while_a_task_that_waits_fits_in_it() -> None:
    snapshot, memory = half_filled(queue=(GANG, a_task(2, gpus=16)))
    decision, _ = decide(snapshot, a_policy(), memory)
    assert not victims(decision)


def test_it_stays_while_the_rest_may_still_come() -> None:
    snapshot, memory = half_filled(configured=4)
    decision, _ = decide(snapshot, a_policy(), memory)
    assert not victims(decision)


def test_it_stays_for_as_long_as_a_boot_takes() -> None:
    snapshot, memory = half_filled()
    fresh = dict.fromkeys(memory.idle_since, NOON - BOOT + EVERY)
    decision, _ = decide(snapshot, a_policy(), replace(memory, idle_since=fresh, ready_at=fresh))
    assert not victims(decision)


def test_a_node_that_has_worked_is_left_to_the_rule_for_idle_nodes() -> None:
    snapshot, memory = half_filled()
    worked = dict.fromkeys(memory.ready_at, NOON - timedelta(hours=1))
    decision, _ = decide(snapshot, a_policy(), replace(memory, ready_at=worked))
    assert not victims(decision)


def test_a_pool_that_filled_its_order_keeps_its_nodes() -> None:
    snapshot, memory = half_filled()
    decision, _ = decide(snapshot, a_policy(), replace(memory, failures={}))
    assert not victims(decision)


def test_an_unknown_queue_keeps_every_node() -> None:
    snapshot, memory = half_filled(queue=Unknown("the cluster does not answer"))
    decision, _ = decide(snapshot, a_policy(), memory)
    assert decision.action is Action.HOLD
    kept = next(reason for proposal, reason in decision.rejected if proposal.policy == "half_gang")
    assert kept.code is ReasonCode.KEPT


def test_what_the_warm_pool_asks_for_stays() -> None:
    snapshot, memory = half_filled()
    policy = replace(a_policy(), warm_pool=WarmPool(nodes=Nodes(2), pool=POOL))
    decision, _ = decide(snapshot, policy, memory)
    assert victims(decision) == {"i-000"}


def test_a_cloud_that_always_brings_a_part_is_asked_ever_more_rarely() -> None:
    """Eight hours of a cloud that has three of the four nodes: orders get rarer, and nothing is left standing."""
    policy = a_policy()
    memory = watched(a_snapshot(queue=(GANG,)), timedelta(minutes=10))
    asked: list[datetime] = []
    standing: tuple[tuple[NodeView, datetime], ...] = ()
    configured, failure = 0, None
    for tick in range(960):
        now = NOON + tick * EVERY
        pool = PoolState(
            pool=POOL,
            stack="burst-alicloud",
            configured=Nodes(configured),
            applied=Nodes(configured),
            observed=tuple(node for node, ready in standing),
            failure=failure,
        )
        snapshot = a_snapshot(now, queue=tuple(replace(GANG, task=f"g{n}") for n in range(5)), pools=[pool])
        decision, memory = decide(snapshot, policy, memory)
        if decision.action is not Action.HOLD:
            memory = remember_attempt(memory, decision, policy)
        for change in decision.changes:
            configured = int(change.after)
            standing = tuple((node, ready) for node, ready in standing if node.instance_id not in change.victims)
            if decision.action is Action.GROW:
                asked.append(now)
                came = [a_node(10 * tick + n, NodePhase.BOOTING, since=now) for n in range(3 - len(standing))]
                standing = (*standing, *((node, now + BOOT) for node in came))
                failure = LaunchFailure(code="InsufficientInstanceCapacity", message="sold out", at=now + EVERY)
        standing = tuple(
            (a_node(int(node.instance_id[2:]), since=node.since), ready) if now + EVERY >= ready else (node, ready)
            for node, ready in standing
        )
    gaps = [later - earlier for earlier, later in pairwise(asked)]
    assert len(asked) > 3
    assert all(
        gap >= min(policy.cool_down.back_off * 2**n, policy.cool_down.max_back_off) for n, gap in enumerate(gaps)
    )
    assert len(standing) <= 3


def test_what_came_of_a_failed_order_does_not_end_the_row_of_failures() -> None:
    snapshot, memory = half_filled()
    memory = observe(memory, replace(snapshot, taken_at=NOON + EVERY), timedelta(minutes=2))
    assert memory.failures == {POOL: 1}
    later = a_pool(a_node(9, since=NOON + timedelta(hours=1, minutes=1)))
    at = NOON + timedelta(hours=1, minutes=10)
    memory = observe(memory, replace(snapshot, taken_at=at, pools=(later,)), timedelta(minutes=2))
    assert memory.failures == {}
