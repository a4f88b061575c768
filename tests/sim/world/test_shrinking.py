"""Which node goes when a group shrinks: blind to work, never a protected one."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.catalog import Provider
from sim.world.group_spec import Group
from sim.world.nodes import Node, Phase
from sim.world.scaling_groups import AZ_REBALANCE
from sim.world.victims import choose_victims
from sim.world.world import World
from tests.sim.builders import ROWS, a_job, a_spec, a_world

BOTH = pytest.mark.parametrize("pool", ["ack-a100", "eks-h100"])


def a_ready_group(pool: str, nodes: int, jobs: int = 0) -> tuple[World, Group]:
    """A world in which a group's nodes are ready and some of them busy for long."""
    long = [a_job(f"job-{number}", duration_s=50_000.0, submitted_s=900.0) for number in range(jobs)]
    world = a_world(long, local_nodes=0)
    group = world.groups.create(a_spec(pool, desired=nodes))
    world.advance_to(1000.0)
    return world, group


@BOTH
def test_busy_nodes_are_not_spared(pool: str) -> None:
    world, group = a_ready_group(pool, nodes=4, jobs=4)
    world.groups.set_desired(group.group_id, 2)
    results = world.results()
    assert results.jobs_lost == 2
    assert results.restarts == 2
    assert results.wasted_gpu_s == pytest.approx(2 * 8 * 100.0)


@BOTH
def test_protecting_all_others_removes_exactly_the_chosen_one(pool: str) -> None:
    world, group = a_ready_group(pool, nodes=5, jobs=4)
    idle = next(node for node in group.nodes if not node.is_busy)
    others = [node.instance_id for node in group.nodes if node is not idle]
    world.groups.set_protection(group.group_id, others, on=True)
    world.groups.set_desired(group.group_id, 4)
    world.groups.set_protection(group.group_id, others, on=False)
    world.advance_to(2000.0)
    assert idle.phase is Phase.GONE
    assert len(group.present()) == 4
    assert world.results().jobs_lost == 0


@BOTH
def test_group_of_protected_nodes_stays_above_its_desired_size(pool: str) -> None:
    world, group = a_ready_group(pool, nodes=3)
    world.groups.set_protection(group.group_id, [node.instance_id for node in group.nodes], on=True)
    world.groups.set_desired(group.group_id, 1)
    world.advance_to(5000.0)
    assert group.desired == 1
    assert len(group.standing()) == 3


@BOTH
def test_excess_goes_as_soon_as_protection_lets_it(pool: str) -> None:
    world, group = a_ready_group(pool, nodes=3)
    ids = [node.instance_id for node in group.nodes]
    world.groups.set_protection(group.group_id, ids, on=True)
    world.groups.set_desired(group.group_id, 2)
    world.groups.set_protection(group.group_id, ids[:2], on=False)
    world.advance_to(world.now_s)
    assert len(group.standing()) == 2
    assert not group.nodes[2].is_leaving


def test_alibaba_removes_the_oldest_first() -> None:
    world = a_world()
    group = world.groups.create(a_spec(desired=1))
    for number in (2, 3):
        world.advance_to(world.now_s + 100)
        world.groups.set_desired(group.group_id, number)
    world.groups.set_desired(group.group_id, 1)
    assert [node.is_leaving for node in group.nodes] == [True, True, False]


def test_aws_evens_out_the_zones_first() -> None:
    world, group = a_ready_group("eks-h100", nodes=5)
    full = Counter(node.zone for node in group.nodes).most_common(1)[0][0]
    world.groups.set_desired(group.group_id, 4)
    assert [node.zone for node in group.nodes if node.is_leaving] == [full]


def uneven(world: World, group: Group) -> Node:
    """Remove all but one of a zone's nodes; gives that one."""
    zone = ROWS["eks-h100"].zones[0]
    inside = [node for node in group.nodes if node.zone == zone]
    for node in inside[1:]:
        world.groups.remove_instance(node.instance_id, decrement=True)
    return inside[0]


def test_zone_rebalancing_kills_a_busy_node() -> None:
    """I29 as it happens on a real group: nobody asked for this removal."""
    world, group = a_ready_group("eks-h100", nodes=6, jobs=6)
    uneven(world, group)
    before = world.results().jobs_lost
    world.advance_to(4000.0)
    assert world.results().jobs_lost == before + 1
    zones = Counter(node.zone for node in group.standing())
    assert max(zones.values()) - min(zones.values()) <= 1
    assert len(group.standing()) == group.desired


def test_suspended_rebalancing_moves_nothing() -> None:
    world, group = a_ready_group("eks-h100", nodes=6, jobs=6)
    world.groups.suspend(group.group_id, [AZ_REBALANCE])
    uneven(world, group)
    before = world.results().jobs_lost
    world.advance_to(4000.0)
    assert world.results().jobs_lost == before
    world.groups.suspend(group.group_id, [AZ_REBALANCE], on=False)
    assert group.suspended == set()


def test_rebalancing_spares_protected_nodes() -> None:
    world, group = a_ready_group("eks-h100", nodes=6, jobs=6)
    uneven(world, group)
    standing = [node for node in group.nodes if not node.is_leaving]
    world.groups.set_protection(group.group_id, [node.instance_id for node in standing], on=True)
    before = world.results().jobs_lost
    world.advance_to(4000.0)
    assert world.results().jobs_lost == before
    assert not any(node.is_leaving for node in standing)


@given(
    provider=st.sampled_from([Provider.AWS, Provider.ALICLOUD]),
    protected=st.lists(st.booleans(), min_size=1, max_size=12),
    count=st.integers(0, 14),
    seed=st.integers(0, 1000),
)
def test_protected_nodes_are_never_victims(provider: Provider, protected: list[bool], count: int, seed: int) -> None:
    pool = {Provider.AWS: "eks-h100", Provider.ALICLOUD: "ack-a100"}[provider]
    world = a_world()
    group = world.groups.create(a_spec(pool, desired=0, maximum=20))
    nodes = _nodes(world, group, len(protected))
    for node, flag in zip(nodes, protected, strict=True):
        node.is_protected = flag
    victims = choose_victims(provider, nodes, count, Random(seed))
    assert not any(node.is_protected for node in victims)
    assert len(set(victims)) == len(victims) == min(count, protected.count(False))


def _nodes(world: World, group: Group, count: int) -> list[Node]:
    world.groups.set_desired(group.group_id, min(count, int(group.row.quota)))
    nodes = list(group.nodes)
    while len(nodes) < count:
        nodes.append(_copy(nodes[len(nodes) % len(group.nodes)]))
    return nodes


def _copy(node: Node) -> Node:
    return Node(
        name=node.name,
        instance_id=node.instance_id,
        provider_id=node.provider_id,
        address=node.address,
        row=node.row,
        machine=node.machine,
        zone=node.zone,
        group_id=node.group_id,
        is_spot=node.is_spot,
        ordered_s=node.ordered_s,
    )
