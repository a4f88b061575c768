"""A node as its API server shows it: v1 Node, with the shapes of EKS, ACK and on-prem nodes.

Before the driver is up a node is Ready and shows no GPU at all. Must not change the world.
"""

from __future__ import annotations

from contract.catalog import Provider
from contract.labels import ACK_SPOT_CONDITION, GPU_RESOURCE, TaintEffect
from sim.kube.status import Json
from sim.world.ground import Ground
from sim.world.nodes import Node, Phase, Taint
from sim.world.spot import NOTICE_S

CORDON_TAINT = "node.kubernetes.io/unschedulable"
_KUBELET = {
    Provider.AWS: ("v1.35.2-eks-3025e55", "Amazon Linux 2023.9.20261019", "6.12.46-66.121.amzn2023.x86_64"),
    Provider.ALICLOUD: ("v1.35.2-aliyun.1", "Alibaba Cloud Linux 3.2104 U12", "5.10.134-19.1.al8.x86_64"),
    Provider.ONPREM: ("v1.35.2", "Ubuntu 24.04.3 LTS", "6.8.0-85-generic"),
}


def node_spec(node: Node) -> Json:
    """The spec: what the cloud set and what clients may edit."""
    spec: Json = {"providerID": node.provider_id}
    taints = [_taint(taint) for taint in node.taints]
    if node.is_unschedulable:
        spec["unschedulable"] = True
        taints.append(_taint(Taint(CORDON_TAINT, "", TaintEffect.NO_SCHEDULE)))
    if taints:
        spec["taints"] = taints
    return spec


def node_status(node: Node, ground: Ground) -> Json:
    """Capacity, conditions, addresses and the node's own description."""
    machine = node.machine
    shown = {
        "cpu": str(machine.vcpus),
        "ephemeral-storage": "209702892Ki",
        "memory": f"{machine.memory_gib}Gi",
        "pods": "110",
    }
    allocatable = dict(shown, cpu=f"{machine.vcpus * 1000 - 250}m", memory=f"{machine.memory_gib * 1024 - 1536}Mi")
    if has_gpus(node):
        shown[GPU_RESOURCE] = allocatable[GPU_RESOURCE] = str(machine.gpus)
    return {
        "capacity": shown,
        "allocatable": allocatable,
        "conditions": _conditions(node, ground),
        "addresses": [
            {"type": "InternalIP", "address": node.address},
            {"type": "Hostname", "address": node.name},
        ],
        "nodeInfo": _node_info(node, ground),
    }


def has_gpus(node: Node) -> bool:
    """Whether the device plugin has told the kubelet of the GPUs."""
    return Phase.GPU_READY in node.entered_s


def _taint(taint: Taint) -> Json:
    shown = {"key": taint.key, "effect": taint.effect.value}
    return shown | {"value": taint.value} if taint.value else shown


def _conditions(node: Node, ground: Ground) -> list[Json]:
    since = ground.stamp(node.entered_s.get(Phase.JOINED, node.ordered_s))
    rows = [
        ("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID"),
        ("Ready", "True", "KubeletReady"),
    ]
    if node.row.provider is Provider.ALICLOUD:
        # The node problem detector of ACK shows a coming reclaim as this condition.
        ends = node.reclaim_s is not None
        reason = "InstanceToBeTerminated" if ends else "InstanceNotToBeTerminated"
        rows.append((ACK_SPOT_CONDITION, str(ends), reason))
    notice = ground.stamp(node.reclaim_s - NOTICE_S[node.row.provider]) if node.reclaim_s is not None else since
    return [
        {
            "type": kind,
            "status": status,
            "reason": reason,
            "lastTransitionTime": notice if kind == ACK_SPOT_CONDITION else since,
        }
        for kind, status, reason in rows
    ]


def _node_info(node: Node, ground: Ground) -> Json:
    kubelet, system, kernel = _KUBELET[node.row.provider]
    digits = ground.draws.hexadecimal(32, "machine", node.instance_id)
    return {
        "architecture": "amd64",
        "bootID": digits,
        "containerRuntimeVersion": "containerd://2.1.5",
        "kernelVersion": kernel,
        "kubeProxyVersion": "",
        "kubeletVersion": kubelet,
        "machineID": digits,
        "operatingSystem": "linux",
        "osImage": system,
        "systemUUID": digits,
    }
