"""Container Service (ACK), version 2015-12-15: node pools, and removal of exact nodes."""

from __future__ import annotations

import json
from typing import Any

from contract.catalog import Provider
from sim.wire import ess
from sim.wire.call import Call, strike_throttle
from sim.world import refusals
from sim.world.group_spec import Group
from sim.world.nodes import Phase
from sim.world.refusals import CloudRefusal

Json = dict[str, Any]


def describe_pools(call: Call) -> Json:
    """All pools of a cluster."""
    groups = _groups(call)
    strike_throttle(call, Provider.ALICLOUD, groups)
    return {"nodepools": [_pool(group) for group in groups]}


def describe_pool(call: Call) -> Json:
    """One pool."""
    group = _group(call)
    strike_throttle(call, Provider.ALICLOUD, [group])
    return _pool(group)


def remove_nodes(call: Call) -> Json:
    """Release exactly these nodes and lower the pool's expected number with them.

    Nodes that leave the pool and live on are not acted out: nobody would pay for them here.
    """
    group = _group(call)
    if not call.flag("release_node"):
        raise CloudRefusal("TwinUnsupported", "the twin only releases nodes it removes: give release_node=true")
    ids = _ids(call)
    for instance_id in ids:
        if all(node.instance_id != instance_id for node in group.standing()):
            raise CloudRefusal("ErrorNodeNotFound", f"node {instance_id} not found in nodepool {group.group_id}", 404)
    ess.remove(call, group, ids, decrement=True)
    task = call.world.ground.draws.hexadecimal(24, "task", group.group_id, len(group.activities))
    return {"request_id": task.upper(), "task_id": f"T-{task}"}


def _ids(call: Call) -> list[str]:
    text = call.text("instance_ids") or "[]"
    try:
        ids = [str(name) for name in json.loads(text)]
    except (TypeError, ValueError) as error:
        raise CloudRefusal("InvalidParameter", f"instance_ids {text} is no list") from error
    if not ids:
        raise CloudRefusal("InvalidParameter", "instance_ids is empty")
    return ids


def _groups(call: Call) -> list[Group]:
    cluster = call.path["cluster"]
    groups = [group for group in call.world.groups.groups(Provider.ALICLOUD) if group.spec.cluster == cluster]
    if not groups:
        raise CloudRefusal("ErrorClusterNotFound", f"cluster {cluster} not found", 404)
    return groups


def _group(call: Call) -> Group:
    name = call.path["pool"]
    for group in _groups(call):
        if group.group_id == name:
            return group
    raise refusals.no_such_group(Provider.ALICLOUD, name)


def _pool(group: Group) -> Json:
    spec, present = group.spec, group.present()
    serving = sum(node.phase in (Phase.JOINED, Phase.GPU_READY) for node in present)
    return {
        "nodepool_info": {
            "nodepool_id": group.group_id,
            "name": spec.name,
            "region_id": spec.region,
            "type": "ess",
            "is_default": False,
        },
        "scaling_group": {
            "scaling_group_id": group.scaling_group_id,
            "desired_size": group.desired,
            "instance_types": list(spec.instance_types),
            "spot_strategy": "SpotAsPriceGo" if spec.is_spot else "NoSpot",
        },
        "kubernetes_config": {
            "labels": [{"key": key, "value": value} for key, value in spec.labels.items()],
            "taints": [{"key": item.key, "value": item.value, "effect": item.effect.ack} for item in spec.taints],
        },
        "status": {
            "state": "deleting" if group.is_deleting else "active",
            "total_nodes": len(present),
            "serving_nodes": serving,
            "healthy_nodes": serving,
            "failed_nodes": sum(node.phase is Phase.FAILED for node in present),
            "removing_nodes": sum(node.is_leaving for node in present),
            "initial_nodes": sum(node.phase in (Phase.ORDERED, Phase.BOOTING) for node in present),
        },
    }
