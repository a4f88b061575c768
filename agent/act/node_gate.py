"""Cordon, uncordon and look at one node: the writes on a cluster that a drain needs."""

from __future__ import annotations

from kubernetes.client import CoreV1Api

from agent.cluster_access import ClusterEndpoint, ask, connect, is_absent, list_all, pod_gpus
from agent.errors import SignalUnavailable

_CORDONED_BY = "spillway.dev/cordoned-by"


class KubernetesGate:
    """A NodeGate on the official client."""

    def __init__(self, endpoint: ClusterEndpoint) -> None:
        self._endpoint = endpoint
        self._api = CoreV1Api(connect(endpoint))

    def cordon(self, node: str) -> None:
        self._patch(node, cordoned=True)

    def uncordon(self, node: str) -> None:
        self._patch(node, cordoned=False)

    def busy_gpus(self, node: str) -> int:
        selector = f"spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed"
        pods = list_all(self._endpoint, self._api.list_pod_for_all_namespaces, field_selector=selector)
        return sum(pod_gpus(pod) for pod in pods)

    def _patch(self, node: str, *, cordoned: bool) -> None:
        body = {
            "metadata": {"annotations": {_CORDONED_BY: "spillway" if cordoned else None}},
            "spec": {"unschedulable": True if cordoned else None},
        }
        try:
            ask(self._endpoint, self._api.patch_node, node, body)
        except SignalUnavailable as error:
            if not is_absent(error):
                raise
