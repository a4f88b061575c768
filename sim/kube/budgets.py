"""Pod disruption budgets: how many of the pods that one selects may go now.

The arithmetic of the disruption controller for pods that a Job owns. Must not evict.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sim.kube import kinds, selectors
from sim.kube.cluster import Cluster
from sim.kube.shelf import Draft, Entry
from sim.kube.status import Json, bad_request


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """What a budget says now."""

    name: str
    expected: int
    healthy: int
    needed: int

    @property
    def left(self) -> int:
        """Disruptions allowed."""
        return max(0, self.healthy - self.needed)


def allowance(cluster: Cluster, entry: Entry) -> Allowance:
    """Count the pods that a budget selects."""
    spec = entry.draft.body["spec"]
    matchers = selectors.label_query(spec.get("selector") or {})
    pods = [
        pod
        for pod in cluster.shelf(kinds.POD).entries(entry.draft.namespace)
        if pod.draft.fields["status.phase"] in ("Running", "Pending") and selectors.matches(matchers, pod.draft.labels)
    ]
    healthy = sum(pod.draft.fields["status.phase"] == "Running" for pod in pods)
    return Allowance(name=entry.draft.name, expected=len(pods), healthy=healthy, needed=_needed(spec, len(pods)))


def covering(cluster: Cluster, namespace: str, labels: dict[str, str]) -> Iterator[Allowance]:
    """The budgets that select a pod with these labels."""
    for entry in cluster.shelf(kinds.BUDGET).entries(namespace):
        matchers = selectors.label_query(entry.draft.body["spec"].get("selector") or {})
        if selectors.matches(matchers, labels):
            yield allowance(cluster, entry)


def with_status(cluster: Cluster, entry: Entry) -> Json:
    """A budget as a client sees it, with its status of this moment."""
    now = allowance(cluster, entry)
    document: Json = json.loads(entry.data)
    document["status"] = {
        "currentHealthy": now.healthy,
        "desiredHealthy": now.needed,
        "disruptionsAllowed": now.left,
        "expectedPods": now.expected,
        "observedGeneration": 1,
    }
    return document


def check_budget(draft: Draft) -> None:
    """Refuse a budget whose bounds cannot be read, or that gives both."""
    spec = draft.body.get("spec") or {}
    if ("minAvailable" in spec) == ("maxUnavailable" in spec):
        raise bad_request("a budget needs exactly one of minAvailable and maxUnavailable")
    _needed(spec, 10)
    selectors.label_query(spec.get("selector") or {})


def _needed(spec: dict[str, Any], expected: int) -> int:
    if "minAvailable" in spec:
        return _share(spec["minAvailable"], expected)
    return max(0, expected - _share(spec["maxUnavailable"], expected))


def _share(bound: object, expected: int) -> int:
    if isinstance(bound, int) and not isinstance(bound, bool) and bound >= 0:
        return bound
    if isinstance(bound, str) and bound.endswith("%") and bound[:-1].isdigit():
        return math.ceil(int(bound[:-1]) * expected / 100)
    raise bad_request(f"{bound!r} is neither a whole number nor a percentage")
