"""The Alibaba faces of the twin as the official SDKs see them: exact removal, protection, the real codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from alibabacloud_cs20151215 import models as cs_models
from alibabacloud_cs20151215.client import Client as CsClient
from alibabacloud_ess20220222 import models
from alibabacloud_ess20220222.client import Client as EssClient
from alibabacloud_tea_openapi.exceptions import AlibabaCloudException
from alibabacloud_tea_openapi.utils_models import Config

from sim.world.faults import Fault, FaultKind, Target
from sim.world.group_spec import Group
from sim.world.world import World
from tests.sim.builders import a_spec, a_world
from tests.sim.wire_server import WireServer, serve

BOOTED_S = 900.0
REGION = "cn-shanghai"


@dataclass(frozen=True)
class Ali:
    """A world with one pool of three running instances, and clients of its products."""

    world: World
    group: Group
    ess: Any
    cs: Any

    @property
    def name(self) -> str:
        """The scaling group's id."""
        return self.group.scaling_group_id

    def ids(self) -> list[str]:
        """Instances that stand, oldest first."""
        return [node.instance_id for node in self.group.standing()]

    def instances(self, **more: object) -> list[Any]:
        """What ESS shows of the group."""
        request = models.DescribeScalingInstancesRequest(region_id=REGION, scaling_group_id=self.name, **more)
        shown: list[Any] = self.ess.describe_scaling_instances(request).body.scaling_instances
        return shown

    def protect(self, *ids: str, on: bool = True, group: str = "") -> None:
        """SetInstancesProtection."""
        request = models.SetInstancesProtectionRequest(
            scaling_group_id=group or self.name, instance_ids=list(ids), protected_from_scale_in=on
        )
        self.ess.set_instances_protection(request)

    def remove(self, *ids: str, **more: object) -> Any:
        """ESS RemoveInstances."""
        request = models.RemoveInstancesRequest(scaling_group_id=self.name, instance_ids=list(ids), **more)
        return self.ess.remove_instances(request).body

    def remove_nodes(self, *ids: str, release: bool = True, pool: str = "") -> Any:
        """CS RemoveNodePoolNodes."""
        request = cs_models.RemoveNodePoolNodesRequest(instance_ids=list(ids), release_node=release, drain_node=True)
        pool = pool or self.group.group_id
        return self.cs.remove_node_pool_nodes(self.group.spec.cluster, pool, request).body


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One socket for all twins of this file."""
    with serve() as started:
        yield started


def config(server: WireServer, key: str) -> Config:
    """How the SDKs reach the twin with this access key."""
    return Config(access_key_id=key, access_key_secret="any", region_id=REGION, endpoint=server.host, protocol="HTTP")


def show(server: WireServer, key: str = "twin") -> Ali:
    """Three running instances."""
    world = a_world()
    group = world.groups.create(a_spec("ack-a100", desired=3, minimum=1))
    world.advance_to(BOOTED_S)
    server.show(world)
    return Ali(world, group, EssClient(config(server, key)), CsClient(config(server, key)))


@pytest.fixture
def ali(server: WireServer) -> Ali:
    """Three running instances, good credentials."""
    return show(server)


def refusal(call: Callable[[], object]) -> tuple[str, int]:
    """The code and the HTTP status that the SDK saw."""
    with pytest.raises(AlibabaCloudException) as error:
        call()
    return error.value.code, error.value.status_code


# ---- reading ----


def test_instances_show_their_state_and_time(ali: Ali) -> None:
    shown = ali.instances()
    assert [item.instance_id for item in shown] == ali.ids()
    assert {item.lifecycle_state for item in shown} == {"InService"}
    assert {(item.creation_time, item.created_time) for item in shown} == {
        ("2026-11-30T00:00Z", "2026-11-30T00:00:00Z")
    }


def test_instances_come_in_pages_of_ten_by_default(ali: Ali) -> None:
    ali.world.groups.set_desired(ali.group.group_id, 10)
    assert len(ali.instances(page_size=4, page_number=3)) == 2
    assert len(ali.instances()) == 10


def test_unknown_instances_are_left_out(ali: Ali) -> None:
    first = ali.ids()[0]
    assert [item.instance_id for item in ali.instances(instance_ids=[first, "i-no"])] == [first]


def test_another_region_is_another_place(ali: Ali) -> None:
    request = models.DescribeScalingInstancesRequest(region_id="cn-beijing", scaling_group_id=ali.name)
    assert refusal(lambda: ali.ess.describe_scaling_instances(request)) == ("InvalidScalingGroupId.NotFound", 404)


def test_a_stock_out_stands_in_the_activities_newest_first(ali: Ali) -> None:
    ali.world.arm([Fault(name="dry", kind=FaultKind.STOCK_OUT)])
    ali.world.groups.set_desired(ali.group.group_id, 4)
    request = models.DescribeScalingActivitiesRequest(region_id=REGION, scaling_group_id=ali.name)
    newest, *older = ali.ess.describe_scaling_activities(request).body.scaling_activities
    assert (newest.status_code, newest.error_messages[0].code) == ("Failed", "OperationDenied.NoStock")
    assert newest.start_time == "2026-11-30T00:15Z"
    assert [item.status_code for item in older] == ["Successful"] * 3
    request.status_code = "Failed"
    assert len(ali.ess.describe_scaling_activities(request).body.scaling_activities) == 1


def test_cs_ties_a_pool_to_its_scaling_group(ali: Ali) -> None:
    cluster = ali.group.spec.cluster
    pools = ali.cs.describe_cluster_node_pools(cluster, cs_models.DescribeClusterNodePoolsRequest()).body.nodepools
    assert [pool.nodepool_info.nodepool_id for pool in pools] == [ali.group.group_id]
    detail = ali.cs.describe_cluster_node_pool_detail(cluster, ali.group.group_id).body
    assert detail.scaling_group.scaling_group_id == ali.name
    assert (detail.scaling_group.desired_size, detail.status.serving_nodes) == (3, 3)


# ---- protection ----


def test_protected_is_a_state(ali: Ali) -> None:
    first, *_ = ali.ids()
    ali.protect(first)
    assert [item.lifecycle_state for item in ali.instances()] == ["Protected", "InService", "InService"]
    ali.protect(first, on=False)
    assert {item.lifecycle_state for item in ali.instances()} == {"InService"}


def test_protection_is_all_or_none(ali: Ali) -> None:
    assert refusal(lambda: ali.protect(ali.ids()[0], "i-no")) == ("InvalidInstanceId.NotFound", 404)
    assert not any(node.is_protected for node in ali.group.standing())


def test_protection_has_its_bounds(ali: Ali) -> None:
    assert refusal(lambda: ali.protect(*["i-no"] * 21)) == ("InvalidParameter", 400)
    assert refusal(ali.protect) == ("MissingParameter", 400)
    assert refusal(lambda: ali.protect(*ali.ids(), group="asg-no")) == ("InvalidScalingGroupId.NotFound", 404)


# ---- removal of exact instances ----


def test_ess_removes_exact_instances_and_shrinks_the_group(ali: Ali) -> None:
    first, second, third = ali.ids()
    ali.protect(second)
    assert ali.remove(second).scaling_activity_id.startswith("asa-")
    assert (ali.ids(), ali.group.desired) == ([first, third], 2)
    assert [item.lifecycle_state for item in ali.instances(instance_ids=[second])] == ["Removing"]


def test_without_decrease_another_comes_in_its_place(ali: Ali) -> None:
    first, *others = ali.ids()
    ali.remove(first, decrease_desired_capacity=False)
    assert ali.ids()[:2] == others
    assert (len(ali.ids()), ali.group.desired) == (3, 3)


def test_ess_removes_nothing_when_one_is_unknown_unless_told_to(ali: Ali) -> None:
    first, *others = ali.ids()
    assert refusal(lambda: ali.remove(first, "i-no")) == ("InvalidInstanceId.NotFound", 404)
    assert len(ali.ids()) == 3
    body = ali.remove(first, "i-no", ignore_invalid_instance=True)
    assert [item.instance_id for item in body.ignored_instances] == ["i-no"]
    assert ali.ids() == others


def test_the_least_size_is_kept(ali: Ali) -> None:
    assert refusal(lambda: ali.remove(*ali.ids())) == ("IncorrectCapacity.MinSize", 400)
    assert len(ali.ids()) == 3


def test_cs_removes_exact_nodes_and_lowers_the_expected_number(ali: Ali) -> None:
    first, second, third = ali.ids()
    body = ali.remove_nodes(first, third)
    assert body.task_id.startswith("T-")
    assert (ali.ids(), ali.group.desired) == ([second], 1)


def test_cs_refuses_what_is_not_there(ali: Ali) -> None:
    assert refusal(lambda: ali.remove_nodes("i-no")) == ("ErrorNodeNotFound", 404)
    assert refusal(lambda: ali.remove_nodes(ali.ids()[0], pool="npno")) == ("ErrorNodePoolNotFound", 404)
    assert refusal(ali.remove_nodes) == ("InvalidParameter", 400)
    missing = cs_models.DescribeClusterNodePoolsRequest()
    assert refusal(lambda: ali.cs.describe_cluster_node_pools("cno", missing)) == ("ErrorClusterNotFound", 404)


def test_nodes_that_would_live_on_are_not_acted_out(ali: Ali) -> None:
    assert refusal(lambda: ali.remove_nodes(ali.ids()[0], release=False)) == ("TwinUnsupported", 400)


# ---- the door ----


def test_a_bad_key_is_refused(server: WireServer) -> None:
    assert refusal(show(server, "invalid").instances) == ("InvalidAccessKeyId.NotFound", 404)


def test_a_call_that_is_not_acted_out_says_so(ali: Ali) -> None:
    request = models.DescribeRegionsRequest()
    assert refusal(lambda: ali.ess.describe_regions(request)) == ("UnsupportedOperation", 400)


def test_throttling_and_outages_have_the_real_codes(ali: Ali) -> None:
    ali.world.arm([Fault(name="slow", kind=FaultKind.THROTTLING, target=Target(pool="ack-a100"), count=2)])
    assert refusal(ali.instances)[0] == "Throttling.User"
    assert refusal(lambda: ali.protect(ali.ids()[0]))[0] == "Throttling.User"
    ali.world.arm([Fault(name="down", kind=FaultKind.API_DOWN, target=Target(provider="alicloud"), count=1)])
    assert refusal(ali.instances) == ("ServiceUnavailable", 503)
    assert [fired.fault for fired in ali.world.ground.faults.log] == ["slow", "slow", "down"]


def test_a_fault_of_the_other_cloud_does_not_reach_here(ali: Ali) -> None:
    for kind in (FaultKind.THROTTLING, FaultKind.API_DOWN):
        ali.world.arm([Fault(name=kind, kind=kind, target=Target(provider="aws"))])
    assert len(ali.instances()) == 3
