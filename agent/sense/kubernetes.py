"""One Kubernetes cluster as a ClusterReader: its nodes, and the pods that ask for GPUs."""

from __future__ import annotations

from datetime import datetime

from kubernetes.client import CoreV1Api

from agent.cluster_access import ClusterEndpoint, Json, connect, gpu_count, list_all, pod_gpus, pod_task
from agent.core.readings import ClusterNode, ClusterPod, ClusterReading
from agent.errors import SignalUnavailable
from agent.sense.pod_work import pod_work
from agent.sense.reclaim_notice import reclaim_notice
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
        gpus=_gpus(status.get("allocatable") or {}, metadata.get("labels") or {}),
        instance_id=instance_id(spec.get("providerID") or ""),
        created_at=moment(metadata["creationTimestamp"]),
        reclaim=reclaim_notice(node),
    )


def _gpus(allocatable: Json, own: Json) -> Gpus:
    """Allocatable GPUs, but no more than cards: HAMi shows one card as many. A label alone is no GPU (I32)."""
    count, cards = gpu_count(allocatable), str(own.get(labels.PHYSICAL_GPUS, ""))
    return Gpus(min(count, int(cards)) if cards.isdecimal() and int(cards) else count)


def moment(text: str) -> datetime:
    """RFC 3339, always with its zone."""
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return at


def instance_id(provider_id: str) -> str:
    """The cloud's own id in a providerID: `aws:///zone/i-1` (EKS) or `region.i-1` (ACK)."""
    return provider_id.rpartition("/")[2] if "/" in provider_id else provider_id.partition(".")[2]


def _pod(pod: Json) -> ClusterPod:
    metadata, spec = pod["metadata"], pod["spec"]
    own, started = metadata.get("labels") or {}, (pod.get("status") or {}).get("startTime")
    return ClusterPod(
        name=metadata["name"],
        node=spec.get("nodeName") or None,
        gpus=Gpus(pod_gpus(pod)),
        task=pod_task(pod),
        department=own.get(labels.DEPARTMENT, "unknown"),
        gpu_memory=_gpu_memory(spec),
        wants=_wanted_labels(spec),
        preemptible=any(_tolerates_spot(item) for item in spec.get("tolerations") or ()),
        created_at=moment(metadata["creationTimestamp"]),
        work=pod_work(own, metadata.get("annotations") or {}),
        started_at=moment(started) if started else None,
        uid=metadata.get("uid", ""),
        owner=task_uid(metadata),
    )


def task_uid(metadata: Json) -> str:
    """What no other task ever has: the uid of the pod's Job, else the pod's own."""
    if (metadata.get("labels") or {}).get(labels.TASK):
        for owner in metadata.get("ownerReferences") or ():
            if owner.get("controller"):
                return str(owner["uid"])
    return str(metadata.get("uid", ""))


def _tolerates_spot(toleration: Json) -> bool:
    """A pod that tolerates the spot taint may be interrupted; one that tolerates everything says so too."""
    return toleration.get("key") == labels.PREEMPTIBLE_TAINT or (
        not toleration.get("key") and toleration.get("operator") == "Exists"
    )


def _wanted_labels(spec: Json) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Labels of ours that the pod insists on: its nodeSelector, and `In` of a required affinity with one term.

    Labels of others are not judged: whether a rented node will carry them is not in the catalogue.
    """
    wants: dict[str, tuple[str, ...]] = {
        str(key): (str(value),) for key, value in (spec.get("nodeSelector") or {}).items()
    }
    terms = _required_terms(spec)
    for expression in (terms[0].get("matchExpressions") or ()) if len(terms) == 1 else ():
        if expression.get("operator") == "In":
            wants[str(expression.get("key"))] = tuple(str(value) for value in expression.get("values") or ())
    return tuple(sorted((key, values) for key, values in wants.items() if key.startswith(labels.PREFIX)))


def _required_terms(spec: Json) -> list[Json]:
    affinity = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    required = affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or {}
    return list(required.get("nodeSelectorTerms") or ())


def _gpu_memory(spec: Json) -> GiB:
    """The least memory of one card that the pod's required node affinity asks for; 0 when it asks for none.

    Terms are alternatives, expressions within a term add up (Kubernetes' rule).
    """
    terms = _required_terms(spec)
    needs = (max((_least_gib(item) for item in term.get("matchExpressions") or ()), default=0) for term in terms)
    return GiB(min(needs, default=0))


def _least_gib(expression: Json) -> int:
    """`key Gt n` in whole GiB, for the labels of GPU Feature Discovery (MiB) and of the catalogue (GiB)."""
    unit = {labels.GPU_MEMORY_MIB: 1024, labels.GPU_MEMORY: 1}.get(str(expression.get("key")))
    values = list(expression.get("values") or [])
    if unit is None or expression.get("operator") != "Gt" or len(values) != 1 or not str(values[0]).isdecimal():
        return 0
    return -(-(int(values[0]) + 1) // unit)
