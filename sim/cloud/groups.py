"""Node groups and pools for the plugins: their calls become calls of the world's scaling groups.

Only translation between the resource's properties and a GroupSpec; the rules of groups stand in
sim.world.scaling_groups.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from contract.catalog import Provider
from contract.labels import TaintEffect
from sim.cloud import alicloud_kinds, aws_kinds, refusals
from sim.cloud.store import Properties, Resource, Store
from sim.world.group_spec import Group, GroupSpec
from sim.world.nodes import Taint
from sim.world.refusals import CloudRefusal
from sim.world.scaling_groups import ScalingGroups

_EKS_EFFECTS = {effect.eks: effect for effect in TaintEffect}
_ACK_EFFECTS = {effect.ack: effect for effect in TaintEffect}


@dataclass(frozen=True, slots=True)
class GroupKind:
    """How one cloud's node groups read and write."""

    type_name: str
    provider: Provider
    missing_code: str
    what: str


EKS = GroupKind(aws_kinds.NODE_GROUP, Provider.AWS, "ResourceNotFoundException", "node group")
ACK = GroupKind(alicloud_kinds.NODE_POOL, Provider.ALICLOUD, "ErrorNodePoolNotFound", "node pool")
GROUP_KINDS = {kind.type_name: kind for kind in (EKS, ACK)}


def create(groups: ScalingGroups, store: Store, resource: Resource) -> None:
    """Make the group and fill in the resource's id and outputs."""
    kind = GROUP_KINDS[resource.kind]
    spec = _spec(kind, store, resource)
    group = groups.create(spec)
    resource.id = group.group_id if kind is EKS else f"{spec.cluster}:{group.group_id}"
    resource.outputs = _outputs(kind, group, resource)


def update(groups: ScalingGroups, store: Store, resource: Resource, inputs: Properties) -> None:
    """Put the new description in place.

    The size travels only when it changed, as the real providers send it (HasChange of desired_size and
    scaling_config): a change of labels must not push an old size back over what somebody scaled.
    """
    kind = GROUP_KINDS[resource.kind]
    wanted = Resource(kind=resource.kind, id=resource.id, region=resource.region, inputs=inputs, outputs={})
    spec = _spec(kind, store, wanted)
    if spec.desired == _spec(kind, store, resource).desired:
        spec = replace(spec, desired=groups.group(_group_id(resource.id)).desired)
    group = groups.update(_group_id(resource.id), spec)
    resource.inputs = inputs
    resource.outputs = _outputs(kind, group, resource)


def delete(groups: ScalingGroups, resource_id: str) -> bool:
    """Take the group away; whether it is gone already or still ends its last nodes."""
    try:
        groups.delete(_group_id(resource_id))
    except CloudRefusal as refusal:
        if refusal.http_status == 404:
            return True
        raise
    return not exists(groups, resource_id)


def exists(groups: ScalingGroups, resource_id: str) -> bool:
    """Whether the group is there, those being deleted included."""
    return find(groups, resource_id) is not None


def find(groups: ScalingGroups, resource_id: str) -> Group | None:
    """The living group behind a resource."""
    own_id = _group_id(resource_id)
    return next((group for group in groups.groups() if group.group_id == own_id), None)


def show(group: Group, resource: Resource) -> None:
    """Bring the resource's inputs and outputs up to what the cloud has now: others scale too."""
    kind = GROUP_KINDS[resource.kind]
    if kind is EKS:
        scaling = {**resource.inputs.get("scalingConfig", {}), "desiredSize": group.desired}
        resource.inputs = {**resource.inputs, "scalingConfig": scaling}
    else:
        resource.inputs = {**resource.inputs, "desiredSize": str(group.desired)}
    resource.outputs = _outputs(kind, group, resource)


def _group_id(resource_id: str) -> str:
    """EKS' id is cluster:name in both places; ACK's resource id has the cluster before the pool's."""
    head, _, tail = resource_id.partition(":")
    return tail if head.startswith("c") and tail.startswith("np") and len(head) == 33 else resource_id


