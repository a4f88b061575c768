"""Node groups and pools of the control plane: they are the world's scaling groups, by another door."""

from __future__ import annotations

from typing import Any

import pytest

from contract.catalog import read_catalog
from contract.labels import TaintEffect
from sim.cloud import alicloud_kinds, aws_kinds
from sim.cloud.control import Control
from sim.world.refusals import CloudRefusal
from sim.world.world import World
from tests.engine.workbench import ROOT

Cloud = tuple[Control, str, dict[str, Any]]


@pytest.fixture
def control() -> Control:
    return Control(World(read_catalog(ROOT / "stacks" / "catalog.yaml"), seed=3))


def eks(control: Control) -> dict[str, Any]:
    """Inputs of a group on a cluster that stands."""
    vpc = control.create("aws:ec2/vpc:Vpc", "us-east-1", {"cidrBlock": "10.65.0.0/16"}, "").id
    zone = {"vpcId": vpc, "cidrBlock": "10.65.0.0/18", "availabilityZone": "us-east-1a"}
    subnet = control.create("aws:ec2/subnet:Subnet", "us-east-1", zone, "").id
    role = control.create("aws:iam/role:Role", "us-east-1", {"name": "nodes"}, "").outputs["arn"]
    cluster = {"name": "cloud-gpu-b", "roleArn": role, "vpcConfig": {"subnetIds": [subnet]}}
    control.create(aws_kinds.CLUSTER, "us-east-1", cluster, "")
    return {
        "clusterName": "cloud-gpu-b",
        "nodeGroupName": "h100",
        "nodeRoleArn": role,
        "subnetIds": [subnet],
        "instanceTypes": ["p5.48xlarge"],
        "scalingConfig": {"desiredSize": 2, "minSize": 0, "maxSize": 4},
        "labels": {"spillway.dev/pool": "eks-h100-od"},
        "taints": [{"key": "spillway.dev/burst", "value": "true", "effect": "NO_SCHEDULE"}],
    }


def ack(control: Control) -> dict[str, Any]:
    """Inputs of a pool on a cluster that stands."""
    vpc = control.create(alicloud_kinds.VPC, "cn-shanghai", {"cidrBlock": "10.64.0.0/16"}, "").id
    zone = {"vpcId": vpc, "cidrBlock": "10.64.0.0/20", "zoneId": "cn-shanghai-l"}
    switch = control.create(alicloud_kinds.SWITCH, "cn-shanghai", zone, "").id
    inputs = {"name": "cloud-gpu-a", "vswitchIds": [switch], "serviceCidr": "10.66.0.0/20"}
    cluster = control.create(alicloud_kinds.CLUSTER, "cn-shanghai", inputs, "").id
    return {
        "clusterId": cluster,
        "nodePoolName": "a100",
        "vswitchIds": [switch],
        "instanceTypes": ["ecs.gn7e-c16g1.32xlarge"],
        "desiredSize": "2",
        "scalingConfig": {"enable": False, "minSize": 0, "maxSize": 4},
        "labels": [{"key": "spillway.dev/pool", "value": "ack-a100-od"}],
        "taints": [{"key": "spillway.dev/burst", "value": "true", "effect": "NoSchedule"}],
    }


@pytest.fixture(params=["aws", "alicloud"])
def cloud(request: pytest.FixtureRequest, control: Control) -> Cloud:
    if request.param == "aws":
        return control, aws_kinds.NODE_GROUP, eks(control)
    return control, alicloud_kinds.NODE_POOL, ack(control)


def resized(inputs: dict[str, Any], nodes: int) -> dict[str, Any]:
    """The same group with another size."""
    if "desiredSize" in inputs:
        return {**inputs, "desiredSize": str(nodes)}
    return {**inputs, "scalingConfig": {**inputs["scalingConfig"], "desiredSize": nodes}}


def size_of(inputs: dict[str, Any]) -> int:
    """The size that a group's inputs show."""
    return int(inputs.get("desiredSize") or inputs["scalingConfig"]["desiredSize"])


def test_group_orders_its_nodes_in_the_world(cloud: Cloud) -> None:
    control, kind, inputs = cloud

    made = control.create(kind, "", inputs, "")

    (group,) = control.world.groups.groups()
    assert made.id.endswith(group.group_id)
    assert len(group.nodes) == 2
    (taint,) = group.spec.taints
    assert (taint.key, taint.effect) == ("spillway.dev/burst", TaintEffect.NO_SCHEDULE)
    assert group.spec.zones in (("us-east-1a",), ("cn-shanghai-l",))


