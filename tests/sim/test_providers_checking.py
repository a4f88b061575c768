"""What the plugins refuse before any cloud is asked: the SDK's own types, and rules beyond them."""

from __future__ import annotations

from typing import Any

import pytest

from sim.cloud.control import KINDS
from sim.cloud.groups import GROUP_KINDS
from sim.providers import known_types
from sim.providers.replaces import _REPLACES
from sim.providers.resources import RULES, Resources, Target
from sim.providers.schema import load_schema
from sim.providers.wire import UNKNOWN

EKS = "aws:eks/nodeGroup:NodeGroup"
ACK = "alicloud:cs/nodePool:NodePool"
VBR = "alicloud:expressconnect/virtualBorderRouter:VirtualBorderRouter"
VIF = "aws:directconnect/privateVirtualInterface:PrivateVirtualInterface"
GOOD: dict[str, dict[str, Any]] = {
    EKS: {
        "clusterName": "gpu",
        "nodeGroupName": "g",
        "nodeRoleArn": "arn",
        "subnetIds": ["subnet-1"],
        "scalingConfig": {"desiredSize": 1, "minSize": 0, "maxSize": 2},
    },
    ACK: {
        "clusterId": "c1",
        "nodePoolName": "p",
        "vswitchIds": ["vsw-1"],
        "desiredSize": "1",
        "scalingConfig": {"enable": False, "minSize": 0, "maxSize": 2},
    },
    VBR: {
        "physicalConnectionId": "pc-1",
        "vlanId": 1201,
        "localGatewayIp": "10.0.0.1",
        "peerGatewayIp": "10.0.0.2",
        "peeringSubnetMask": "255.255.255.252",
    },
    VIF: {
        "connectionId": "dxcon-1",
        "dxGatewayId": "gw",
        "vlan": 1202,
        "addressFamily": "ipv4",
        "bgpAsnLong": "65010",
    },
    "aws:directconnect/gateway:Gateway": {"amazonSideAsn": "64620"},
    "aws:ec2/vpc:Vpc": {"cidrBlock": "10.65.0.0/16"},
    "alicloud:vpc/switch:Switch": {"vpcId": "vpc-1", "cidrBlock": "10.64.0.0/20", "zoneId": "z"},
}


def found(token: str, inputs: dict[str, Any]) -> dict[str, str]:
    """Reasons by property."""
    provider = token.partition(":")[0]
    resources = Resources(provider, load_schema(provider))
    target = Target(urn=f"urn:pulumi:s::p::{token}::probe", type=token)
    _, failures = resources.check(target, {}, inputs, b"seed")
    return {failure.property: failure.reason for failure in failures}


@pytest.mark.parametrize("token", list(GOOD))
def test_good_inputs_pass(token: str) -> None:
    assert found(token, GOOD[token]) == {}


@pytest.mark.parametrize("token", list(GOOD))
def test_unknown_values_pass(token: str) -> None:
    assert found(token, dict.fromkeys(GOOD[token], UNKNOWN)) == {}


