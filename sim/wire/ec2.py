"""EC2: DescribeInstances, by ids or by the filter instance-id."""

from __future__ import annotations

from contract.catalog import Provider
from sim.cloud.kinds import ACCOUNT
from sim.wire.call import Call, strike_throttle
from sim.wire.xml_answers import Value
from sim.world.nodes import Node, Phase
from sim.world.refusals import CloudRefusal

Answer = dict[str, Value]
_STATES = {Phase.ORDERED: (0, "pending"), Phase.GONE: (48, "terminated")}
_RUNNING = (16, "running")
# EC2 goes on to show a terminated instance for about an hour.
_SHOWN_AFTER_END_S = 3600.0


def describe_instances(call: Call) -> Answer:
    """Ids that do not exist fail the call; in a filter they are left out."""
    strike_throttle(call, Provider.AWS, ())
    nodes = {node.instance_id: node for node in call.world.fleet.all_time if _is_shown(call, node)}
    ids = call.members("InstanceId")
    missing = [instance_id for instance_id in ids if instance_id not in nodes]
    if missing:
        word = "ID" if len(missing) == 1 else "IDs"
        end = "does not exist" if len(missing) == 1 else "do not exist"
        raise CloudRefusal("InvalidInstanceID.NotFound", f"The instance {word} '{', '.join(missing)}' {end}")
    wanted = set(ids) or _filtered(call)
    shown = [node for name, node in nodes.items() if not wanted or name in wanted]
    return {"reservationSet": [_reservation(call, node) for node in shown]}


def _is_shown(call: Call, node: Node) -> bool:
    if node.row.provider is not Provider.AWS or node.row.region != call.credential.region:
        return False
    ended_s = node.entered_s.get(Phase.GONE)
    return ended_s is None or call.world.now_s - ended_s < _SHOWN_AFTER_END_S


def _filtered(call: Call) -> set[str]:
    number = 1
    while name := call.text(f"Filter.{number}.Name"):
        if name != "instance-id":
            raise CloudRefusal("InvalidParameterValue", f"The twin does not know the filter '{name}'")
        if values := call.members(f"Filter.{number}.Value"):
            return set(values)
        number += 1
    return set()


def _reservation(call: Call, node: Node) -> Value:
    return {
        "reservationId": f"r-0{node.instance_id[3:]}",
        "ownerId": ACCOUNT,
        "instancesSet": [_instance(call, node)],
    }


def _instance(call: Call, node: Node) -> Value:
    code, name = _STATES.get(node.phase, _RUNNING)
    return {
        "instanceId": node.instance_id,
        "instanceType": node.machine.name,
        "instanceState": {"code": code, "name": name},
        "instanceLifecycle": "spot" if node.is_spot else None,
        "launchTime": call.world.ground.stamp(node.ordered_s),
        "placement": {"availabilityZone": node.zone},
        "privateDnsName": node.name,
        "privateIpAddress": node.address,
    }
