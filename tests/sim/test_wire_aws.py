"""The AWS faces of the twin as boto3 sees them: exact removal, protection, refusals in the real codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from sim.world.faults import Fault, FaultKind, Target
from sim.world.group_spec import Group
from sim.world.world import World
from tests.sim.builders import a_spec, a_world
from tests.sim.wire_server import WireServer, serve

if TYPE_CHECKING:
    from mypy_boto3_autoscaling import AutoScalingClient
    from mypy_boto3_ec2 import EC2Client
    from mypy_boto3_eks import EKSClient

BOOTED_S = 900.0


@dataclass(frozen=True)
class Aws:
    """A world with one group of three running instances, and clients of its services."""

    world: World
    group: Group
    session: boto3.session.Session
    url: str

    @property
    def autoscaling(self) -> AutoScalingClient:
        """EC2 Auto Scaling."""
        return self.session.client(
            "autoscaling", endpoint_url=self.url, config=Config(retries={"total_max_attempts": 1})
        )

    @property
    def ec2(self) -> EC2Client:
        """EC2."""
        return self.session.client("ec2", endpoint_url=self.url, config=Config(retries={"total_max_attempts": 1}))

    @property
    def eks(self) -> EKSClient:
        """EKS."""
        return self.session.client("eks", endpoint_url=self.url, config=Config(retries={"total_max_attempts": 1}))

    @property
    def name(self) -> str:
        """The scaling group's name."""
        return self.group.scaling_group_id

    def ids(self) -> list[str]:
        """Instances that stand."""
        return [node.instance_id for node in self.group.standing()]


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One socket for all twins of this file."""
    with serve() as started:
        yield started


@pytest.fixture(scope="module")
def session() -> boto3.session.Session:
    """Its loaded service models are worth sharing."""
    return a_session("twin")


def a_session(key: str, region: str = "us-east-1") -> boto3.session.Session:
    """A session with this access key."""
    return boto3.session.Session(aws_access_key_id=key, aws_secret_access_key="any", region_name=region)


@pytest.fixture
def aws(server: WireServer, session: boto3.session.Session) -> Aws:
    """Three running instances."""
    world = a_world()
    group = world.groups.create(a_spec("eks-h100", desired=3, minimum=1))
    world.advance_to(BOOTED_S)
    server.show(world)
    return Aws(world, group, session, server.url)


def code_of(error: pytest.ExceptionInfo[ClientError]) -> tuple[str, int]:
    """The code and the HTTP status that boto3 saw."""
    answer = error.value.response
    return answer["Error"]["Code"], answer["ResponseMetadata"]["HTTPStatusCode"]


# ---- reading ----


def test_a_group_shows_its_sizes_and_instances(aws: Aws) -> None:
    shown = aws.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[aws.name])["AutoScalingGroups"][0]
    assert (shown["MinSize"], shown["DesiredCapacity"], shown["MaxSize"]) == (1, 3, 10)
    assert [item["InstanceId"] for item in shown["Instances"]] == aws.ids()
    assert {item["LifecycleState"] for item in shown["Instances"]} == {"InService"}
    assert {tag["Key"]: tag["Value"] for tag in shown["Tags"]}["eks:nodegroup-name"] == "eks-h100"


def test_an_unknown_group_is_left_out(aws: Aws) -> None:
    assert aws.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=["no"])["AutoScalingGroups"] == []


def test_groups_come_in_pages(aws: Aws) -> None:
    for number in range(4):
        aws.world.groups.create(a_spec("eks-h100", name=f"more-{number}"))
    pages = aws.autoscaling.get_paginator("describe_auto_scaling_groups").paginate(PaginationConfig={"PageSize": 2})
    assert [len(page["AutoScalingGroups"]) for page in pages] == [2, 2, 1]


def test_a_bad_page_token_is_refused(aws: Aws) -> None:
    with pytest.raises(ClientError) as error:
        aws.autoscaling.describe_auto_scaling_groups(NextToken="x")
    assert code_of(error) == ("InvalidNextToken", 400)


def test_another_region_is_another_place(aws: Aws) -> None:
    elsewhere = Aws(aws.world, aws.group, a_session("twin", "eu-west-1"), aws.url)
    assert elsewhere.autoscaling.describe_auto_scaling_groups()["AutoScalingGroups"] == []
    assert elsewhere.ec2.describe_instances()["Reservations"] == []


def test_a_stock_out_stands_in_the_activities_newest_first(aws: Aws) -> None:
    aws.world.arm([Fault(name="dry", kind=FaultKind.STOCK_OUT)])
    aws.world.groups.set_desired(aws.group.group_id, 4)
    newest, *older = aws.autoscaling.describe_scaling_activities(AutoScalingGroupName=aws.name)["Activities"]
    assert newest["StatusCode"] == "Failed"
    assert "InsufficientInstanceCapacity - We currently do not have sufficient p5.48xlarge" in newest["StatusMessage"]
    assert [item["StatusCode"] for item in older] == ["Successful"] * 3


def test_ec2_tells_when_an_instance_was_launched(aws: Aws) -> None:
    instances = aws.ec2.describe_instances(InstanceIds=aws.ids())["Reservations"]
    assert [item["Instances"][0]["LaunchTime"] for item in instances] == [aws.world.ground.origin] * 3
    assert instances[0]["Instances"][0]["State"]["Name"] == "running"


def test_ec2_refuses_ids_that_it_does_not_know_but_not_in_a_filter(aws: Aws) -> None:
    with pytest.raises(ClientError) as error:
        aws.ec2.describe_instances(InstanceIds=["i-0123456789abcdef0"])
    assert code_of(error) == ("InvalidInstanceID.NotFound", 400)
    wanted = [{"Name": "instance-id", "Values": ["i-0123456789abcdef0", aws.ids()[0]]}]
    assert len(aws.ec2.describe_instances(Filters=wanted)["Reservations"]) == 1  # type: ignore[arg-type]


def test_eks_ties_a_node_group_to_its_scaling_group(aws: Aws) -> None:
    cluster = aws.group.spec.cluster
    assert aws.eks.list_nodegroups(clusterName=cluster)["nodegroups"] == ["eks-h100"]
    shown = aws.eks.describe_nodegroup(clusterName=cluster, nodegroupName="eks-h100")["nodegroup"]
    assert shown["resources"]["autoScalingGroups"] == [{"name": aws.name}]
    assert shown["scalingConfig"]["desiredSize"] == 3


# ---- protection ----


def test_protection_is_all_or_none(aws: Aws) -> None:
    first, *_ = aws.ids()
    with pytest.raises(ClientError, match="is not part of Auto Scaling group") as error:
        aws.autoscaling.set_instance_protection(
            AutoScalingGroupName=aws.name, InstanceIds=[first, "i-0123456789abcdef0"], ProtectedFromScaleIn=True
        )
    assert code_of(error) == ("ValidationError", 400)
    assert not any(node.is_protected for node in aws.group.standing())


def test_a_leaving_instance_cannot_be_protected(aws: Aws) -> None:
    gone = aws.ids()[0]
    aws.world.groups.remove_instance(gone, decrement=True)
    with pytest.raises(ClientError, match="not in InService or EnteringStandby or Standby"):
        aws.autoscaling.set_instance_protection(
            AutoScalingGroupName=aws.name, InstanceIds=[gone], ProtectedFromScaleIn=True
        )


def test_no_more_than_fifty_ids_a_call(aws: Aws) -> None:
    with pytest.raises(ClientError, match="limited to 50"):
        aws.autoscaling.set_instance_protection(
            AutoScalingGroupName=aws.name, InstanceIds=["i-0"] * 51, ProtectedFromScaleIn=True
        )


def test_protection_in_an_unknown_group_is_refused(aws: Aws) -> None:
    with pytest.raises(ClientError, match="AutoScalingGroup name not found") as error:
        aws.autoscaling.set_instance_protection(
            AutoScalingGroupName="no", InstanceIds=aws.ids(), ProtectedFromScaleIn=True
        )
    assert code_of(error) == ("ValidationError", 400)


# ---- removal of exact instances ----


def test_an_exact_instance_goes_and_the_group_shrinks(aws: Aws) -> None:
    first, second, third = aws.ids()
    aws.world.groups.set_protection(aws.group.group_id, [second], on=True)
    activity = aws.autoscaling.terminate_instance_in_auto_scaling_group(
        InstanceId=second, ShouldDecrementDesiredCapacity=True
    )["Activity"]
    assert activity["Description"] == f"Terminating EC2 instance: {second}"
    assert (aws.ids(), aws.group.desired) == ([first, third], 2)
    shown = aws.autoscaling.describe_auto_scaling_instances(InstanceIds=[second])["AutoScalingInstances"]
    assert shown[0]["LifecycleState"] == "Terminating:Wait"


def test_without_decrement_another_comes_in_its_place(aws: Aws) -> None:
    first, *others = aws.ids()
    aws.autoscaling.terminate_instance_in_auto_scaling_group(InstanceId=first, ShouldDecrementDesiredCapacity=False)
    assert aws.group.desired == 3
    assert aws.ids()[:2] == others
    assert len(aws.ids()) == 3


def test_the_least_size_is_kept(aws: Aws) -> None:
    for instance_id in aws.ids()[:2]:
        aws.autoscaling.terminate_instance_in_auto_scaling_group(
            InstanceId=instance_id, ShouldDecrementDesiredCapacity=True
        )
    with pytest.raises(ClientError, match=r"desiredSize equals minSize \(1\)") as error:
        aws.autoscaling.terminate_instance_in_auto_scaling_group(
            InstanceId=aws.ids()[0], ShouldDecrementDesiredCapacity=True
        )
    assert code_of(error) == ("ValidationError", 400)


def test_nobody_ends_an_unknown_instance(aws: Aws) -> None:
    with pytest.raises(ClientError, match="Instance Id not found"):
        aws.autoscaling.terminate_instance_in_auto_scaling_group(
            InstanceId="i-0123456789abcdef0", ShouldDecrementDesiredCapacity=True
        )


# ---- the door ----


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        ("autoscaling", ("InvalidClientTokenId", 403)),
        ("ec2", ("AuthFailure", 401)),
        ("eks", ("UnrecognizedClientException", 403)),
    ],
)
def test_each_service_refuses_a_bad_key_in_its_own_words(aws: Aws, service: str, expected: tuple[str, int]) -> None:
    locked_out = Aws(aws.world, aws.group, a_session("invalid"), aws.url)
    calls: dict[str, Callable[[], object]] = {
        "autoscaling": lambda: locked_out.autoscaling.describe_auto_scaling_groups(),
        "ec2": lambda: locked_out.ec2.describe_instances(),
        "eks": lambda: locked_out.eks.list_nodegroups(clusterName="any"),
    }
    with pytest.raises(ClientError) as error:
        calls[service]()
    assert code_of(error) == expected


def test_eks_refuses_what_is_not_there(aws: Aws) -> None:
    with pytest.raises(ClientError) as error:
        aws.eks.describe_nodegroup(clusterName=aws.group.spec.cluster, nodegroupName="no")
    assert code_of(error) == ("ResourceNotFoundException", 404)
    with pytest.raises(ClientError, match="No cluster found"):
        aws.eks.list_nodegroups(clusterName="no")


def test_a_call_that_is_not_acted_out_says_so(aws: Aws) -> None:
    with pytest.raises(ClientError) as error:
        aws.autoscaling.describe_policies()
    assert code_of(error) == ("InvalidAction", 400)
    with pytest.raises(ClientError) as error:
        aws.ec2.describe_vpcs()
    assert code_of(error) == ("InvalidAction", 400)


def test_throttling_and_outages_have_the_real_codes(aws: Aws) -> None:
    aws.world.arm([Fault(name="slow", kind=FaultKind.THROTTLING, target=Target(pool="eks-h100"), count=1)])
    with pytest.raises(ClientError) as throttled:
        aws.autoscaling.describe_auto_scaling_groups()
    assert code_of(throttled) == ("Throttling", 400)
    aws.world.arm([Fault(name="down", kind=FaultKind.API_DOWN, target=Target(provider="aws"), count=1)])
    with pytest.raises(ClientError) as down:
        aws.autoscaling.describe_auto_scaling_groups()
    assert code_of(down) == ("ServiceUnavailable", 503)
    assert [fired.fault for fired in aws.world.ground.faults.log] == ["slow", "down"]


def test_a_fault_of_the_other_cloud_does_not_reach_here(aws: Aws) -> None:
    for kind in (FaultKind.THROTTLING, FaultKind.API_DOWN):
        aws.world.arm([Fault(name=kind, kind=kind, target=Target(provider="alicloud"))])
    assert len(aws.autoscaling.describe_auto_scaling_groups()["AutoScalingGroups"]) == 1
