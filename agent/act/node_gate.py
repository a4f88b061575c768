"""Cordon, uncordon, look at and empty one node: the writes on a cluster that a drain needs."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from kubernetes.client import CoreV1Api

from agent.cluster_access import (
    ClusterEndpoint,
    Json,
    ask,
    connect,
    is_absent,
    is_kept_for_now,
    list_all,
    pod_gpus,
    pod_task,
)
from agent.errors import SignalUnavailable

_CORDONED_BY = "spillway.dev/cordoned-by"
_US = "spillway"


class KubernetesGate:
    """A NodeGate on the official client."""

    def __init__(self, endpoint: ClusterEndpoint) -> None:
        self._endpoint = endpoint
        self._api = CoreV1Api(connect(endpoint))

    def cordon(self, node: str) -> None:
        if not self._node(node).is_cordoned:
            self._patch(node, cordoned=True)

    def uncordon(self, node: str) -> None:
        # A person's cordon stays: only what carries our mark is ours to lift.
        if self._node(node).is_ours:
            self._patch(node, cordoned=False)

    def busy_gpus(self, node: str) -> int:
        return sum(pod_gpus(pod) for pod in self._pods(node))

    def evict(self, node: str, tasks: Collection[str]) -> tuple[str, ...]:
        mine = [pod for pod in self._pods(node) if pod_gpus(pod) and pod_task(pod) in tasks]
        return tuple(pod["metadata"]["name"] for pod in mine if not self._evict(pod["metadata"]))

    def _evict(self, metadata: Json) -> bool:
        """Whether the pod is going; one that a disruption budget keeps is asked for again at the next tick."""
        name, namespace = metadata["name"], metadata.get("namespace", "default")
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": namespace}}
        try:
            ask(self._endpoint, self._api.create_namespaced_pod_eviction, name, namespace, body)
        except SignalUnavailable as error:
            if is_kept_for_now(error):
                return False
            if not is_absent(error):
                raise
        return True

    def _pods(self, node: str) -> Iterator[Json]:
        selector = f"spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed"
        return list_all(self._endpoint, self._api.list_pod_for_all_namespaces, field_selector=selector)

    def _node(self, node: str) -> _Cordon:
        try:
            body = ask(self._endpoint, self._api.read_node, node)
        except SignalUnavailable as error:
            if is_absent(error):
                return _Cordon(is_cordoned=True, is_ours=False)
            raise
        annotations = (body.get("metadata") or {}).get("annotations") or {}
        cordoned = bool((body.get("spec") or {}).get("unschedulable"))
        return _Cordon(is_cordoned=cordoned, is_ours=annotations.get(_CORDONED_BY) == _US)

    def _patch(self, node: str, *, cordoned: bool) -> None:
        body = {
            "metadata": {"annotations": {_CORDONED_BY: _US if cordoned else None}},
            "spec": {"unschedulable": True if cordoned else None},
        }
        try:
            ask(self._endpoint, self._api.patch_node, node, body)
        except SignalUnavailable as error:
            if not is_absent(error):
                raise


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cordon:
    """A node's gate now; a node that is gone needs neither cordon nor its end."""

    is_cordoned: bool
    is_ours: bool
