"""The life of a rented node as one table; what breaks it is told, what was not seen is no change."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.memory import Memory, observe
from agent.core.phases import is_legal, node_events
from agent.core.snapshot import NodePhase, PoolState, Snapshot, Unknown
from tests.builders import NOON, a_node, a_pool, a_snapshot

P = NodePhase
POOL = "ack-a100-od"
LEGAL = {
    None: {P.BOOTING, P.JOINED, P.GPU_READY, P.DRAINING, P.LEAVING},
    P.BOOTING: {P.JOINED, P.GPU_READY, P.DRAINING, P.LEAVING, P.GONE},
    P.JOINED: {P.GPU_READY, P.DRAINING, P.LEAVING, P.GONE},
    P.GPU_READY: {P.DRAINING, P.LEAVING, P.GONE},
    P.DRAINING: {P.GPU_READY, P.LEAVING, P.GONE},
    P.LEAVING: {P.GONE},
    P.GONE: set(),
}
STALE = timedelta(minutes=2)


@pytest.mark.parametrize(("before", "after"), list(product(LEGAL, P)))
def test_the_table_of_legal_changes(before: NodePhase | None, after: NodePhase) -> None:
    assert is_legal(before, after) is (after in LEGAL[before])


def test_nobody_comes_back_from_the_end() -> None:
    assert not any(is_legal(P.GONE, after) for after in P)
    assert {after for after in P if is_legal(P.LEAVING, after)} == {P.GONE}


def snapshot_of(*pools: PoolState) -> Snapshot:
    return a_snapshot(pools=pools)


def test_a_first_sight_is_an_event_without_a_before() -> None:
    [event] = node_events({}, snapshot_of(a_pool(a_node(1, P.BOOTING))))
    assert (event.node, event.pool, event.before, event.after, event.at) == ("i-001", POOL, None, P.BOOTING, NOON)
    assert event.is_legal


def test_a_node_that_did_not_change_is_no_event() -> None:
    assert node_events({"i-001": (POOL, P.GPU_READY)}, snapshot_of(a_pool(a_node(1)))) == ()


def test_a_node_that_is_no_longer_there_is_gone() -> None:
    [event] = node_events({"i-001": (POOL, P.LEAVING)}, snapshot_of(a_pool()))
    assert (event.before, event.after, event.is_legal) == (P.LEAVING, P.GONE, True)


def test_a_node_that_loses_its_gpus_is_told_as_what_must_not_be() -> None:
    [event] = node_events({"i-001": (POOL, P.GPU_READY)}, snapshot_of(a_pool(a_node(1, P.JOINED))))
    assert not event.is_legal


@pytest.mark.parametrize("blind", [a_pool(configured=1, observed=Unknown("throttled")), None])
def test_a_node_of_a_pool_that_was_not_read_is_not_gone(blind: PoolState | None) -> None:
    pools = (blind,) if blind else ()
    assert node_events({"i-001": (POOL, P.GPU_READY)}, snapshot_of(*pools)) == ()


def test_nodes_of_other_pools_are_still_told_while_one_is_blind() -> None:
    blind = a_pool(configured=1, observed=Unknown("throttled"))
    other = a_pool(a_node(7, pool="eks-l4-spot"), pool="eks-l4-spot")
    events = node_events({"i-001": (POOL, P.GPU_READY), "i-009": ("eks-l4-spot", P.LEAVING)}, snapshot_of(blind, other))
    assert {(event.node, event.after) for event in events} == {("i-007", P.GPU_READY), ("i-009", P.GONE)}


pictures = st.lists(
    st.one_of(
        st.just(None),
        st.dictionaries(st.integers(0, 4), st.sampled_from([phase for phase in P if phase is not P.GONE]), max_size=5),
    ),
    min_size=1,
    max_size=8,
)


@settings(deadline=None)
@given(pictures)
def test_told_events_add_up_to_what_was_last_seen(course: list[dict[int, NodePhase] | None]) -> None:
    """Replaying the events over any course of pictures, blind ones among them, gives the last known state."""
    memory, told = Memory(), dict[str, NodePhase]()
    for step, nodes in enumerate(course):
        at = NOON + step * timedelta(seconds=30)
        pool = (
            a_pool(configured=1, observed=Unknown("throttled"))
            if nodes is None
            else a_pool(*(a_node(number, phase) for number, phase in nodes.items()))
        )
        snapshot = replace(snapshot_of(pool), taken_at=at)
        for event in node_events(memory.seen, snapshot):
            assert told.get(event.node) == event.before
            assert event.at == at
            told[event.node] = event.after
            if event.after is P.GONE:
                del told[event.node]
        memory = observe(memory, snapshot, STALE)
        assert told == {instance: phase for instance, (_, phase) in memory.seen.items()}
