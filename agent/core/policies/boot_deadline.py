"""Machines that are paid for and of no use: late ones, fallen-silent ones, orders that the cloud did not fill.

They cost money or block buying elsewhere: a machine without work is given back by name, an unfilled
order is taken back and its pool backs off (I32, first cut of R4.7). Nothing is judged before the agent
has watched for a while without a gap, and no node with work is ever touched.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from agent.core.decision import Action, Evidence, PoolChange, Proposal, Reason, ReasonCode
from agent.core.drain import shrink_by
from agent.core.memory import Memory
from agent.core.policy import Policy
from agent.core.snapshot import NodeView, PoolState, Snapshot, Unknown, is_overdue
from contract.catalog import PoolRow

NAME = "boot_deadline"
_LEAST_WATCH = timedelta(minutes=5)
_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


def propose(snapshot: Snapshot, _policy: Policy, memory: Memory) -> Proposal:
    """Give back overdue nodes and unfilled orders, or hold."""
    overdue = _overdue_nodes(snapshot, memory)
    if overdue:
        names = ", ".join(node.name for node in overdue)
        reason = Reason(
            code=ReasonCode.OVERDUE_NODE,
            text=f"no usable GPUs within their pool's deadline: {names}",
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
    now = snapshot.taken_at
    if memory.watched_since is None or now - memory.watched_since < _LEAST_WATCH:
        return ()
    overdue = (
        node
        for state in _free_pools(snapshot, memory)
        for node in state.nodes()
        if node.gpus_used == 0 and _is_useless(node, snapshot.row(state), memory, now)
    )
    return tuple(sorted(overdue, key=lambda node: (node.since, node.instance_id)))


def _is_useless(node: NodeView, row: PoolRow, memory: Memory, now: datetime) -> bool:
    """Never usable within the deadline, or usable once and silent for as long as a boot may take."""
    if node.instance_id not in memory.ready_at:
        return is_overdue(node, row, now)
    silent = memory.silent_since.get(node.instance_id)
    return silent is not None and now - silent > row.boot.deadline


def _unfilled_orders(snapshot: Snapshot, memory: Memory) -> tuple[PoolChange, ...]:
    return tuple(
        PoolChange(pool=state.pool, stack=state.stack, before=state.configured, after=state.standing)
        for state in _free_pools(snapshot, memory)
        if state.standing < state.configured and _has_given_up(snapshot, state, memory)
    )


def _free_pools(snapshot: Snapshot, memory: Memory) -> Iterable[PoolState]:
    """Pools that can be read, are settled, and whose last change was not refused a moment ago."""
    now = snapshot.taken_at
    return (
        state
        for state in snapshot.pools
        if not isinstance(state.observed, Unknown)
        and state.is_settled
        and memory.refused_until.get(state.pool, now) <= now
    )


def _has_given_up(snapshot: Snapshot, state: PoolState, memory: Memory) -> bool:
    """The cloud said no after our last order, or the shortage has lasted as long as a boot may take."""
    now, deadline = snapshot.taken_at, snapshot.row(state).boot.deadline
    ordered = memory.grown_at.get(state.pool, now - deadline)
    if state.failure is not None and state.failure.at >= ordered:
        return True
    short = max(memory.short_since.get(state.pool, now), memory.grown_at.get(state.pool, _LONG_AGO))
    return now - short > deadline


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
