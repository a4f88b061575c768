"""Legal phase changes of a rented node, as one table; an illegal one is noticed in one place.

The agent observes phases from outside, so that an illegal change is a finding to report (a node
that loses its GPUs, say), not a bug of the caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from agent.core.snapshot import NodePhase, NodeView, Snapshot

_ENDS = frozenset({NodePhase.LEAVING, NodePhase.GONE})
_LEGAL: dict[NodePhase | None, frozenset[NodePhase]] = {
    None: frozenset(NodePhase) - {NodePhase.GONE},
    NodePhase.BOOTING: frozenset({NodePhase.JOINED, NodePhase.GPU_READY, NodePhase.DRAINING}) | _ENDS,
    NodePhase.JOINED: frozenset({NodePhase.GPU_READY, NodePhase.DRAINING}) | _ENDS,
    NodePhase.GPU_READY: frozenset({NodePhase.DRAINING}) | _ENDS,
    NodePhase.DRAINING: frozenset({NodePhase.GPU_READY}) | _ENDS,
    NodePhase.LEAVING: frozenset({NodePhase.GONE}),
    NodePhase.GONE: frozenset(),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvent:
    """One observed change of one node. `is_legal` false means: tell a person."""

    node: str
    pool: str
    before: NodePhase | None
    after: NodePhase
    at: datetime
    is_legal: bool


def is_legal(before: NodePhase | None, after: NodePhase) -> bool:
    """Whether a node may go from `before` (None: never seen) to `after`."""
    return after in _LEGAL[before]


def node_events(seen: Mapping[str, tuple[str, NodePhase]], snapshot: Snapshot) -> tuple[NodeEvent, ...]:
    """Changes between the nodes last seen ({instance: (pool, phase)}) and a snapshot.

    Pools whose reading is unknown give no events: not seen is not gone.
    """
    events = []
    present: set[str] = set()
    known_pools = {pool.pool for pool in snapshot.pools if isinstance(pool.observed, tuple)}
    for node in (node for pool in snapshot.pools for node in pool.nodes()):
        present.add(node.instance_id)
        before = seen[node.instance_id][1] if node.instance_id in seen else None
        if before is not node.phase:
            events.append(_event(node, before, snapshot.taken_at))
    for instance, (pool, before) in seen.items():
        if instance not in present and pool in known_pools:
            events.append(
                NodeEvent(
                    node=instance,
                    pool=pool,
                    before=before,
                    after=NodePhase.GONE,
                    at=snapshot.taken_at,
                    is_legal=is_legal(before, NodePhase.GONE),
                )
            )
    return tuple(events)


def _event(node: NodeView, before: NodePhase | None, at: datetime) -> NodeEvent:
    return NodeEvent(
        node=node.instance_id,
        pool=node.pool,
        before=before,
        after=node.phase,
        at=at,
        is_legal=is_legal(before, node.phase),
    )
