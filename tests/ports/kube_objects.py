"""A Kubernetes API with hand-made objects, and the reader of the agent on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.cluster_access import ClusterEndpoint
from agent.core.readings import ClusterNode, ClusterPod, ClusterReading
from agent.sense.kubernetes import KubernetesReader
from tests.sim.wire_server import WireServer

CREATED = "2026-11-30T08:00:00Z"
Json = dict[str, Any]


def reader_of(server: WireServer, *, path: str = "", token: str = "t") -> KubernetesReader:
    return KubernetesReader(
        ClusterEndpoint(name="idc-gpu", url=f"{server.url}{path}", token=lambda: token, timeout_seconds=5)
    )


class Objects:
    """A Kubernetes API with exactly these objects, in pages."""

    def __init__(self, nodes: Sequence[object] = (), pods: Sequence[object] = (), page: int = 500) -> None:
        self._kinds = {"nodes": nodes, "pods": pods}
        self._page = page
        self.queries: list[Mapping[str, str]] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        self.queries.append(dict(request.query_params))
        items = self._kinds[request.url.path.rpartition("/")[2]]
        start = int(request.query_params.get("continue", "0"))
        end = start + min(self._page, int(request.query_params.get("limit", "500")))
        metadata = {"continue": str(end)} if end < len(items) else {}
        await JSONResponse({"kind": "List", "metadata": metadata, "items": list(items[start:end])})(
            scope, receive, send
        )


def a_node(name: str = "n-1", *, gpus: object = "8", provider: str = "", ready: str = "True", **spec: object) -> Json:
    """A v1 Node; `gpus` None leaves the resource out."""
    allocatable = {"cpu": "96"} if gpus is None else {"cpu": "96", "nvidia.com/gpu": gpus}
    return {
        "metadata": {"name": name, "labels": {"a": "b"}, "creationTimestamp": CREATED},
        "spec": ({"providerID": provider} if provider else {}) | spec,
        "status": {"allocatable": allocatable, "conditions": [{"type": "Ready", "status": ready}]},
    }


def a_pod(
    name: str = "p-1", *, gpus: object = "8", node: str = "", namespace: str = "research", **spec: object
) -> Json:
    """A v1 Pod of one container."""
    return {
        "metadata": {"name": name, "namespace": namespace, "creationTimestamp": CREATED},
        "spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}}}]}
        | ({"nodeName": node} if node else {})
        | spec,
        "status": {"phase": "Pending"},
    }


def read(server: WireServer, app: ASGIApp) -> ClusterReading:
    server.app = app
    return reader_of(server).read()


def one_node(server: WireServer, node: object) -> ClusterNode:
    [found] = read(server, Objects(nodes=[node])).nodes
    return found


def one_pod(server: WireServer, pod: object) -> ClusterPod:
    [found] = read(server, Objects(pods=[pod])).pods
    return found
