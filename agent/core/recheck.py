"""Think, then look again: a decision is checked against a newer snapshot before anything is touched.

A stale decision is a typed outcome, not a failure. Recheck only ever makes a plan smaller.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from agent.core.costing import change_cost
from agent.core.decision import Action, Decision, PoolChange
from agent.core.memory import Memory
from agent.core.policies import emergency, forced_shrink
from agent.core.policies.floors import active, ceiling, show_order
from agent.core.snapshot import NodePhase, OrderKind, Snapshot, Unknown
from contract.units import Nodes

# These two rent for tasks that wait; others rent for a window, a notice or a person, whatever the queue is.
_FOR_THE_QUEUE = ("queue_pressure", "wait_or_pay")


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The decision no longer fits the world; `why` is for the ledger and for people."""

    why: str


def recheck(decision: Decision, newer: Snapshot) -> Decision | Withdrawn:
    """The decision as far as it still holds on `newer`, or why it does not hold at all."""
    for change in decision.changes:
        state = newer.find(change.pool)
        if state is None:
            return Withdrawn(f"{change.pool} cannot be read now")
        if state.configured != change.before:
            return Withdrawn(f"{change.pool} was {change.before} when decided and is configured {state.configured} now")
        if unsettled := state.unsettled_because():
            return Withdrawn(f"{change.pool}: {unsettled}")
    if _is_void(decision, newer):
        return Withdrawn("the order that it carries out has ended or was cancelled")
    if decision.action is Action.GROW:
        return _recheck_growth(decision, newer)
    if decision.action is Action.SHRINK:
        return _recheck_shrink(decision, newer)
    if decision.action is Action.VACATE:
        return _recheck_vacate(decision, newer)
    return decision


def _is_void(decision: Decision, newer: Snapshot) -> bool:
    """Whether it does what a person ordered and orders no more."""
    if decision.chosen.policy == emergency.NAME:
        return not active(newer, OrderKind.EMERGENCY)
    if decision.chosen.policy != forced_shrink.NAME or decision.chosen.releases:
        return False
    return not (active(newer, OrderKind.VACATE) if decision.action is Action.VACATE else ceiling(newer))


def _recheck_vacate(decision: Decision, newer: Snapshot) -> Decision | Withdrawn:
    """Without the nodes on which other work, or none, is now: only what was named is moved."""
    chosen = decision.chosen
    memory = Memory(vacating={node.instance: node.pool for node in (*chosen.vacates, *chosen.releases)})
    wanted = {node.instance: set(node.tasks) for node in forced_shrink.to_vacate(newer, memory)}
    free = {node.instance_id for node in forced_shrink.releasable(newer, memory)}
    vacates = tuple(node for node in chosen.vacates if set(node.tasks) >= wanted.get(node.instance, set()) > set())
    releases = tuple(node for node in chosen.releases if node.instance in free)
    if not vacates and not releases:
        return Withdrawn("the nodes are gone, empty, have other work, or need not be emptied now")
    return replace(decision, chosen=replace(chosen, vacates=vacates, releases=releases))


def _recheck_growth(decision: Decision, newer: Snapshot) -> Decision | Withdrawn:
    if decision.chosen.policy in _FOR_THE_QUEUE:
        if isinstance(newer.queue, Unknown):
            return Withdrawn(f"the queue is unknown now: {newer.queue.why}")
        if not newer.queue:
            return Withdrawn("the queue emptied meanwhile")
    blind = [change.pool for change in decision.changes if isinstance(newer.pool(change.pool).observed, Unknown)]
    if blind:
        return Withdrawn(f"the nodes of {', '.join(blind)} cannot be read now")
    order = ceiling(newer)
    if order and newer.cloud_nodes() + sum(change.delta for change in decision.changes) > order.nodes:
        return Withdrawn(f"{show_order(order)} allows {order.nodes} nodes now")
    return decision


def _recheck_shrink(decision: Decision, newer: Snapshot) -> Decision | Withdrawn:
    changes = tuple(smaller for change in decision.changes if (smaller := _still_right(change, newer)).delta)
    if not changes:
        return Withdrawn("all that should go back came after all, or the nodes have work again or cannot be read")
    if changes == decision.changes:
        return decision
    return replace(
        decision,
        chosen=replace(decision.chosen, changes=changes),
        cost_per_hour=change_cost(newer.catalog, changes),
    )


def _still_right(change: PoolChange, newer: Snapshot) -> PoolChange:
    """Without the victims that are busy, unseen or unknown now; an order is taken back only as far as unfilled."""
    state = newer.pool(change.pool)
    if isinstance(state.observed, Unknown):
        return replace(change, victims=(), after=change.before)
    if not change.victims:
        came = sum(node.phase is not NodePhase.LEAVING for node in state.observed)
        return replace(change, after=Nodes(min(change.before, max(change.after, came))))
    free = {node.instance_id for node in state.observed if _may_leave(node.phase, node.gpus_used)}
    victims = tuple(victim for victim in change.victims if victim in free)
    return replace(change, victims=victims, after=Nodes(change.before - len(victims)))


def _may_leave(phase: NodePhase, gpus_used: int) -> bool:
    return phase not in (NodePhase.LEAVING, NodePhase.GONE) and gpus_used == 0
