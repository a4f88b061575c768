"""The kinds that the face serves, and how a path names one of their objects.

Paths and verbs follow the Kubernetes API conventions. Must not know what an object holds.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim.kube.status import not_found_path, not_served


@dataclass(frozen=True, slots=True)
class Kind:
    """One resource of the API."""

    plural: str
    kind: str
    group: str
    version: str
    is_namespaced: bool

    @property
    def api_version(self) -> str:
        """`v1` or `coordination.k8s.io/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def resource(self) -> str:
        """How error texts name it: `nodes`, `leases.coordination.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


NODE = Kind("nodes", "Node", "", "v1", False)
POD = Kind("pods", "Pod", "", "v1", True)
NAMESPACE = Kind("namespaces", "Namespace", "", "v1", False)
LEASE = Kind("leases", "Lease", "coordination.k8s.io", "v1", True)
BUDGET = Kind("poddisruptionbudgets", "PodDisruptionBudget", "policy", "v1", True)
KINDS = (NODE, POD, NAMESPACE, LEASE, BUDGET)
_BY_PATH = {(kind.api_version, kind.plural): kind for kind in KINDS}
_VERSIONS = {kind.api_version for kind in KINDS}


@dataclass(frozen=True, slots=True)
class Place:
    """What a path names: a kind, maybe within a namespace, maybe one object, maybe a part of it."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    part: str = ""


def parse_path(path: str) -> Place:
    """Read `api/v1/namespaces/x/pods/y/eviction`; raises ApiError 404 for what is not served."""
    parts = path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        version, rest = parts[1], parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        version, rest = f"{parts[1]}/{parts[2]}", parts[3:]
    else:
        raise not_found_path()
    if version not in _VERSIONS:
        raise not_found_path()
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    kind = _BY_PATH.get((version, rest[0]))
    if kind is None or (namespace and not kind.is_namespaced) or len(rest) > 3:
        raise not_served()
    if len(rest) > 1 and kind.is_namespaced and not namespace:
        raise not_served()
    name, part = (*rest[1:], "", "")[:2]
    return Place(kind, namespace, name, part)


def check_part(place: Place, *known: str) -> None:
    """Refuse a sub-resource that is not served."""
    if place.part and place.part not in known:
        raise not_served()
