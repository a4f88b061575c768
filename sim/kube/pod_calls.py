"""Delete and evict pods. An eviction asks the disruption budgets first; a deletion does not."""

from __future__ import annotations

from typing import Any

from sim.kube import budgets, kinds
from sim.kube import status as says
from sim.kube.calls import Answer, Call, answer
from sim.kube.shelf import Entry
from sim.world.dispatch import GRACE_S
from sim.world.workload import PodPhase
from sim.world.world import World


def delete_pod(call: Call, world: World) -> Answer:
    """End a pod after its grace time, whatever the budgets say."""
    entry = _entry(call)
    options = call.document() if call.payload.strip() else {}
    _end(call, world, _grace(call, options))
    shelf = call.cluster.shelf(kinds.POD)
    current = shelf.find(call.place.namespace, call.place.name) or entry
    return Answer(shelf.single(current))


def evict_pod(call: Call, world: World) -> Answer:
    """End a pod unless a disruption budget forbids it."""
    entry = _entry(call)
    document = call.document()
    name = (document.get("metadata") or {}).get("name", call.place.name)
    if name != call.place.name:
        raise says.bad_request("name in URL does not match name in Eviction object")
    if entry.draft.fields["status.phase"] == PodPhase.RUNNING:
        for budget in budgets.covering(call.cluster, call.place.namespace, dict(entry.draft.labels)):
            if budget.left < 1:
                raise says.over_budget(budget.name, budget.needed, budget.healthy)
    _end(call, world, _grace(call, document.get("deleteOptions") or {}))
    return answer(says.success(code=201), 201)


def _entry(call: Call) -> Entry:
    return call.cluster.shelf(kinds.POD).get(call.place.namespace, call.place.name)


def _end(call: Call, world: World, grace_s: float) -> None:
    pod = call.cluster.pod(call.place.namespace, call.place.name)
    # A pod of a DaemonSet comes back at once under the same conditions: nothing to do.
    if pod is not None:
        world.dispatcher.evict(pod, grace_s)
        world.advance_to(world.now_s)


def _grace(call: Call, options: dict[str, Any]) -> float:
    asked: Any = call.number("gracePeriodSeconds")
    if asked is None:
        asked = options.get("gracePeriodSeconds")
    if asked is None:
        return GRACE_S
    if isinstance(asked, bool) or not isinstance(asked, int) or asked < 0:
        raise says.bad_request(f"invalid gracePeriodSeconds: {asked}")
    return float(asked)
