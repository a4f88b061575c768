"""The HTTP door of the Kubernetes faces: token, faults, path, verb; then the call of that kind.

Mounted at /k8s; the first part of the path names the cluster. Must not know what an object means.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from sim.kube import kinds, node_calls, pod_calls, reads, stored_calls
from sim.kube import status as says
from sim.kube.calls import Answer, Call
from sim.kube.cluster import Cluster, Clusters
from sim.kube.discovery import discovery, version
from sim.kube.kinds import Kind, parse_path
from sim.kube.status import ApiError
from sim.kube.watches import watch
from sim.world.faults import FaultKind, Target
from sim.world.twin import Twin
from sim.world.world import World

Handler = Callable[[Call, World], Answer]
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
_PROBES = ("readyz", "livez", "healthz")
_STORED: dict[str, Handler] = {
    "POST": lambda call, _: stored_calls.create(call),
    "PUT": lambda call, _: stored_calls.put(call),
    "PATCH": lambda call, _: stored_calls.patch(call),
    "DELETE": lambda call, _: stored_calls.delete(call),
}
_WRITES: dict[Kind, dict[str, Handler]] = {
    kinds.NODE: {
        "PATCH": node_calls.patch_node,
        "PUT": node_calls.replace_node,
        "DELETE": node_calls.delete_node,
    },
    kinds.POD: {"DELETE": pod_calls.delete_pod},
    kinds.LEASE: _STORED,
    kinds.BUDGET: _STORED,
    kinds.NAMESPACE: {},
}


class KubeFace:
    """All API servers of a twin."""

    def __init__(self, twin: Twin) -> None:
        self._twin = twin
        self._clusters = Clusters(twin.world)

    def routes(self) -> list[Route]:
        """Routes to mount."""
        return [Route("/k8s/{cluster}/{path:path}", self._answer, methods=_METHODS)]

    async def _answer(self, request: Request) -> Response:
        payload = await request.body()
        try:
            return self._dispatch(request, payload)
        except ApiError as error:
            return _error(error)

    def _dispatch(self, request: Request, payload: bytes) -> Response:
        self._twin.catch_up()
        name, path = request.path_params["cluster"], request.path_params["path"].strip("/")
        cluster = self._clusters.get(name)
        if cluster is None:
            raise says.not_found_path()
        self._strike_faults(name, request)
        if path in _PROBES:
            return PlainTextResponse("ok")
        self._authenticate(request, name)
        if path == "version":
            return _json(version())
        if (found := discovery(path)) is not None:
            return _json(found)
        return self._serve(self._read(request, cluster, path, payload))

    def _read(self, request: Request, cluster: Cluster, path: str, payload: bytes) -> Call:
        return Call(
            cluster=cluster,
            method=request.method,
            place=parse_path(path),
            query=dict(request.query_params),
            content_type=request.headers.get("content-type", ""),
            payload=payload,
        )

    def _serve(self, call: Call) -> Response:
        if call.method == "GET":
            if call.flag("watch"):
                return StreamingResponse(watch(call, self._twin), media_type="application/json")
            return _respond(_read_call(call))
        return _respond(self._write(call))

    def _write(self, call: Call) -> Answer:
        place = call.place
        kinds.check_part(place, *(("eviction",) if place.kind is kinds.POD else ()))
        if place.part == "eviction":
            if call.method != "POST":
                raise says.not_allowed()
            return pod_calls.evict_pod(call, self._twin.world)
        handler = _WRITES[place.kind].get(call.method)
        if handler is None or bool(place.name) == (call.method == "POST"):
            raise says.not_allowed()
        return handler(call, self._twin.world)

    def _authenticate(self, request: Request, cluster: str) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or token.strip() != self._twin.tokens[cluster]:
            raise says.unauthorized()

    def _strike_faults(self, cluster: str, request: Request) -> None:
        faults, now_s = self._twin.world.ground.faults, self._twin.world.now_s
        target, detail = Target(cluster=cluster), f"{request.method} {request.url.path}"
        if fault := faults.strike(FaultKind.API_DOWN, target, now_s, detail):
            if fault.mode == "reset":
                request.scope["twin.abort"]()
            raise says.unavailable()
        if faults.strike(FaultKind.API_THROTTLED, target, now_s, detail):
            raise says.too_many_requests()


def _read_call(call: Call) -> Answer:
    kinds.check_part(call.place)
    if call.place.kind is kinds.BUDGET:
        return stored_calls.get_budget(call) if call.place.name else stored_calls.list_budgets(call, reads.chosen(call))
    return reads.get_one(call) if call.place.name else reads.get_list(call)


def _respond(answer: Answer) -> Response:
    headers = dict(answer.headers)
    return Response(answer.body, answer.code, headers, media_type="application/json")


def _json(document: says.Json) -> Response:
    return Response(json.dumps(document), media_type="application/json")


def _error(error: ApiError) -> Response:
    if not error.reason:
        return PlainTextResponse(error.message + "\n", error.code)
    return Response(json.dumps(error.body), error.code, error.headers, media_type="application/json")
