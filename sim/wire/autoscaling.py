"""EC2 Auto Scaling: groups, instances, activities, protection, removal of exact instances.

Shapes from botocore's model, texts from its documentation and from public error reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from contract.catalog import Provider
from sim.cloud.aws_kinds import arn
from sim.wire.call import Call, strike_throttle
from sim.wire.xml_answers import Value
from sim.world.group_spec import Activity, ActivityKind, Group
from sim.world.nodes import Node, Phase
from sim.world.refusals import CloudRefusal

T = TypeVar("T")
Answer = dict[str, Value]
_MAX_IDS = 50
_MAX_RECORDS = 100
_IN_SERVICE = "InService"
# "Suspend and resume Amazon EC2 Auto Scaling processes", Types of processes.
_PROCESSES = (
    *("Launch", "Terminate", "AddToLoadBalancer", "AlarmNotification", "AZRebalance", "HealthCheck"),
    *("InstanceRefresh", "ReplaceUnhealthy", "ScheduledActions"),
)


def describe_groups(call: Call) -> Answer:
    """Unknown names are left out, as AWS does."""
    names = call.members("AutoScalingGroupNames.member")
    groups = [group for group in _groups(call) if not names or group.scaling_group_id in names]
    strike_throttle(call, Provider.AWS, groups)
    shown, token = _page(call, groups, _MAX_RECORDS)
    return {"AutoScalingGroups": [_group(call, group) for group in shown], "NextToken": token}


def describe_instances(call: Call) -> Answer:
    """Instances of any group; unknown ids are left out."""
    ids = _ids(call)
    pairs = [(group, node) for group in _groups(call) for node in group.present() if not ids or node.instance_id in ids]
    strike_throttle(call, Provider.AWS, [group for group, _ in pairs])
    shown, token = _page(call, pairs, _MAX_IDS)
    items: list[Value] = [{**_instance(node), "AutoScalingGroupName": group.scaling_group_id} for group, node in shown]
    return {"AutoScalingInstances": items, "NextToken": token}


def describe_activities(call: Call) -> Answer:
    """What a group tried, newest first."""
    group = _named_group(call)
    strike_throttle(call, Provider.AWS, [group])
    shown, token = _page(call, list(reversed(group.activities)), _MAX_RECORDS)
    return {"Activities": [_activity(call, group, activity) for activity in shown], "NextToken": token}


def set_protection(call: Call) -> Answer:
    """All or none: one instance that is gone or not in service fails the call."""
    group, ids = _named_group(call), _ids(call)
    present = {node.instance_id: node for node in group.present()}
    for instance_id in ids:
        node = present.get(instance_id)
        if node is None:
            raise _invalid(f"The instance {instance_id} is not part of Auto Scaling group {group.scaling_group_id}.")
        if lifecycle_state(node) != _IN_SERVICE:
            raise _invalid(f"The instance {instance_id} is not in InService or EnteringStandby or Standby.")
    call.world.groups.set_protection(group.group_id, ids, on=call.flag("ProtectedFromScaleIn"))
    return {}


def terminate_instance(call: Call) -> Answer:
    """End exactly this instance, protected or not."""
    instance_id, decrement = call.text("InstanceId"), call.flag("ShouldDecrementDesiredCapacity")
    group = next((group for group in _groups(call) if _holds(group, instance_id)), None)
    if group is None:
        raise _invalid(f"Instance Id not found - No managed instance found for instance ID: {instance_id}")
    if decrement and group.desired <= group.spec.minimum:
        raise _invalid(
            f"Currently, desiredSize equals minSize ({group.spec.minimum}). Terminating instance without replacement"
            " will violate group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or"
            " lower group's min size."
        )
    call.world.groups.remove_instance(instance_id, decrement=decrement)
    ends = [item for item in group.activities if (item.instance_id, item.kind) == (instance_id, ActivityKind.TERMINATE)]
    return {"Activity": _activity(call, group, ends[-1])}


def suspend(call: Call) -> Answer:
    """Stop a group's own processes; all of them when none is named."""
    return _set_suspended(call, on=True)


def resume(call: Call) -> Answer:
    """Let a group's own processes run again."""
    return _set_suspended(call, on=False)


ACTIONS: dict[str, Callable[[Call], Answer]] = {
    "DescribeAutoScalingGroups": describe_groups,
    "DescribeAutoScalingInstances": describe_instances,
    "DescribeScalingActivities": describe_activities,
    "SetInstanceProtection": set_protection,
    "ResumeProcesses": resume,
    "SuspendProcesses": suspend,
    "TerminateInstanceInAutoScalingGroup": terminate_instance,
}


