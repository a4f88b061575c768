"""From the order to the end of a rented node, and what each step shows."""

from __future__ import annotations

import re

import pytest

from contract import labels
from sim.world.nodes import LEGAL, IllegalMove, Node, Phase
from sim.world.world import World
from tests.sim.builders import ROWS, a_job, a_spec, a_world


def run_until(world: World, node: Node, phase: Phase) -> None:
    """Let seconds go by until the node has come that far."""
    while phase not in node.entered_s:
        world.advance_to(world.now_s + 1)


CLOUD_POOLS = ["ack-a100", "ack-a100-spot", "eks-h100", "eks-l4-spot"]


def a_node(pool: str = "ack-a100") -> Node:
    """A node that was just ordered."""
    return a_world().groups.create(a_spec(pool, desired=1)).nodes[0]


def test_table_of_phases_names_every_phase_and_ends_in_gone() -> None:
    assert set(LEGAL) == set(Phase)
    assert not LEGAL[Phase.GONE]
    assert all(Phase.GONE in LEGAL[phase] for phase in Phase if phase is not Phase.GONE)


def test_step_outside_the_table_is_refused() -> None:
    with pytest.raises(IllegalMove):
        a_node().move(Phase.GPU_READY, 1.0)


@pytest.mark.parametrize("pool", CLOUD_POOLS)
def test_boot_takes_the_time_of_the_row_and_joins_on_the_way(pool: str) -> None:
    for seed in range(10):
        world = a_world(seed=seed)
        node = world.groups.create(a_spec(pool, desired=1)).nodes[0]
        world.advance_to(3600.0)
        ready_s, joined_s = node.entered_s[Phase.GPU_READY], node.entered_s[Phase.JOINED]
        assert 240.0 <= ready_s <= 540.0
        assert 0.55 <= joined_s / ready_s <= 0.70
        assert 0.0 < node.entered_s[Phase.BOOTING] < joined_s


def test_boots_differ_from_node_to_node_and_repeat_with_the_seed() -> None:
    def times(seed: int) -> list[float]:
        world = a_world(seed=seed)
        group = world.groups.create(a_spec(desired=5))
        world.advance_to(3600.0)
        return [node.entered_s[Phase.GPU_READY] for node in group.nodes]

    assert times(3) == times(3)
    assert times(3) != times(4)
    assert len(set(times(3))) == 5


def test_joined_node_takes_no_job_before_its_gpus_are_there() -> None:
    world = a_world([a_job()], local_nodes=0)
    node = world.groups.create(a_spec(desired=1)).nodes[0]
    run_until(world, node, Phase.JOINED)
    assert node.has_object
    assert not node.is_busy
    run_until(world, node, Phase.GPU_READY)
    assert node.is_busy


def test_names_and_ids_look_like_each_clouds_own() -> None:
    eks, ack = a_node("eks-h100"), a_node("ack-a100")
    assert re.fullmatch(r"ip-10-64-\d+-\d+\.ec2\.internal", eks.name)
    assert re.fullmatch(r"i-0[0-9a-f]{16}", eks.instance_id)
    assert eks.provider_id == f"aws:///{eks.zone}/{eks.instance_id}"
    assert re.fullmatch(r"cn-shanghai\.10\.32\.\d+\.\d+", ack.name)
    assert re.fullmatch(r"i-uf6[0-9a-z]{17}", ack.instance_id)
    assert ack.provider_id == f"cn-shanghai.{ack.instance_id}"


def test_node_carries_the_labels_of_row_cloud_and_hardware() -> None:
    world = a_world()
    node = world.groups.create(a_spec("eks-l4-spot", desired=1)).nodes[0]
    world.advance_to(3600.0)
    assert node.labels[labels.POOL] == "eks-l4-spot"
    assert node.labels[labels.PREEMPTIBLE] == "true"
    assert node.labels["eks.amazonaws.com/nodegroup"] == "eks-l4-spot"
    assert node.labels["eks.amazonaws.com/capacityType"] == "SPOT"
    assert node.labels["node.kubernetes.io/instance-type"] == "g6.12xlarge"
    assert node.labels["topology.kubernetes.io/zone"] in ROWS["eks-l4-spot"].zones
    assert node.labels["nvidia.com/gpu.product"] == "NVIDIA-L4"
    assert {taint.key for taint in node.taints} == {labels.BURST_TAINT, labels.PREEMPTIBLE_TAINT}


def test_gpus_come_from_the_instance_type_not_from_the_caller() -> None:
    assert a_node("eks-l4-spot").machine.gpus == 4
    assert a_node("eks-h100").machine.gpus == 8


def test_owned_nodes_stand_ready_from_the_start() -> None:
    world = a_world(local_nodes=3)
    assert [node.name for node in world.fleet.nodes.values()] == ["idc-a100-01", "idc-a100-02", "idc-a100-03"]
    assert all(node.phase is Phase.GPU_READY and node.has_object for node in world.fleet.nodes.values())


def test_gpus_cannot_be_given_twice_or_taken_back_by_a_stranger() -> None:
    world = a_world([a_job("one", gpus=8), a_job("two", gpus=8)], local_nodes=2)
    first, second = (run.pods[0] for run in world.dispatcher.runs)
    assert first.node is not None
    assert second.node is not None
    with pytest.raises(IllegalMove, match="free"):
        first.node.give(second)
    with pytest.raises(IllegalMove, match="is not"):
        first.node.take_back(second)