def _outputs(kind: GroupKind, group: Group, resource: Resource) -> Properties:
    if kind is ACK:
        return {
            "nodePoolId": group.group_id,
            "scalingGroupId": group.scaling_group_id,
            "vpcId": "",
        }
    rest = f"nodegroup/{group.spec.cluster}/{group.spec.name}/{group.scaling_group_id[-36:]}"
    return {
        "arn": aws_kinds.arn("eks", resource.region, rest),
        "status": "DELETING" if group.is_deleting else "ACTIVE",
        "resources": [
            {
                "autoscalingGroups": [{"name": group.scaling_group_id}],
                "remoteAccessSecurityGroupId": "",
            }
        ],
        "nodeGroupNamePrefix": "",
    }


def _spec(kind: GroupKind, store: Store, resource: Resource) -> GroupSpec:
    return _eks_spec(store, resource) if kind is EKS else _ack_spec(store, resource)


def _eks_spec(store: Store, resource: Resource) -> GroupSpec:
    inputs = resource.inputs
    cluster = str(inputs["clusterName"])
    if store.find(aws_kinds.CLUSTER, cluster) is None:
        raise CloudRefusal("ResourceNotFoundException", f"No cluster found for name: {cluster}.", 404)
    role = str(inputs["nodeRoleArn"])
    if not any(item.outputs["arn"] == role for item in store.of_kind(aws_kinds.ROLE)):
        raise CloudRefusal("InvalidParameterException", f"The role {role} cannot be found")
    scaling = inputs["scalingConfig"]
    return GroupSpec(
        provider=Provider.AWS,
        cluster=cluster,
        name=str(inputs["nodeGroupName"]),
        region=resource.region,
        zones=_zones(store, aws_kinds.SUBNET, inputs["subnetIds"], "availabilityZone"),
        instance_types=tuple(inputs.get("instanceTypes") or ("t3.medium",)),
        is_spot=inputs.get("capacityType") == "SPOT",
        minimum=int(scaling["minSize"]),
        maximum=int(scaling["maxSize"]),
        desired=int(scaling["desiredSize"]),
        labels=dict(inputs.get("labels") or {}),
        taints=tuple(_taint(item, _EKS_EFFECTS) for item in inputs.get("taints") or ()),
    )


def _ack_spec(store: Store, resource: Resource) -> GroupSpec:
    inputs = resource.inputs
    cluster = str(inputs["clusterId"])
    if store.find(alicloud_kinds.CLUSTER, cluster) is None:
        raise CloudRefusal("ErrorClusterNotFound", f"cluster {cluster} not found", 404)
    scaling = inputs.get("scalingConfig") or {}
    return GroupSpec(
        provider=Provider.ALICLOUD,
        cluster=cluster,
        name=str(inputs.get("nodePoolName") or inputs.get("name")),
        region=resource.region,
        zones=_zones(store, alicloud_kinds.SWITCH, inputs["vswitchIds"], "zoneId"),
        instance_types=tuple(inputs.get("instanceTypes") or ()),
        is_spot=inputs.get("spotStrategy", "NoSpot") != "NoSpot",
        minimum=int(scaling.get("minSize", 0)),
        maximum=int(scaling.get("maxSize", 1000)),
        desired=int(inputs.get("desiredSize") or 0),
        labels={item["key"]: item.get("value", "") for item in inputs.get("labels") or ()},
        taints=tuple(_taint(item, _ACK_EFFECTS) for item in inputs.get("taints") or ()),
    )


def _zones(store: Store, kind: str, subnet_ids: list[str], name: str) -> tuple[str, ...]:
    zones = []
    for subnet_id in subnet_ids:
        subnet = store.find(kind, subnet_id)
        if subnet is None:
            code = "InvalidSubnetID.NotFound" if kind == aws_kinds.SUBNET else "InvalidVSwitchId.NotFound"
            raise refusals.not_found(code, "subnet ID", subnet_id)
        zones.append(str(subnet.inputs[name]))
    return tuple(dict.fromkeys(zones))


def _taint(item: Properties, effects: dict[str, TaintEffect]) -> Taint:
    effect = effects.get(str(item.get("effect")))
    if effect is None:
        allowed = ", ".join(effects)
        raise CloudRefusal(
            "InvalidParameterException" if effects is _EKS_EFFECTS else "InvalidParameter.Taints",
            f"taint effect {item.get('effect')!r} is not one of {allowed}",
        )
    return Taint(str(item["key"]), str(item.get("value", "")), effect)