def _set_suspended(call: Call, *, on: bool) -> Answer:
    group = _named_group(call)
    processes = call.members("ScalingProcesses.member") or list(_PROCESSES)
    if unknown := [process for process in processes if process not in _PROCESSES]:
        raise _invalid(f"Invalid process type: {unknown[0]}")
    call.world.groups.suspend(group.group_id, processes, on=on)
    return {}


def lifecycle_state(node: Node) -> str:
    """EKS hooks the end of its instances: they wait while their pods leave."""
    if node.is_leaving:
        return "Terminating:Wait"
    return "Pending" if node.phase is Phase.ORDERED else _IN_SERVICE


def _groups(call: Call) -> tuple[Group, ...]:
    return call.groups(Provider.AWS, call.credential.region)


def _named_group(call: Call) -> Group:
    name = call.text("AutoScalingGroupName")
    for group in _groups(call):
        if group.scaling_group_id == name:
            return group
    raise _invalid(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")


def _holds(group: Group, instance_id: str) -> bool:
    return any(node.instance_id == instance_id for node in group.standing())


def _ids(call: Call) -> list[str]:
    ids = call.members("InstanceIds.member")
    if len(ids) > _MAX_IDS:
        raise _invalid(f"The number of instance ids that may be passed in is limited to {_MAX_IDS}")
    return ids


def _page(call: Call, items: Sequence[T], largest: int) -> tuple[Sequence[T], str | None]:
    token, size = call.text("NextToken") or "0", call.number("MaxRecords", 50)
    if not token.isdigit():
        raise CloudRefusal("InvalidNextToken", "The NextToken value is not valid.")
    start, end = int(token), int(token) + min(size, largest)
    return items[start:end], str(end) if end < len(items) else None


def _group(call: Call, group: Group) -> Answer:
    spec, name = group.spec, group.scaling_group_id
    tags: list[Value] = [
        {
            "ResourceId": name,
            "ResourceType": "auto-scaling-group",
            "Key": key,
            "Value": value,
            "PropagateAtLaunch": True,
        }
        for key, value in (("eks:cluster-name", spec.cluster), ("eks:nodegroup-name", spec.name))
    ]
    return {
        "AutoScalingGroupName": name,
        "AutoScalingGroupARN": arn("autoscaling", spec.region, f"autoScalingGroup:*:autoScalingGroupName/{name}"),
        "MinSize": spec.minimum,
        "MaxSize": spec.maximum,
        "DesiredCapacity": group.desired,
        "DefaultCooldown": 300,
        "AvailabilityZones": list(spec.zones),
        "HealthCheckType": "EC2",
        "CreatedTime": call.world.ground.stamp(group.created_s),
        "Status": "Delete in progress" if group.is_deleting else None,
        "SuspendedProcesses": [{"ProcessName": process} for process in sorted(group.suspended)],
        "Instances": [_instance(node) for node in group.present()],
        "Tags": tags,
    }


def _instance(node: Node) -> Answer:
    return {
        "InstanceId": node.instance_id,
        "InstanceType": node.machine.name,
        "AvailabilityZone": node.zone,
        "LifecycleState": lifecycle_state(node),
        "HealthStatus": "Healthy",
        "ProtectedFromScaleIn": node.is_protected,
    }


def _activity(call: Call, group: Group, activity: Activity) -> Answer:
    digits, at = activity.activity_id, call.world.ground.stamp(activity.at_s)
    market = "Spot" if group.spec.is_spot else "On-Demand"
    reason = f"Could not launch {market} Instances. {activity.code} - {activity.message} Launching EC2 instance failed."
    is_launch = activity.kind is ActivityKind.LAUNCH
    description = f"{'Launching a new' if is_launch else 'Terminating'} EC2 instance"
    rest = f".  Status Reason: {reason}" if activity.is_failed else f": {activity.instance_id}"
    return {
        "ActivityId": "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])),
        "AutoScalingGroupName": group.scaling_group_id,
        "Description": description + rest,
        "Cause": f"At {at} a difference between desired and actual capacity was seen.",
        "StartTime": at,
        "EndTime": at,
        "StatusCode": "Failed" if activity.is_failed else "Successful",
        "StatusMessage": reason if activity.is_failed else None,
        "Progress": 100,
    }


def _invalid(message: str) -> CloudRefusal:
    return CloudRefusal("ValidationError", message)