def test_scaling_group_of_the_outputs_is_the_worlds(cloud: Cloud) -> None:
    control, kind, inputs = cloud

    outputs = control.create(kind, "", inputs, "").outputs

    (group,) = control.world.groups.groups()
    shown = outputs.get("scalingGroupId") or outputs["resources"][0]["autoscalingGroups"][0]["name"]
    assert shown == group.scaling_group_id


def test_size_changed_by_another_door_is_what_a_read_shows(cloud: Cloud) -> None:
    control, kind, inputs = cloud
    made = control.create(kind, "", inputs, "")
    (group,) = control.world.groups.groups()

    control.world.groups.set_desired(group.group_id, 4)

    assert size_of(control.read(kind, made.id).inputs) == 4


def test_update_resizes_and_a_refused_one_changes_nothing(cloud: Cloud) -> None:
    control, kind, inputs = cloud
    made = control.create(kind, "", inputs, "")

    control.update(kind, made.id, resized(inputs, 3))
    with pytest.raises(CloudRefusal):
        control.update(kind, made.id, resized(inputs, 5))

    assert size_of(control.read(kind, made.id).inputs) == 3


def test_second_group_of_the_same_name_is_refused(cloud: Cloud) -> None:
    control, kind, inputs = cloud
    control.create(kind, "", inputs, "")

    with pytest.raises(CloudRefusal, match="exist"):
        control.create(kind, "", inputs, "")

    assert len(control.world.groups.groups()) == 1


def test_delete_is_over_when_the_last_node_is_gone(cloud: Cloud) -> None:
    control, kind, inputs = cloud
    made = control.create(kind, "", inputs, "")

    assert control.delete(kind, made.id) is False
    control.world.advance_to(600)
    assert control.delete(kind, made.id) is True
    assert control.delete(kind, made.id) is True
    assert control.store.of_kind(kind) == []


def test_group_taken_away_by_another_door_reads_as_gone(cloud: Cloud) -> None:
    control, kind, inputs = cloud
    made = control.create(kind, "", resized(inputs, 0), "")
    (group,) = control.world.groups.groups()

    control.world.groups.delete(group.group_id)

    with pytest.raises(CloudRefusal) as caught:
        control.read(kind, made.id)
    assert caught.value.http_status == 404


def test_cluster_with_a_group_cannot_go(cloud: Cloud) -> None:
    control, kind, inputs = cloud
    control.create(kind, "", resized(inputs, 0), "")
    cluster = aws_kinds.CLUSTER if kind == aws_kinds.NODE_GROUP else alicloud_kinds.CLUSTER
    (own,) = control.store.of_kind(cluster)

    with pytest.raises(CloudRefusal) as caught:
        control.delete(cluster, own.id)

    assert caught.value.code in ("ResourceInUseException", "ErrorClusterState")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"clusterName": "gone"}, "ResourceNotFoundException"),
        ({"nodeRoleArn": "arn:aws:iam::012345678912:role/gone"}, "InvalidParameterException"),
        ({"subnetIds": ["subnet-gone"]}, "InvalidSubnetID.NotFound"),
        ({"instanceTypes": ["p9.huge"]}, "InvalidParameterException"),
        ({"taints": [{"key": "a", "effect": "NoSchedule"}]}, "InvalidParameterException"),
    ],
)
def test_bad_eks_group_is_refused(control: Control, change: dict[str, Any], code: str) -> None:
    with pytest.raises(CloudRefusal) as caught:
        control.create(aws_kinds.NODE_GROUP, "us-east-1", {**eks(control), **change}, "")

    assert caught.value.code == code


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"clusterId": "c0"}, "ErrorClusterNotFound"),
        ({"vswitchIds": ["vsw-gone"]}, "InvalidVSwitchId.NotFound"),
        ({"instanceTypes": ["ecs.gn99.huge"]}, "InvalidInstanceType.NotFound"),
        ({"taints": [{"key": "a", "effect": "NO_SCHEDULE"}]}, "InvalidParameter.Taints"),
    ],
)
def test_bad_ack_pool_is_refused(control: Control, change: dict[str, Any], code: str) -> None:
    with pytest.raises(CloudRefusal) as caught:
        control.create(alicloud_kinds.NODE_POOL, "cn-shanghai", {**ack(control), **change}, "")

    assert caught.value.code == code
