"""Choosing which nodes leave and in what order a shrink is carried out. Pure; the shell performs it.

The order is fixed (facts-pulumi section 4): cordon the leaving nodes, protect every other node of the
pool against scale-in, see that the leaving ones are empty, lower the desired size, apply, verify that
exactly those went, unprotect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.decision import PoolChange
from agent.core.snapshot import NodeView, PoolState, Snapshot
from contract.units import Nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainPlan:
    """One pool's shrink: the nodes that leave, the nodes that must be protected meanwhile."""

    pool: str
    leaving: tuple[NodeView, ...]
    staying: tuple[NodeView, ...]


def shrink_by(snapshot: Snapshot, going: Sequence[NodeView]) -> tuple[PoolChange, ...]:
    """One change a pool, in the pools' order, naming exactly the nodes that go."""
    changes = []
    for state in snapshot.pools:
        victims = tuple(node.instance_id for node in going if node.pool == state.pool)
        if victims:
            after = Nodes(max(0, state.configured - len(victims)))
            changes.append(
                PoolChange(
                    pool=state.pool,
                    stack=state.stack,
                    before=state.configured,
                    after=after,
                    victims=victims,
                )
            )
    return tuple(changes)


def drain_plan(change: PoolChange, state: PoolState) -> DrainPlan:
    """Split a pool's observed nodes into those that leave and those that stay."""
    victims = set(change.victims)
    nodes = state.nodes()
    return DrainPlan(
        pool=change.pool,
        leaving=tuple(node for node in nodes if node.instance_id in victims),
        staying=tuple(node for node in nodes if node.instance_id not in victims),
    )
