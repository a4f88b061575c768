"""The clouds' control plane: references, ranges, names, dependants, and calls that come twice."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sim.cloud.control import KINDS, Control
from sim.cloud.mishaps import Mishap
from sim.world.refusals import CloudRefusal
from sim.world.world import World
from tests.sim.builders import a_catalog

REGION = {"aws": "us-east-1", "alicloud": "cn-shanghai"}
VPC = {"aws": "aws:ec2/vpc:Vpc", "alicloud": "alicloud:vpc/network:Network"}
SUBNET = {"aws": "aws:ec2/subnet:Subnet", "alicloud": "alicloud:vpc/switch:Switch"}
ROLE = "aws:iam/role:Role"
both = pytest.mark.parametrize("cloud", ["aws", "alicloud"])


@pytest.fixture
def control() -> Control:
    return Control(World(a_catalog(), seed=3))


def make(control: Control, kind: str, token: str = "", **inputs: Any) -> str:
    return control.create(kind, REGION[kind.partition(":")[0]], inputs, token).id


def a_vpc(control: Control, cloud: str, block: str = "10.64.0.0/16") -> str:
    return make(control, VPC[cloud], cidrBlock=block)


def a_subnet(control: Control, cloud: str, vpc: str, block: str) -> str:
    zone = "availabilityZone" if cloud == "aws" else "zoneId"
    return make(control, SUBNET[cloud], vpcId=vpc, cidrBlock=block, **{zone: f"{REGION[cloud]}-a"})


def code_of(call: Any) -> str:
    with pytest.raises(CloudRefusal) as caught:
        call()
    return caught.value.code


@pytest.mark.parametrize(
    ("cloud", "vpc", "subnet"),
    [
        ("aws", r"vpc-0[0-9a-f]{16}", r"subnet-0[0-9a-f]{16}"),
        ("alicloud", r"vpc-uf6[a-z2-7]{18}", r"vsw-uf6[a-z2-7]{18}"),
    ],
)
def test_ids_look_like_the_clouds_own(control: Control, cloud: str, vpc: str, subnet: str) -> None:
    own = a_vpc(control, cloud)

    assert re.fullmatch(vpc, own)
    assert re.fullmatch(subnet, a_subnet(control, cloud, own, "10.64.0.0/20"))


@pytest.mark.parametrize(("cloud", "code"), [("aws", "InvalidVpcID.NotFound"), ("alicloud", "InvalidVpcId.NotFound")])
def test_subnet_in_an_absent_network_is_refused(control: Control, cloud: str, code: str) -> None:
    assert code_of(lambda: a_subnet(control, cloud, "vpc-gone", "10.64.0.0/20")) == code


@pytest.mark.parametrize(
    ("cloud", "code"), [("aws", "InvalidSubnet.Conflict"), ("alicloud", "InvalidCidrBlock.Overlapped")]
)
def test_overlapping_subnet_is_refused_and_names_the_other(control: Control, cloud: str, code: str) -> None:
    vpc = a_vpc(control, cloud)
    first = a_subnet(control, cloud, vpc, "10.64.0.0/18")

    with pytest.raises(CloudRefusal, match=first) as caught:
        a_subnet(control, cloud, vpc, "10.64.32.0/19")

    assert caught.value.code == code


@pytest.mark.parametrize(
    ("cloud", "code"), [("aws", "InvalidSubnet.Range"), ("alicloud", "InvalidCidrBlock.Malformed")]
)
def test_subnet_outside_of_its_network_is_refused(control: Control, cloud: str, code: str) -> None:
    vpc = a_vpc(control, cloud)

    assert code_of(lambda: a_subnet(control, cloud, vpc, "10.65.0.0/20")) == code


@both
def test_same_range_in_two_networks_is_fine(control: Control, cloud: str) -> None:
    ids = {a_subnet(control, cloud, a_vpc(control, cloud), "10.64.0.0/20") for _ in range(2)}

    assert len(ids) == 2


@pytest.mark.parametrize(("cloud", "code"), [("aws", "DependencyViolation"), ("alicloud", "DependencyViolation")])
def test_network_with_a_subnet_cannot_go(control: Control, cloud: str, code: str) -> None:
    vpc = a_vpc(control, cloud)
    subnet = a_subnet(control, cloud, vpc, "10.64.0.0/20")

    assert code_of(lambda: control.delete(VPC[cloud], vpc)) == code
    assert control.delete(SUBNET[cloud], subnet)
    assert control.delete(VPC[cloud], vpc)


@both
def test_deleting_what_is_gone_is_fine(control: Control, cloud: str) -> None:
    assert control.delete(VPC[cloud], "vpc-gone")


@both
def test_reading_what_is_gone_says_not_found(control: Control, cloud: str) -> None:
    with pytest.raises(CloudRefusal) as caught:
        control.read(VPC[cloud], "vpc-gone")

    assert caught.value.http_status == 404


def test_duplicate_name_is_refused(control: Control) -> None:
    make(control, ROLE, name="nodes", assumeRolePolicy="{}")

    assert code_of(lambda: make(control, ROLE, name="nodes", assumeRolePolicy="{}")) == "EntityAlreadyExists"


def test_call_repeated_with_its_token_makes_nothing_new(control: Control) -> None:
    """A lost answer: the same call again gives the same resource."""
    first = make(control, ROLE, "token-1", name="nodes", assumeRolePolicy="{}")
    second = make(control, ROLE, "token-1", name="nodes", assumeRolePolicy="{}")

    assert first == second
    assert len(control.store.of_kind(ROLE)) == 1


def test_update_cannot_take_anothers_name_nor_name_what_is_absent(control: Control) -> None:
    make(control, ROLE, name="one", assumeRolePolicy="{}")
    make(control, ROLE, name="two", assumeRolePolicy="{}")
    vpc = a_vpc(control, "aws")
    subnet = a_subnet(control, "aws", vpc, "10.64.0.0/20")

    assert code_of(lambda: control.update(ROLE, "two", {"name": "one"})) == "EntityAlreadyExists"
    gone = {"vpcId": "vpc-gone", "cidrBlock": "10.64.0.0/20"}
    assert code_of(lambda: control.update(SUBNET["aws"], subnet, gone)) == "InvalidVpcID.NotFound"
    assert control.read(ROLE, "two").inputs["name"] == "two"


def test_cluster_whose_services_lie_in_its_network_is_refused(control: Control) -> None:
    subnet = a_subnet(control, "aws", a_vpc(control, "aws"), "10.64.0.0/20")
    make(control, ROLE, name="plane", assumeRolePolicy="{}")
    inputs: dict[str, Any] = {
        "name": "gpu",
        "roleArn": "arn:aws:iam::012345678912:role/plane",
        "vpcConfig": {"subnetIds": [subnet]},
        "kubernetesNetworkConfig": {"serviceIpv4Cidr": "10.64.128.0/20"},
    }

    assert code_of(lambda: make(control, "aws:eks/cluster:Cluster", **inputs)) == "InvalidParameterException"
    inputs["kubernetesNetworkConfig"] = {"serviceIpv4Cidr": "10.66.0.0/20"}
    assert make(control, "aws:eks/cluster:Cluster", **inputs) == "gpu"


def test_type_that_the_twin_does_not_act_out_says_so(control: Control) -> None:
    assert code_of(lambda: make(control, "aws:s3/bucket:Bucket")) == "TwinUnknownType"


def test_what_somebody_deleted_in_a_console_is_gone(control: Control) -> None:
    vpc = a_vpc(control, "aws")

    control.vanish(VPC["aws"], vpc)

    assert code_of(lambda: control.read(VPC["aws"], vpc)) == "InvalidVpcID.NotFound"
    assert code_of(lambda: control.vanish(VPC["aws"], vpc)) == "InvalidVpcID.NotFound"


@pytest.mark.parametrize(("after", "made"), [(False, 0), (True, 1)])
def test_mishap_strikes_once_before_or_after_the_work(control: Control, after: bool, made: int) -> None:
    control.mishaps.ordered.append(Mishap(operation="create", kind=ROLE, code="ServiceUnavailable", after=after))

    assert code_of(lambda: make(control, ROLE, name="one", assumeRolePolicy="{}")) == "ServiceUnavailable"
    assert len(control.store.of_kind(ROLE)) == made
    assert make(control, ROLE, name="two", assumeRolePolicy="{}") == "two"


@pytest.mark.parametrize("name", sorted(KINDS))
def test_every_reference_of_a_kind_names_a_kind_that_exists(name: str) -> None:
    for reference in KINDS[name].references:
        assert set(reference.kind.split()) <= set(KINDS)
        assert reference.code
