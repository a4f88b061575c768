"""One Kubernetes cluster as a ClusterReader: its nodes, and the pods that ask for GPUs."""

from __future__ import annotations

from datetime import datetime

from kubernetes.client import CoreV1Api

from agent.cluster_access import ClusterEndpoint, Json, connect, gpu_count, list_all, pod_gpus
from agent.core.readings import ClusterNode, ClusterPod, ClusterReading
from agent.errors import SignalUnavailable
from contract import labels
from contract.units import GiB, Gpus

_LIVE = "status.phase!=Succeeded,status.phase!=Failed"


class KubernetesReader:
    """Reads one cluster with two list calls."""

    def __init__(self, endpoint: ClusterEndpoint) -> None:
        self._endpoint = endpoint
        self._api = CoreV1Api(connect(endpoint))

    def read(self) -> ClusterReading:
        nodes = list_all(self._endpoint, self._api.list_node)
        pods = list_all(self._endpoint, self._api.list_pod_for_all_namespaces, field_selector=_LIVE)
        try:
            return ClusterReading(
                cluster=self._endpoint.name,
                nodes=tuple(_node(node) for node in nodes),
                pods=tuple(_pod(pod) for pod in pods if pod_gpus(pod)),
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            hint = "check what serves this address: it does not answer like a Kubernetes API"
            target = f"cluster {self._endpoint.name}"
            raise SignalUnavailable(
                f"an object lacks what it must have: {error!r}", target=target, hint=hint
            ) from error


def _node(node: Json) -> ClusterNode:
    metadata, spec, status = node["metadata"], node.get("spec") or {}, node.get("status") or {}
    conditions = {item["type"]: item["status"] for item in status.get("conditions") or ()}
    return ClusterNode(
        name=metadata["name"],
        labels=metadata.get("labels") or {},
        is_ready=conditions.get("Ready") == "True",
        is_cordoned=bool(spec.get("unschedulable")),
        gpus=Gpus(gpu_count(status.get("allocatable") or {})),
        instance_id=instance_id(spec.get("providerID") or ""),
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
    )


def instance_id(provider_id: str) -> str:
    """The cloud's own id in a providerID: `aws:///zone/i-1` (EKS) or `region.i-1` (ACK)."""
    return provider_id.rpartition("/")[2] if "/" in provider_id else provider_id.partition(".")[2]


def _pod(pod: Json) -> ClusterPod:
    metadata = pod["metadata"]
    own = metadata.get("labels") or {}
    memory = own.get(labels.GPU_MEMORY, "0")
    return ClusterPod(
        name=metadata["name"],
        node=pod["spec"].get("nodeName") or None,
        gpus=Gpus(pod_gpus(pod)),
        task=own.get(labels.TASK) or metadata["name"],
        department=own.get(labels.DEPARTMENT, "unknown"),
        gpu_memory=GiB(int(memory) if memory.isdigit() else 0),
        preemptible=own.get(labels.PREEMPTIBLE) == "true",
        created_at=datetime.fromisoformat(metadata["creationTimestamp"]),
    )
