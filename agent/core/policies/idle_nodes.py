"""Rented nodes that have stood without work for long enough to go back, in the order in which they go.

Shared by the rules that give idle nodes back; how long is enough is theirs to say. Pools that are not
settled, that were refused a moment ago, and nodes younger than what is billed anyway, are left alone.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from agent.core.memory import Memory
from agent.core.policies.floors import by_return
from agent.core.policy import Policy
from agent.core.snapshot import NodePhase, NodeView, PoolState, Snapshot


def idle_nodes(
    snapshot: Snapshot, policy: Policy, memory: Memory, enough: Callable[[PoolState], timedelta | None]
) -> tuple[NodeView, ...]:
    """Empty and old enough. `enough` gives the idle time that it takes in a pool, None where nothing goes."""
    now = snapshot.taken_at
    idle = []
    for state in snapshot.pools:
        least = enough(state)
        if least is None or not state.is_settled or memory.refused_until.get(state.pool, now) > now:
            continue
        idle += [
            node
            for node in state.nodes()
            if node.is_empty
            and (since := memory.idle_since.get(node.instance_id)) is not None
            and now - since >= least
            and now - node.since >= policy.idle_reclaim.keep_at_least
        ]
    return by_return(snapshot, idle)


def arrived(state: PoolState) -> int:
    """Nodes of the pool whose GPUs can be used; fewer than are rented while some are still to come."""
    return sum(node.phase in (NodePhase.GPU_READY, NodePhase.DRAINING) for node in state.nodes())
