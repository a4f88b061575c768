"""Requests that the official client does not send: paths, methods, bodies; and discovery."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from typing import Any

import pytest

from sim.kube.kinds import KINDS
from tests.sim.serving import Served

Answer = tuple[int, Any]


class Wire:
    """One HTTP connection to a cluster."""

    def __init__(self, live: Served, cluster: str) -> None:
        self._connection = http.client.HTTPConnection(live.url.removeprefix("http://"), timeout=5)
        self._path = f"/k8s/{cluster}"
        self._token = live.twin.tokens[cluster]

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Status and body, as JSON where it is JSON."""
        payload = body if isinstance(body, bytes) else json.dumps(body).encode() if body is not None else None
        sent = {"Authorization": f"Bearer {self._token}"} | {
            key.replace("_", "-"): value for key, value in headers.items()
        }
        self._connection.request(method, self._path + path, payload, sent)
        response = self._connection.getresponse()
        text = response.read().decode()
        return response.status, json.loads(text) if text.startswith("{") else text

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()


@pytest.fixture
def wire(live: Served) -> Iterator[Wire]:
    """A connection to the home cluster."""
    wire = Wire(live, "idc-gpu")
    yield wire
    wire.close()


NODE = "/api/v1/nodes/idc-a100-01"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.mark.parametrize("probe", ["/readyz", "/livez", "/healthz"])
def test_probes_need_no_token(wire: Wire, probe: str) -> None:
    assert wire.ask("GET", probe, Authorization="") == (200, "ok")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/apis/apps/v1/deployments", str),
        ("/api/v2/nodes", str),
        ("/nonsense", str),
        ("/api/v1/secrets", dict),
        ("/api/v1/namespaces/default/nodes", dict),
        ("/api/v1/pods/some-pod", dict),
        ("/api/v1/nodes/idc-a100-01/proxy/metrics", dict),
    ],
)
def test_what_is_not_served_is_404_in_the_real_shape(wire: Wire, path: str, kind: type) -> None:
    status, body = wire.ask("GET", path)
    assert status == 404
    assert isinstance(body, kind)
    if isinstance(body, dict):
        assert body["reason"] == "NotFound"


def test_unknown_cluster_is_404(live: Served) -> None:
    connection = http.client.HTTPConnection(live.url.removeprefix("http://"), timeout=5)
    connection.request("GET", "/k8s/other/api/v1/nodes")
    assert connection.getresponse().status == 404
    connection.close()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/nodes"),
        ("DELETE", "/api/v1/nodes"),
        ("PATCH", "/api/v1/namespaces/research/pods/x"),
        ("POST", "/api/v1/namespaces"),
        ("PUT", LEASES),
        ("POST", LEASES + "/one"),
        ("DELETE", "/api/v1/namespaces/research/pods/x/eviction"),
    ],
)
def test_verb_that_is_not_served_is_405(wire: Wire, method: str, path: str) -> None:
    status, body = wire.ask(method, path, {})
    assert (status, body["reason"]) == (405, "MethodNotAllowed")


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"{not json", "application/merge-patch+json"),
        ([], "application/merge-patch+json"),
        ({}, "application/json-patch+json"),
        ([{"op": "jump", "path": "/spec"}], "application/json-patch+json"),
        ([{"op": "remove", "path": "/spec/ghost"}], "application/json-patch+json"),
        ([{"op": "test", "path": "/kind", "value": "Pod"}], "application/json-patch+json"),
        ({"metadata": {"name": "other"}}, "application/merge-patch+json"),
    ],
)
def test_patch_that_makes_no_sense_is_400(wire: Wire, body: object, kind: str) -> None:
    status, answer = wire.ask("PATCH", NODE, body, Content_Type=kind)
    assert (status, answer["reason"]) == (400, "BadRequest")


def test_server_side_apply_is_refused_not_ignored(wire: Wire) -> None:
    status, answer = wire.ask("PATCH", NODE, {}, Content_Type="application/apply-patch+yaml")
    assert (status, answer["reason"]) == (415, "UnsupportedMediaType")


@pytest.mark.parametrize(
    "query", ["?limit=x", "?labelSelector=a%3D%3D%3Db,,%28", "?fieldSelector=nonsense", "?continue=zzz&limit=1"]
)
def test_query_that_cannot_be_read_is_400(wire: Wire, query: str) -> None:
    assert wire.ask("GET", "/api/v1/nodes" + query)[0] == 400


