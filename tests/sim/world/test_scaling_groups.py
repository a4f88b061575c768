"""Groups as the clouds run them: orders, sizes, names, refusals with the real codes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contract import labels
from contract.labels import TaintEffect
from sim.world.group_spec import ActivityKind
from sim.world.nodes import Phase, Taint
from sim.world.refusals import CloudRefusal
from tests.sim.builders import ROWS, a_job, a_spec, a_world

BOTH = pytest.mark.parametrize("pool", ["ack-a100", "eks-h100"])


def refusal_of(call: object, *arguments: object, **options: object) -> CloudRefusal:
    """The refusal that a call raises."""
    assert callable(call)
    with pytest.raises(CloudRefusal) as caught:
        call(*arguments, **options)
    return caught.value


@BOTH
def test_growing_orders_the_missing_nodes_over_all_zones(pool: str) -> None:
    world = a_world()
    group = world.groups.create(a_spec(pool, desired=1))
    world.groups.set_desired(group.group_id, 4)
    zones = [node.zone for node in world.groups.instances(group.group_id)]
    assert sorted(zones) == sorted(ROWS[pool].zones * 2)
    world.advance_to(3600.0)
    assert {node.phase for node in group.nodes} == {Phase.GPU_READY}


@BOTH
def test_setting_the_same_size_again_orders_nothing(pool: str) -> None:
    world = a_world()
    group = world.groups.create(a_spec(pool, desired=2))
    for _ in range(3):
        world.groups.set_desired(group.group_id, 2)
        world.advance_to(world.now_s + 30)
    assert len(group.nodes) == 2


def test_ids_are_stable_and_find_the_group() -> None:
    world = a_world()
    ack, eks = world.groups.create(a_spec("ack-a100")), world.groups.create(a_spec("eks-h100"))
    assert eks.group_id == "cloud-gpu-b-cluster:eks-h100"
    assert eks.scaling_group_id.startswith("eks-eks-h100-")
    assert ack.group_id.startswith("np")
    assert len(ack.group_id) == 34
    assert ack.scaling_group_id.startswith("asg-uf6")
    for group in (ack, eks):
        assert world.groups.group(group.group_id) is group
        assert world.groups.group(group.scaling_group_id) is group
        assert world.groups.find(group.spec.provider, group.spec.cluster, group.spec.name) is group
    assert world.groups.groups(eks.spec.provider) == (eks,)
    assert world.groups.groups(cluster="cloud-gpu-a-cluster") == (ack,)


@pytest.mark.parametrize(
    ("pool", "code"), [("ack-a100", "InvalidParameter.Name"), ("eks-h100", "ResourceInUseException")]
)
def test_second_group_of_one_name_is_refused(pool: str, code: str) -> None:
    world = a_world()
    world.groups.create(a_spec(pool))
    assert refusal_of(world.groups.create, a_spec(pool)).code == code
    world.groups.create(a_spec(pool, cluster="another-cluster"))


@pytest.mark.parametrize(
    ("pool", "desired", "code"),
    [
        ("ack-a100", 11, "IncorrectCapacity.MaxSize"),
        ("ack-a100", 0, "IncorrectCapacity.MinSize"),
        ("eks-h100", 11, "InvalidParameterException"),
        ("eks-h100", 0, "InvalidParameterException"),
    ],
)
def test_size_outside_the_groups_bounds_is_refused_and_changes_nothing(pool: str, desired: int, code: str) -> None:
    world = a_world()
    group = world.groups.create(a_spec(pool, minimum=1, desired=1))
    assert refusal_of(world.groups.set_desired, group.group_id, desired).code == code
    assert (group.desired, len(group.nodes)) == (1, 1)


@pytest.mark.parametrize(
    ("pool", "code"), [("ack-a100", "InvalidInstanceType.NotFound"), ("eks-h100", "InvalidParameterException")]
)
def test_machine_that_the_cloud_does_not_sell_is_refused(pool: str, code: str) -> None:
    assert refusal_of(a_world().groups.create, a_spec(pool, instance_types=("p9.huge",))).code == code


def test_group_without_its_label_is_priced_by_type_and_billing() -> None:
    world = a_world()
    assert world.groups.create(a_spec("ack-a100-spot", labels={})).row.pool == "ack-a100-spot"
    assert world.groups.create(a_spec("ack-a100", labels={})).row.pool == "ack-a100"
    other = a_spec("eks-h100", labels={}, instance_types=("p4d.24xlarge",))
    assert refusal_of(world.groups.create, other).code == "TwinUnpricedPool"


def test_label_of_another_clouds_row_does_not_price_a_group() -> None:
    mixed = a_spec("eks-h100", labels={labels.POOL: "ack-a100"})
    assert a_world().groups.create(mixed).row.pool == "eks-h100"


@BOTH
def test_unknown_groups_and_instances_are_refused_with_not_found(pool: str) -> None:
    world = a_world()
    group = world.groups.create(a_spec(pool, desired=1))
    stranger = world.groups.create(a_spec("ack-a100-spot", desired=1)).nodes[0].instance_id
    missing = {"ack-a100": ("np0", "InvalidInstanceId.NotFound"), "eks-h100": ("a:b", "ValidationError")}[pool]
    assert refusal_of(world.groups.group, missing[0]).http_status == 404
    protect = world.groups.set_protection
    assert refusal_of(protect, group.group_id, [stranger], on=True).code == missing[1]
    assert not group.nodes[0].is_protected


def test_protection_of_a_list_is_all_or_nothing() -> None:
    world = a_world()
    group = world.groups.create(a_spec(desired=2))
    ids = [node.instance_id for node in group.nodes]
    refusal_of(world.groups.set_protection, group.group_id, [ids[0], "i-unknown"], on=True)
    assert not any(node.is_protected for node in group.nodes)
    world.groups.set_protection(group.group_id, ids, on=True)
    assert all(node.is_protected for node in group.nodes)


@BOTH
def test_update_reaches_labels_and_taints_of_standing_nodes_and_keeps_the_rest(pool: str) -> None:
    world = a_world()
    group = world.groups.create(a_spec(pool, desired=1))
    world.advance_to(3600.0)
    node = group.nodes[0]
    node.taints.append(Taint("by-hand", "x", TaintEffect.NO_SCHEDULE))
    changed = dict(group.spec.labels) | {"team": "speech"}
    world.groups.update(group.group_id, replace(group.spec, labels=changed, taints=()))
    assert node.labels["team"] == "speech"
    assert node.labels["kubernetes.io/arch"] == "amd64"
    assert [taint.key for taint in node.taints] == ["by-hand"]
    assert len(group.nodes) == 1


def test_update_may_not_rename() -> None:
    world = a_world()
    group = world.groups.create(a_spec())
    with pytest.raises(ValueError, match="never change"):
        world.groups.update(group.group_id, replace(group.spec, name="other"))


@BOTH
def test_deleted_group_is_there_until_its_last_node_is_gone(pool: str) -> None:
    world = a_world()
    group = world.groups.create(a_spec(pool, desired=2))
    world.advance_to(1000.0)
    world.groups.delete(group.group_id)
    assert world.groups.group(group.group_id).is_deleting
    assert refusal_of(world.groups.set_desired, group.group_id, 3).http_status in (400, 409)
    assert refusal_of(world.groups.create, a_spec(pool)).http_status in (400, 409)
    world.advance_to(1100.0)
    assert refusal_of(world.groups.group, group.group_id).http_status == 404
    assert world.results().nodes_left == 0
    again = world.groups.create(a_spec(pool, desired=1))
    assert again.scaling_group_id != group.scaling_group_id


def test_empty_group_is_deleted_at_once() -> None:
    world = a_world()
    group = world.groups.create(a_spec())
    world.groups.delete(group.group_id)
    assert world.groups.groups() == ()


def test_exact_removal_takes_that_node_and_no_other() -> None:
    world = a_world()
    group = world.groups.create(a_spec(desired=3))
    world.advance_to(1000.0)
    victim = group.nodes[1]
    world.groups.remove_instance(victim.instance_id, decrement=True)
    world.advance_to(2000.0)
    assert victim.phase is Phase.GONE
    assert group.desired == 2
    assert set(group.present()) == set(group.nodes) - {victim}


def test_removal_without_decrement_is_replaced() -> None:
    world = a_world()
    group = world.groups.create(a_spec(desired=2))
    world.groups.remove_instance(group.nodes[0].instance_id, decrement=False)
    assert len(group.standing()) == 2
    assert len(group.nodes) == 3


@pytest.mark.parametrize(("pool", "code"), [("ack-a100", "IncorrectCapacity.MinSize"), ("eks-h100", "ValidationError")])
def test_removal_below_the_minimum_is_refused(pool: str, code: str) -> None:
    world = a_world()
    group = world.groups.create(a_spec(pool, minimum=1, desired=1))
    assert refusal_of(world.groups.remove_instance, group.nodes[0].instance_id, decrement=True).code == code


def test_removed_instance_cannot_be_removed_twice() -> None:
    world = a_world()
    node = world.groups.create(a_spec(desired=1)).nodes[0]
    world.groups.remove_instance(node.instance_id, decrement=True)
    for instance_id in (node.instance_id, "idc-a100-01"):
        refusal = refusal_of(world.groups.remove_instance, instance_id, decrement=True)
        assert refusal.code in ("InvalidInstanceId.NotFound", "ValidationError")


def test_activities_tell_what_was_tried() -> None:
    world = a_world()
    group = world.groups.create(a_spec(desired=2))
    world.groups.set_desired(group.group_id, 1)
    kinds = [activity.kind for activity in world.groups.activities(group.group_id)]
    assert kinds == [ActivityKind.LAUNCH, ActivityKind.LAUNCH, ActivityKind.TERMINATE]
    assert len({activity.activity_id for activity in group.activities}) == 3


def test_pool_grows_from_zero_the_same_way_every_time() -> None:
    """I33: nothing is learnt from a past node, so every cycle is like the first."""
    world = a_world([a_job("a"), a_job("b", submitted_s=4000.0)], local_nodes=0)
    group = world.groups.create(a_spec())
    for start in (0.0, 4000.0):
        world.advance_to(start)
        world.groups.set_desired(group.group_id, 1)
        world.advance_to(start + 1500.0)
        world.groups.set_desired(group.group_id, 0)
        world.advance_to(start + 1700.0)
    assert world.results().jobs_finished == 2
    assert len({node.machine for node in group.nodes}) == 1
