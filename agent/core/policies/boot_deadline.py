"""Nodes that had their time to become GPU-ready and are not, and orders that the cloud did not fill.

Both cost money or block buying elsewhere: the broken node is given back by name, the unfilled order
is taken back and its pool backs off (I32, first cut of R4.7). Busy and ready nodes are never touched.
"""

from __future__ import annotations

from agent.core.decision import Action, Evidence, PoolChange, Proposal, Reason, ReasonCode
from agent.core.drain import shrink_by
from agent.core.memory import Memory
from agent.core.policy import Policy
from agent.core.snapshot import NodeView, PoolState, Snapshot, Unknown, is_overdue
from contract.units import Nodes

NAME = "boot_deadline"


def propose(snapshot: Snapshot, _policy: Policy, memory: Memory) -> Proposal:
    """Give back overdue nodes and unfilled orders, or hold."""
    overdue = _overdue_nodes(snapshot, memory)
    if overdue:
        names = ", ".join(node.name for node in overdue)
        reason = Reason(
            code=ReasonCode.OVERDUE_NODE,
            text=f"not GPU-ready within their pool's deadline: {names}",
        )
        return _shrink(reason, shrink_by(snapshot, overdue), _evidence(len(overdue), 0))
    unfilled = _unfilled_orders(snapshot, memory)
    if unfilled:
        text = "; ".join(_show(snapshot, change) for change in unfilled)
        reason = Reason(code=ReasonCode.UNFILLED_ORDER, text=text)
        return _shrink(reason, unfilled, _evidence(0, len(unfilled)))
    reason = Reason(
        code=ReasonCode.NOTHING_TO_DO,
        text="every node that was ordered is ready or still within its deadline",
    )
    return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=_evidence(0, 0))


def _shrink(reason: Reason, changes: tuple[PoolChange, ...], evidence: tuple[Evidence, ...]) -> Proposal:
    return Proposal(policy=NAME, action=Action.SHRINK, reason=reason, evidence=evidence, changes=changes)


def _overdue_nodes(snapshot: Snapshot, memory: Memory) -> tuple[NodeView, ...]:
    """Never ready in time. A node that was ready and fell silent may hold work: that is not for a clock to judge."""
    overdue = (
        node
        for state in snapshot.pools
        if state.is_settled
        for node in state.nodes()
        if node.instance_id not in memory.ready_at and is_overdue(node, snapshot.row(state), snapshot.taken_at)
    )
    return tuple(sorted(overdue, key=lambda node: (node.since, node.instance_id)))


def _unfilled_orders(snapshot: Snapshot, memory: Memory) -> tuple[PoolChange, ...]:
    changes = []
    for state in snapshot.pools:
        present = len(state.nodes())
        if (
            not isinstance(state.observed, Unknown)
            and present < state.configured
            and _has_given_up(snapshot, state, memory)
        ):
            changes.append(
                PoolChange(
                    pool=state.pool,
                    stack=state.stack,
                    before=state.configured,
                    after=Nodes(present),
                )
            )
    return tuple(changes)


def _has_given_up(snapshot: Snapshot, state: PoolState, memory: Memory) -> bool:
    """The cloud said no after our last order, or said nothing until the deadline."""
    if not state.is_settled:
        return False
    deadline = snapshot.row(state).boot.deadline
    ordered = memory.grown_at.get(state.pool)
    if ordered is None:
        # An order that is not ours, or that memory lost: only a fresh refusal speaks of it.
        return state.failure is not None and snapshot.taken_at - state.failure.at <= deadline
    if state.failure is not None and state.failure.at >= ordered:
        return True
    return snapshot.taken_at - ordered > deadline


def _show(snapshot: Snapshot, change: PoolChange) -> str:
    failure = snapshot.pool(change.pool).failure
    why = f"the cloud answered {failure.code}" if failure else "the cloud has not delivered within the deadline"
    return f"{change.pool}: {-change.delta} of {change.before} nodes are missing, {why}"


def _evidence(overdue: int, unfilled: int) -> tuple[Evidence, ...]:
    return (
        Evidence(
            name="nodes past their boot deadline",
            seen=str(overdue),
            wanted="one or more",
            met=overdue > 0,
        ),
        Evidence(
            name="pools with unfilled orders",
            seen=str(unfilled),
            wanted="one or more",
            met=unfilled > 0,
        ),
    )
