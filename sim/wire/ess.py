"""ESS, version 2022-02-22: instances, activities, protection, removal of exact instances.

Shapes from the SDK's model classes and the API pages; error codes from the tables of those pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from contract.catalog import Provider
from sim.wire.call import Call, strike_throttle
from sim.world import refusals
from sim.world.group_spec import Activity, ActivityKind, Group
from sim.world.nodes import Node, Phase
from sim.world.refusals import CloudRefusal

T = TypeVar("T")
Json = dict[str, Any]
_MAX_IDS = 20
_MAX_INSTANCES = 100
_MAX_ACTIVITIES = 50


def describe_instances(call: Call) -> Json:
    """Instances of one group, or of all of the region; unknown ids are left out."""
    groups = [_group(call)] if call.text("ScalingGroupId") else _groups(call)
    strike_throttle(call, Provider.ALICLOUD, groups)
    ids = call.members("InstanceIds")
    pairs = [(group, node) for group in groups for node in group.present() if not ids or node.instance_id in ids]
    shown = _page(call, pairs, _MAX_INSTANCES)
    return {
        "TotalCount": len(pairs),
        "TotalSpotCount": sum(node.is_spot for _, node in pairs),
        "PageNumber": call.number("PageNumber", 1),
        "PageSize": len(shown),
        "ScalingInstances": [_instance(call, group, node) for group, node in shown],
    }


def describe_activities(call: Call) -> Json:
    """What a group tried, newest first."""
    group = _group(call)
    strike_throttle(call, Provider.ALICLOUD, [group])
    status = call.text("StatusCode")
    activities = [item for item in reversed(group.activities) if status in ("", _status(item))]
    shown = _page(call, activities, _MAX_ACTIVITIES)
    return {
        "TotalCount": len(activities),
        "PageNumber": call.number("PageNumber", 1),
        "PageSize": len(shown),
        "ScalingActivities": [_activity(call, group, item) for item in shown],
    }


def set_protection(call: Call) -> Json:
    """All or none; the world refuses an instance that is not, or no longer, of the group."""
    _need(call, "ProtectedFromScaleIn")
    group = _group(call)
    call.world.groups.set_protection(group.group_id, _ids(call), on=call.flag("ProtectedFromScaleIn"))
    return {}


def remove_instances(call: Call) -> Json:
    """End exactly these instances, protected or not."""
    group, ids = _group(call), _ids(call)
    standing = {node.instance_id for node in group.standing()}
    unknown = [name for name in ids if name not in standing]
    if unknown and not call.flag("IgnoreInvalidInstance"):
        raise refusals.no_such_instance(Provider.ALICLOUD, unknown[0])
    going = [name for name in ids if name in standing]
    decrement = call.flag("DecreaseDesiredCapacity", default=True)
    remove(call, group, going, decrement=decrement)
    ignored = [{"InstanceId": name, "Code": "InvalidInstanceId.NotFound"} for name in unknown]
    return {"ScalingActivityId": _activity_id(group.activities[-1]), "IgnoredInstances": ignored}


def remove(call: Call, group: Group, instance_ids: Sequence[str], *, decrement: bool) -> None:
    """All or none, within the group's least size."""
    left = group.desired - len(instance_ids)
    if decrement and left < group.spec.minimum:
        raise refusals.outside_bounds(Provider.ALICLOUD, left, group.spec.minimum, group.spec.maximum)
    for instance_id in instance_ids:
        call.world.groups.remove_instance(instance_id, decrement=decrement)


ACTIONS: dict[str, Callable[[Call], Json]] = {
    "DescribeScalingInstances": describe_instances,
    "DescribeScalingActivities": describe_activities,
    "SetInstancesProtection": set_protection,
    "RemoveInstances": remove_instances,
}


def lifecycle_state(node: Node) -> str:
    """Protection is a state of its own here."""
    if node.is_leaving:
        return "Removing"
    if node.is_protected:
        return "Protected"
    return "Pending" if node.phase is Phase.ORDERED else "InService"


def _groups(call: Call) -> tuple[Group, ...]:
    # SetInstancesProtection and RemoveInstances need no region: the endpoint is the region's.
    region = call.text("RegionId")
    return tuple(group for group in call.world.groups.groups(Provider.ALICLOUD) if region in ("", group.spec.region))


def _group(call: Call) -> Group:
    name = _need(call, "ScalingGroupId")
    for group in _groups(call):
        if group.scaling_group_id == name:
            return group
    raise CloudRefusal("InvalidScalingGroupId.NotFound", "The specified scaling group does not exist.", 404)


def _need(call: Call, name: str) -> str:
    value = call.text(name)
    if not value:
        message = f'The input parameter "{name}" that is mandatory for processing this request is not supplied.'
        raise CloudRefusal("MissingParameter", message)
    return value


def _ids(call: Call) -> list[str]:
    ids = call.members("InstanceIds")
    if not ids:
        _need(call, "InstanceIds")
    if len(ids) > _MAX_IDS:
        raise CloudRefusal("InvalidParameter", "The specified value of parameter InstanceIds is not valid.")
    return ids


def _page(call: Call, items: Sequence[T], largest: int) -> Sequence[T]:
    size = min(call.number("PageSize", 10), largest)
    start = (max(1, call.number("PageNumber", 1)) - 1) * size
    return items[start : start + size]


def _instance(call: Call, group: Group, node: Node) -> Json:
    ground = call.world.ground
    return {
        "InstanceId": node.instance_id,
        "ScalingGroupId": group.scaling_group_id,
        "LifecycleState": lifecycle_state(node),
        "HealthStatus": "Healthy",
        "CreationType": "AutoCreated",
        "CreationTime": _minute(call, node.ordered_s),
        "CreatedTime": ground.stamp(node.ordered_s),
        "PrivateIpAddress": node.address,
        "ZoneId": node.zone,
        "SpotStrategy": "SpotAsPriceGo" if node.is_spot else "NoSpot",
        "WarmupState": "NoNeedWarmup",
        "WeightedCapacity": 1,
    }


def _activity(call: Call, group: Group, activity: Activity) -> Json:
    is_launch, at = activity.kind is ActivityKind.LAUNCH, _minute(call, activity.at_s)
    verb, done = ("Add", "added") if is_launch else ("Remove", "removed")
    shown: Json = {
        "ScalingActivityId": _activity_id(activity),
        "ScalingGroupId": group.scaling_group_id,
        "Description": f'{verb} "1" ECS instance',
        "Cause": "The actual capacity of the scaling group differs from its desired capacity.",
        "StartTime": at,
        "EndTime": at,
        "Progress": 100,
        "StatusCode": _status(activity),
        "StatusMessage": f'"1" ECS instances are {done}',
        "ScalingInstanceNumber": 0 if activity.is_failed else 1,
    }
    if not activity.is_failed:
        return shown
    what = "Fail to create instances into scaling group."
    return shown | {
        "StatusMessage": what,
        "ErrorCode": activity.code,
        "ErrorMessage": activity.message,
        "ErrorMessages": [{"Code": activity.code, "Message": activity.message, "Description": what}],
    }


def _status(activity: Activity) -> str:
    return "Failed" if activity.is_failed else "Successful"


def _activity_id(activity: Activity) -> str:
    return f"asa-{activity.activity_id[:20]}"


def _minute(call: Call, at_s: float) -> str:
    """ESS' usual precision."""
    return call.world.ground.time(at_s).strftime("%Y-%m-%dT%H:%MZ")