def test_page_of_a_list_that_changed_is_expired(wire: Wire) -> None:
    _, page = wire.ask("GET", "/api/v1/nodes?limit=1")
    merge = "application/merge-patch+json"
    wire.ask("PATCH", NODE, {"metadata": {"annotations": {"a": "b"}}}, Content_Type=merge)
    status, answer = wire.ask("GET", f"/api/v1/nodes?limit=1&continue={page['metadata']['continue']}")
    assert (status, answer["reason"]) == (410, "Expired")


@pytest.mark.parametrize(
    "body",
    [
        {"metadata": {"name": "Bad_Name"}, "spec": {}},
        {"kind": "Pod", "metadata": {"name": "x"}},
        {"metadata": {"name": "x", "namespace": "elsewhere"}},
        {"metadata": {"name": "x"}, "spec": {"leaseTransitions": -1}},
        [],
    ],
)
def test_lease_that_is_not_one_is_refused(wire: Wire, body: object) -> None:
    assert wire.ask("POST", LEASES, body)[0] in (400, 422)
    assert wire.ask("GET", LEASES)[1]["items"] == []


def test_put_makes_a_lease_that_is_not_there(wire: Wire) -> None:
    status, made = wire.ask("PUT", LEASES + "/fresh", {"metadata": {"name": "fresh"}, "spec": {}})
    assert status == 201
    assert made["metadata"]["namespace"] == "default"


def test_delete_with_a_stale_precondition_is_a_conflict(wire: Wire) -> None:
    _, lease = wire.ask("POST", LEASES, {"metadata": {"name": "one"}, "spec": {"holderIdentity": "a"}})
    options = {"preconditions": {"resourceVersion": "1"}}
    assert wire.ask("DELETE", LEASES + "/one", options)[0] == 409
    options = {"preconditions": {"resourceVersion": lease["metadata"]["resourceVersion"]}}
    assert wire.ask("DELETE", LEASES + "/one", options)[0] == 200


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"minAvailable": 1, "maxUnavailable": 1},
        {"minAvailable": "half"},
        {"minAvailable": -1},
        {"minAvailable": 1, "selector": {"matchExpressions": [{"key": "a", "operator": "Like"}]}},
    ],
)
def test_budget_that_cannot_be_read_is_refused(wire: Wire, spec: object) -> None:
    path = "/apis/policy/v1/namespaces/research/poddisruptionbudgets"
    assert wire.ask("POST", path, {"metadata": {"name": "b"}, "spec": spec})[0] == 400


@pytest.mark.parametrize("grace", [-1, "soon", True])
def test_bad_grace_time_is_refused(live: Served, wire: Wire, grace: object) -> None:
    pod = live.twin.world.dispatcher.runs[0].pods[0]
    path = f"/api/v1/namespaces/research/pods/{pod.name}"
    assert wire.ask("DELETE", path, {"gracePeriodSeconds": grace})[0] == 400
    assert pod.deletion is None


def test_waiting_pod_that_is_deleted_is_made_anew(live: Served, wire: Wire) -> None:
    pod = live.twin.world.dispatcher.runs[1].pods[0]
    assert wire.ask("DELETE", f"/api/v1/namespaces/research/pods/{pod.name}")[0] == 200
    names = {item["metadata"]["name"] for item in wire.ask("GET", "/api/v1/pods")[1]["items"]}
    assert pod.name not in names
    assert live.twin.world.dispatcher.runs[1].pods[0].name in names
    assert live.twin.world.results().restarts == 0


def test_eviction_under_another_name_is_refused(live: Served, wire: Wire) -> None:
    pod = live.twin.world.dispatcher.runs[0].pods[0]
    path = f"/api/v1/namespaces/research/pods/{pod.name}/eviction"
    assert wire.ask("POST", path, {"metadata": {"name": "other"}})[0] == 400
    assert wire.ask("GET", path)[0] == 404


def test_namespaces_follow_the_departments(wire: Wire) -> None:
    names = {item["metadata"]["name"] for item in wire.ask("GET", "/api/v1/namespaces")[1]["items"]}
    assert {"default", "research", "gpu-operator"} <= names


def test_discovery_lists_what_is_served(wire: Wire) -> None:
    found = set()
    groups = [group["preferredVersion"]["groupVersion"] for group in wire.ask("GET", "/apis")[1]["groups"]]
    assert wire.ask("GET", "/api")[1]["versions"] == ["v1"]
    for path in ("/api/v1", *(f"/apis/{group}" for group in groups)):
        document = wire.ask("GET", path)[1]
        found |= {(document["groupVersion"], row["name"]) for row in document["resources"]}
    assert {(kind.api_version, kind.plural) for kind in KINDS} <= found
    assert ("v1", "pods/eviction") in found
    assert wire.ask("GET", "/apis/apps/v1")[0] == 404
