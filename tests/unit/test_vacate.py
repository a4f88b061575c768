"""R4.5: an order to vacate moves work that is not core off rented nodes, as little as will do, and ends cleanly."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from agent.core.decide import decide, remember_attempt, remember_released
from agent.core.decision import Action, Decision, ReasonCode
from agent.core.explain import headline
from agent.core.memory import Memory, observe
from agent.core.recheck import Withdrawn, recheck
from agent.core.snapshot import NodePhase, NodeView, Order, OrderKind, Snapshot, Unknown
from contract.units import Nodes
from contract.work import Tier
from tests.builders import EVERY, NOON, a_node, a_policy, a_pool, a_snapshot, decided, tasks, watched

CORE, RESEARCH, EXPLORATION = Tier.PRODUCTION_CORE, Tier.RESEARCH, Tier.EXPLORATION
SPOT = a_pool(pool="eks-l4-spot")


def an_order(nodes: int, kind: OrderKind = OrderKind.VACATE) -> Order:
    return Order(
        number=1,
        kind=kind,
        nodes=Nodes(nodes),
        base=Nodes(0),
        who="lin",
        why="over budget",
        since=NOON - timedelta(minutes=1),
        until=NOON + timedelta(hours=2),
    )


def busy(number: int, *work: tuple[str, Tier], used: int = 8) -> NodeView:
    return replace(a_node(number, used=used), tasks=work)


def over(*nodes: NodeView, allowed: int, kind: OrderKind = OrderKind.VACATE) -> Snapshot:
    return replace(a_snapshot(use=95.0, pools=[a_pool(*nodes), SPOT]), orders=(an_order(allowed, kind),))


def moved(decision: Decision) -> dict[str, tuple[str, ...]]:
    return {node.node: node.tasks for node in decision.chosen.vacates}


def test_work_that_is_not_core_is_moved_off_as_many_nodes_as_stand_above_the_order() -> None:
    decision = decided(over(busy(1, ("core", CORE)), busy(2, ("a", RESEARCH)), busy(3, ("b", RESEARCH)), allowed=2))
    assert decision.action is Action.VACATE
    assert decision.changes == ()
    assert moved(decision) == {"node-002": ("a",)}
    assert headline(decision) == "Move work: node-002 is cordoned, a leave it."


def test_the_least_urgent_work_goes_first() -> None:
    nodes = (busy(1, ("a", Tier.PRODUCTION)), busy(2, ("b", EXPLORATION)), busy(3, ("c", RESEARCH)))
    assert moved(decided(over(*nodes, allowed=2))) == {"node-002": ("b",)}


def test_core_work_and_work_that_nobody_can_name_stay_whatever_the_order_says() -> None:
    nodes = (busy(1, ("core", CORE)), busy(2, ("a", RESEARCH), ("core", CORE)), busy(3))
    decision = decided(over(*nodes, allowed=0))
    assert decision.action is Action.HOLD
    reasons = {proposal.policy: reason for proposal, reason in decision.rejected}
    assert "3 above it stay" in reasons["forced_shrink"].text


def test_an_order_that_does_not_say_so_moves_nothing() -> None:
    decision = decided(over(busy(1, ("a", RESEARCH)), allowed=0, kind=OrderKind.SHRINK))
    assert decision.action is Action.HOLD


def test_idle_nodes_go_before_any_work_is_moved() -> None:
    decision = decided(over(a_node(1), busy(2, ("a", RESEARCH)), allowed=1))
    assert decision.action is Action.SHRINK
    assert [change.victims for change in decision.changes] == [("i-001",)]


def test_one_gang_is_moved_rather_than_parts_of_two() -> None:
    one, two = ("one", RESEARCH), ("two", RESEARCH)
    nodes = (busy(1, one), busy(2, two), busy(3, one), busy(4, two))
    assert set(moved(decided(over(*nodes, allowed=2)))) == {"node-001", "node-003"}


def test_what_was_begun_is_gone_on_with() -> None:
    snapshot = over(busy(1, ("a", RESEARCH)), busy(2, ("b", RESEARCH)), allowed=1)
    memory = replace(watched(snapshot), vacating={"i-002": "ack-a100-od"})
    assert set(moved(decided(snapshot, memory))) == {"node-002"}


def test_nothing_is_rented_meanwhile_for_the_work_that_was_moved() -> None:
    snapshot = replace(over(busy(1, ("core", CORE)), allowed=1), queue=tasks(9))
    decision = decided(snapshot)
    assert decision.action is Action.HOLD
    assert decision.chosen.reason.code is ReasonCode.ORDER


def test_once_empty_a_vacated_node_goes_like_any_other_without_work() -> None:
    snapshot = over(busy(1, ("core", CORE)), a_node(2, NodePhase.DRAINING), allowed=1)
    decision = decided(snapshot, replace(watched(snapshot), vacating={"i-002": "ack-a100-od"}))
    assert [change.victims for change in decision.changes] == [("i-002",)]


def cordoned(number: int, *work: tuple[str, Tier]) -> NodeView:
    return replace(a_node(number, NodePhase.DRAINING, used=8), tasks=work)


def begun(snapshot: Snapshot) -> Memory:
    return replace(watched(snapshot), vacating={"i-001": "ack-a100-od"})


def test_when_the_order_ends_what_still_stands_takes_work_again_once() -> None:
    snapshot = over(busy(1, ("a", RESEARCH)), busy(2, ("b", RESEARCH)), allowed=1)
    decision, memory = decide(snapshot, a_policy(), watched(snapshot))
    memory = remember_attempt(memory, decision, a_policy())
    assert memory.vacating == {"i-001": "ack-a100-od"}
    later = a_snapshot(NOON + EVERY, pools=[a_pool(cordoned(1, ("a", RESEARCH)), busy(2, ("b", RESEARCH))), SPOT])
    decision, memory = decide(later, a_policy(), memory)
    assert [node.node for node in decision.chosen.releases] == ["node-001"]
    assert headline(decision) == "Move work: node-001 takes work again."
    assert isinstance(recheck(decision, later), Decision)
    assert remember_attempt(memory, decision, a_policy()).vacating, "until the cluster has done it"
    memory = remember_released(memory, ["i-001"])
    assert decide(replace(later, taken_at=NOON + 2 * EVERY), a_policy(), memory)[0].action is Action.HOLD


def test_a_looser_order_or_one_that_spares_work_releases_too() -> None:
    for allowed, kind in ((5, OrderKind.VACATE), (5, OrderKind.SHRINK), (0, OrderKind.SHRINK)):
        snapshot = over(cordoned(1, ("a", RESEARCH)), allowed=allowed, kind=kind)
        assert [node.node for node in decided(snapshot, begun(snapshot)).chosen.releases] == ["node-001"]


def test_a_node_that_goes_back_is_never_released() -> None:
    empty = a_node(1, NodePhase.DRAINING)
    leaving = a_node(1, NodePhase.LEAVING)
    for pool in (replace(a_pool(empty, configured=0), held="its shrink is open"), a_pool(leaving, configured=0)):
        snapshot = a_snapshot(pools=[pool, SPOT])
        assert decided(snapshot, begun(snapshot)).action is Action.HOLD
    snapshot = over(empty, allowed=0)
    decision, memory = decide(snapshot, a_policy(), begun(snapshot))
    assert decision.action is Action.SHRINK
    assert remember_attempt(memory, decision, a_policy()).vacating == {}


def test_nodes_that_are_on_their_way_out_count_as_gone() -> None:
    going = replace(a_pool(a_node(1, NodePhase.DRAINING), configured=0), held="its shrink is open")
    worker = replace(a_node(2, pool="eks-l4-spot", used=8), tasks=(("a", RESEARCH),))
    snapshot = replace(a_snapshot(pools=[going, a_pool(worker, pool="eks-l4-spot")]), orders=(an_order(1),))
    assert decided(snapshot).action is Action.HOLD
    stuck = a_pool(a_node(1, NodePhase.DRAINING))
    snapshot = replace(a_snapshot(pools=[stuck, a_pool(worker, pool="eks-l4-spot")]), orders=(an_order(1),))
    memory = replace(watched(snapshot), refused_until={"ack-a100-od": NOON + timedelta(minutes=5)})
    assert decided(snapshot, memory).action is Action.HOLD


def test_only_the_tasks_that_are_needed_are_moved() -> None:
    gang = ("g", RESEARCH)
    nodes = (busy(1, ("b", EXPLORATION)), busy(2, ("a", EXPLORATION)), *(busy(n, gang) for n in (3, 4, 5)))
    assert {task for tasks in moved(decided(over(*nodes, allowed=2))).values() for task in tasks} == {"g"}


def test_a_node_that_is_gone_is_forgotten_and_one_that_cannot_be_seen_is_not() -> None:
    memory = replace(watched(a_snapshot()), vacating={"i-001": "ack-a100-od"})
    gone = a_snapshot(NOON, pools=[a_pool(), SPOT])
    assert observe(memory, gone, timedelta(minutes=2)).vacating == {}
    blind = a_snapshot(NOON, pools=[a_pool(observed=Unknown("throttled")), SPOT])
    assert observe(memory, blind, timedelta(minutes=2)).vacating == {"i-001": "ack-a100-od"}


def test_the_second_look_moves_nothing_that_was_not_named() -> None:
    decision = decided(over(busy(1, ("a", RESEARCH)), allowed=0))
    for newer in (
        over(busy(1, ("other", RESEARCH)), allowed=0),
        over(busy(1, ("a", RESEARCH), ("core", CORE)), allowed=0),
        over(busy(1, ("a", CORE)), allowed=0),
        over(busy(1, ("a", RESEARCH)), allowed=1),
        over(a_node(1), allowed=0),
        over(allowed=0),
    ):
        assert isinstance(recheck(decision, newer), Withdrawn)
    cancelled = replace(over(busy(1, ("a", RESEARCH)), allowed=0), orders=())
    assert isinstance(recheck(decision, cancelled), Withdrawn)
    outcome = recheck(decision, over(busy(1, ("a", RESEARCH)), allowed=0))
    assert outcome == decision


_WORK = st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from(list(Tier))), min_size=0, max_size=3)


@given(works=st.lists(_WORK, min_size=1, max_size=8), allowed=st.integers(0, 8))
def test_never_core_never_unnamed_never_more_than_stand_above_the_order(
    works: list[list[tuple[str, Tier]]], allowed: int
) -> None:
    tiers = dict(item for work in works for item in work)
    nodes = [busy(n, *((task, tiers[task]) for task in {task for task, _ in work})) for n, work in enumerate(works)]
    decision = decided(over(*nodes, allowed=allowed))
    assert len(decision.chosen.vacates) <= max(0, len(nodes) - allowed)
    for node in decision.chosen.vacates:
        assert node.tasks
        assert all(tiers[task] is not CORE for task in node.tasks)


def test_a_pool_that_must_not_be_touched_is_not_emptied_either() -> None:
    unsettled = a_pool(busy(1, ("a", RESEARCH)), applied=3)
    snapshot = replace(a_snapshot(pools=[unsettled, SPOT]), orders=(an_order(0),))
    assert decided(snapshot).action is Action.HOLD
