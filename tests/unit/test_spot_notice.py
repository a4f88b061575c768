"""R7.5: a notice brings a replacement now, once, and the place of the lost node goes with it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from agent.core.decide import decide, forget_attempt, remember_attempt
from agent.core.decision import Action, Decision, ReasonCode
from agent.core.memory import Memory, observe
from agent.core.snapshot import NodePhase, NodeView, PoolState, Snapshot, Unknown
from contract.units import Nodes
from tests.builders import EVERY, NOON, a_catalog, a_node, a_policy, a_pool, a_snapshot, decided, watched

SPOT = "eks-l4-spot"
STALE = timedelta(minutes=2)


def noticed(number: int = 1, used: int = 8, **more: object) -> NodeView:
    node = a_node(number, pool=SPOT, used=used)
    return replace(replace(node, reclaim_at=NOON + timedelta(minutes=2)), **more)  # type: ignore[arg-type]


def spot(*nodes: NodeView, configured: int | None = None) -> PoolState:
    return a_pool(*nodes, pool=SPOT, configured=configured)


def seen(*pools: PoolState, after: int = 0) -> Snapshot:
    return replace(a_snapshot(pools=pools or None), taken_at=NOON + after * EVERY)


def acted(snapshot: Snapshot, memory: Memory | None = None) -> tuple[Decision, Memory]:
    decision, memory = decide(snapshot, a_policy(), watched(snapshot) if memory is None else memory)
    return decision, remember_attempt(memory, decision, a_policy())


def test_a_busy_node_under_notice_is_replaced_at_once_in_its_own_pool() -> None:
    snapshot = seen(a_pool(), spot(noticed(), a_node(2, pool=SPOT, used=8)))
    memory = replace(watched(snapshot), last_grow=NOON - EVERY)
    decision, memory = acted(snapshot, memory)
    assert decision.chosen.policy == "spot_notice"
    assert [(item.pool, item.before, item.after) for item in decision.changes] == [(SPOT, 2, 3)]
    assert decision.changes[0].replaces == ("i-001",)
    assert memory.replaced == {"i-001": SPOT}
    assert memory.last_grow == NOON - EVERY, "a rain of notices must not keep the queue waiting"


def test_it_is_never_replaced_twice() -> None:
    snapshot = seen(a_pool(), spot(noticed()))
    _, memory = acted(snapshot)
    later = seen(a_pool(), spot(noticed(), a_node(2, NodePhase.BOOTING, pool=SPOT, since=NOON)), after=1)
    decision, _ = decide(later, a_policy(), memory)
    assert decision.action is Action.HOLD


def test_a_pool_that_is_closed_or_full_gives_way_to_the_next_that_is_no_smaller() -> None:
    snapshot = seen(a_pool(), spot(noticed()))
    memory = replace(watched(snapshot), back_off_until={SPOT: NOON + STALE})
    decision, memory = acted(snapshot, memory)
    assert [item.pool for item in decision.changes] == ["ack-a100-od"]
    assert memory.replaced == {"i-001": SPOT}


def test_nothing_smaller_stands_in_and_that_is_said() -> None:
    node = replace(a_node(1, used=8), reclaim_at=NOON)
    snapshot = seen(a_pool(node), spot())
    memory = replace(watched(snapshot), back_off_until={"ack-a100-od": NOON + STALE})
    decision, _ = decide(snapshot, a_policy(), memory)
    assert decision.action is Action.HOLD
    assert decision.chosen.reason.code is ReasonCode.NOTHING_FITS
    assert "replacement of node-001" in decision.chosen.reason.text


def test_a_pool_that_hosts_less_or_lies_farther_from_the_data_does_not_stand_in() -> None:
    near = replace(a_policy().placement, link_only_sites=("aws-us-east-1",))
    fewer = a_catalog()
    fewer = replace(fewer, pools={**fewer.pools, SPOT: replace(fewer.pools[SPOT], hosts=("training", "hpo"))})
    for catalog, rules in ((a_catalog(), near), (fewer, a_policy().placement)):
        snapshot = replace(seen(a_pool(), spot(noticed())), catalog=catalog)
        memory = replace(watched(snapshot), back_off_until={SPOT: NOON + STALE})
        decision, _ = decide(snapshot, replace(a_policy(), placement=rules), memory)
        assert decision.action is Action.HOLD
        assert decision.chosen.reason.code is ReasonCode.NOTHING_FITS


def test_several_are_replaced_first_to_go_first_as_far_as_limits_let() -> None:
    nodes = [noticed(number, reclaim_at=NOON + timedelta(seconds=90 - number)) for number in range(3)]
    snapshot = seen(spot(*nodes))
    policy = replace(a_policy(), limits=replace(a_policy().limits, max_cloud_nodes=Nodes(5)))
    decision = decided(snapshot, policy=policy)
    assert decision.changes[0].replaces == ("i-002", "i-001")
    assert [cap.code for cap in decision.caps] == [ReasonCode.NODE_LIMIT]


def test_a_node_without_work_or_already_leaving_is_not_replaced() -> None:
    leaving = replace(a_node(2, NodePhase.LEAVING, pool=SPOT, used=8), reclaim_at=NOON)
    decision = decided(seen(spot(noticed(used=0), leaving, configured=1)))
    assert decision.action is Action.HOLD


def test_where_a_stack_is_blind_nothing_is_bought() -> None:
    decision = decided(replace(seen(spot(noticed())), blind_stacks=("burst-alicloud",)))
    assert decision.action is Action.HOLD
    assert decision.chosen.reason.code is ReasonCode.SIGNAL_UNKNOWN


def test_once_replaced_its_empty_machine_goes_by_name_and_its_place_with_it() -> None:
    _, memory = acted(seen(spot(noticed())))
    later = seen(spot(noticed(used=0), a_node(2, NodePhase.BOOTING, pool=SPOT, since=NOON)), after=1)
    decision, after = acted(later, memory)
    assert decision.action is Action.SHRINK
    assert [(item.before, item.after, item.victims) for item in decision.changes] == [(2, 1, ("i-001",))]
    assert after.replaced == {}
    assert after.last_shrink is None


def test_once_it_is_gone_its_place_is_given_up_before_the_cloud_fills_it() -> None:
    _, memory = acted(seen(spot(noticed())))
    later = seen(spot(a_node(2, NodePhase.BOOTING, pool=SPOT, since=NOON), configured=2), after=1)
    decision, after = acted(later, memory)
    assert decision.action is Action.SHRINK
    assert [(item.before, item.after, item.victims) for item in decision.changes] == [(2, 1, ())]
    assert after.replaced == {}


def test_a_cloud_that_was_faster_leaves_nothing_to_do() -> None:
    _, memory = acted(seen(spot(noticed())))
    refilled = [a_node(number, NodePhase.BOOTING, pool=SPOT, since=NOON) for number in (2, 3)]
    decision, after = decide(seen(spot(*refilled), after=1), a_policy(), memory)
    assert decision.action is Action.HOLD
    assert after.replaced == {}


def test_a_pool_that_cannot_be_read_is_waited_for() -> None:
    _, memory = acted(seen(spot(noticed())))
    blind = a_pool(pool=SPOT, configured=2, observed=Unknown("throttled"))
    decision, after = decide(seen(blind, after=1), a_policy(), memory)
    assert decision.action is Action.HOLD
    assert after.replaced == {"i-001": SPOT}


def test_a_replacement_that_could_not_be_ordered_is_tried_again() -> None:
    snapshot = seen(spot(noticed()))
    before = watched(snapshot)
    _, memory = acted(snapshot, before)
    assert forget_attempt(memory, before).replaced == {}
    assert observe(before, replace(snapshot, taken_at=NOON + EVERY), STALE).replaced == {}
