"""What the API servers say about themselves: version, groups, resources; enough for kubectl.

Must list exactly what kinds.py serves.
"""

from __future__ import annotations

from sim.kube.kinds import BUDGET, KINDS, LEASE, NAMESPACE, NODE, POD, Kind
from sim.kube.status import Json

_VERBS = {
    NODE: ["delete", "get", "list", "patch", "update", "watch"],
    POD: ["delete", "get", "list", "watch"],
    NAMESPACE: ["get", "list", "watch"],
    LEASE: ["create", "delete", "get", "list", "patch", "update", "watch"],
    BUDGET: ["create", "delete", "get", "list", "patch", "update", "watch"],
}


def version() -> Json:
    """The answer of /version."""
    return {
        "major": "1",
        "minor": "35",
        "gitVersion": "v1.35.2+spillway-twin",
        "gitCommit": "0" * 40,
        "gitTreeState": "clean",
        "buildDate": "2026-11-01T00:00:00Z",
        "goVersion": "go1.26.8",
        "compiler": "gc",
        "platform": "linux/amd64",
    }


def discovery(path: str) -> Json | None:
    """The answer of a discovery path; None when the path is not one."""
    parts = path.strip("/").split("/")
    if parts == ["api"]:
        return {"kind": "APIVersions", "versions": ["v1"]}
    if parts == ["apis"]:
        names = sorted({kind.group for kind in KINDS if kind.group})
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_group(name) for name in names]}
    if parts == ["api", "v1"]:
        return _resources("v1")
    if len(parts) == 3 and parts[0] == "apis":
        wanted = f"{parts[1]}/{parts[2]}"
        return _resources(wanted) if any(kind.api_version == wanted for kind in KINDS) else None
    return None


def _group(name: str) -> Json:
    versions = [{"groupVersion": f"{name}/v1", "version": "v1"}]
    return {"name": name, "versions": versions, "preferredVersion": versions[0]}


def _resources(group_version: str) -> Json:
    rows = [_resource(kind) for kind in KINDS if kind.api_version == group_version]
    if group_version == "v1":
        eviction = {"group": "policy", "version": "v1", "kind": "Eviction", "verbs": ["create"]}
        rows.append({"name": "pods/eviction", "singularName": "", "namespaced": True, **eviction})
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": rows}


def _resource(kind: Kind) -> Json:
    return {
        "name": kind.plural,
        "singularName": kind.kind.lower(),
        "namespaced": kind.is_namespaced,
        "kind": kind.kind,
        "verbs": _VERBS[kind],
    }