@pytest.mark.parametrize(
    ("token", "change", "where", "reason"),
    [
        # the SDK's types
        (EKS, {"clusterName": None}, "clusterName", "Missing required property"),
        (EKS, {"scalingConfig": {"minSize": 0, "maxSize": 2}}, "scalingConfig.desiredSize", "Missing required"),
        (EKS, {"instanceType": ["x"]}, "instanceType", "did you mean 'instanceTypes'?"),
        (EKS, {"completelyElse": 1}, "completelyElse", "Unknown property"),
        (EKS, {"scalingConfig": 3}, "scalingConfig", "expected an object, found int 3"),
        (EKS, {"scalingConfig": {"desiredSize": 1, "minSize": 0, "maxSze": 2}}, "scalingConfig.maxSze", "maxSize"),
        (EKS, {"subnetIds": "subnet-1"}, "subnetIds", "expected a list"),
        (EKS, {"subnetIds": [7]}, "subnetIds[0]", "expected a text"),
        (EKS, {"labels": {"a": 1}}, 'labels["a"]', "expected a text"),
        (EKS, {"forceUpdateVersion": "yes"}, "forceUpdateVersion", "expected true or false"),
        (EKS, {"diskSize": True}, "diskSize", "expected a whole number"),
        (ACK, {"desiredSize": 1}, "desiredSize", "expected a text, found int 1"),
        (ACK, {"labels": {"a": "b"}}, "labels", "expected a list"),
        # I25: spelling of taints
        (EKS, {"taints": [{"key": "a", "effect": "NoSchedule"}]}, "taints[0].effect", "NO_SCHEDULE, NO_EXECUTE"),
        (ACK, {"taints": [{"key": "a", "effect": "NO_SCHEDULE"}]}, "taints[0].effect", "NoSchedule, NoExecute"),
        (EKS, {"taints": [{"key": "k" * 64, "effect": "NO_EXECUTE"}]}, "taints[0].key", "1 to 63"),
        (EKS, {"taints": [{"key": "k", "effect": "NO_EXECUTE"}] * 51}, "taints", "supports 50 item maximum"),
        # I24: names
        (EKS, {"nodeGroupName": "x" * 64}, "nodeGroupName", "1 to 63"),
        (ACK, {"nodePoolName": "x" * 64}, "nodePoolName", "1 to 63"),
        (ACK, {"nodePoolName": "p-"}, "nodePoolName", "not a hyphen at an end"),
        # sizes
        (
            EKS,
            {"scalingConfig": {"desiredSize": 3, "minSize": 0, "maxSize": 2}},
            "scalingConfig.desiredSize",
            "greater",
        ),
        (EKS, {"scalingConfig": {"desiredSize": 1, "minSize": 2, "maxSize": 3}}, "scalingConfig.desiredSize", "less"),
        (ACK, {"desiredSize": "3"}, "desiredSize", "greater than scalingConfig.maxSize 2"),
        (ACK, {"desiredSize": "three"}, "desiredSize", "range (0 - 1000)"),
        (ACK, {"nodeCount": 1}, "desiredSize", "conflicts with nodeCount"),
        # enums and reserved labels
        (EKS, {"capacityType": "spot"}, "capacityType", "ON_DEMAND, SPOT"),
        (EKS, {"amiType": "AL2023_NVIDIA"}, "amiType", "AL2023_x86_64_NVIDIA"),
        (EKS, {"labels": {"node.kubernetes.io/x": "1"}}, 'labels["node.kubernetes.io/x"]', "reserved prefix"),
        (EKS, {"labels": {"eks.amazonaws.com/x": "1"}}, 'labels["eks.amazonaws.com/x"]', "reserved prefix"),
        (ACK, {"spotStrategy": "Spot"}, "spotStrategy", "SpotAsPriceGo"),
        (ACK, {"multiAzPolicy": "PRIO"}, "multiAzPolicy", "PRIORITY, COST_OPTIMIZED, BALANCE"),
        # lines
        (VBR, {"vlanId": 3000}, "vlanId", "range (0 - 2999)"),
        (VBR, {"minRxInterval": 100}, "minRxInterval", "range (200 - 1000)"),
        (VBR, {"peerGatewayIp": "10.0.0.256"}, "peerGatewayIp", "not an IPv4 address"),
        (VIF, {"vlan": 4095}, "vlan", "range (1 - 4094)"),
        (VIF, {"bgpAsn": 65010}, "bgpAsn", "found bgpAsn, bgpAsnLong"),
        (VIF, {"bgpAsnLong": None}, "bgpAsn", "found none"),
        (VIF, {"mtu": 9000}, "mtu", "1500, 9001"),
        ("aws:directconnect/gateway:Gateway", {"amazonSideAsn": "45104"}, "amazonSideAsn", "64512-65534"),
        # ranges
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.65.0.1/16"}, "cidrBlock", "has host bits set"),
        ("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/8"}, "cidrBlock", "between /16 and /28"),
        ("alicloud:vpc/switch:Switch", {"cidrBlock": "10.64/16"}, "cidrBlock", "not a valid IPv4"),
    ],
)
def test_bad_input_is_refused_with_its_property(token: str, change: dict[str, Any], where: str, reason: str) -> None:
    failures = found(token, {**GOOD[token], **change})

    assert reason in failures[where], failures


def test_name_that_is_not_given_is_made_and_kept() -> None:
    resources = Resources("aws", load_schema("aws"))
    token = "aws:ec2/securityGroup:SecurityGroup"
    target = Target(urn=f"urn:pulumi:s::p::{token}::endpoints", type=token)

    first, _ = resources.check(target, {}, {"vpcId": "vpc-1"}, b"one")
    again, _ = resources.check(target, first, {"vpcId": "vpc-1"}, b"two")

    assert first["name"].startswith("endpoints-")
    assert again["name"] == first["name"]


def test_plugins_know_exactly_what_the_clouds_act_out() -> None:
    names = {name for provider in known_types.PACKAGES for name in known_types.types_of(provider)}

    assert names == {*KINDS, *GROUP_KINDS}


@pytest.mark.parametrize("provider", known_types.PACKAGES)
def test_every_rule_and_replacement_names_inputs_of_the_sdk(provider: str) -> None:
    schema = load_schema(provider)
    for token in RULES[provider]:
        assert schema.resource(token), token
    known = {token: names for token, names in _REPLACES.items() if token.startswith(f"{provider}:")}
    for token, names in known.items():
        kind = schema.resource(token)
        assert kind
        unknown = {name.partition(".")[0] for name in names} - set(kind.inputs)
        assert unknown == set(), token
