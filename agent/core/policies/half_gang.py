"""R4.7: part of a gang's nodes came and the rest did not: what came goes back, for alone it is worth nothing.

A node counts as such when its pool's last order could not be filled, nothing is coming there any more, it
never had work, and no waiting task fits in what the pool has free. It waits as long as a boot takes, for a
gang that finds its last node within that time saves the others' boots; longer would cost more than those.
"""

from __future__ import annotations

from datetime import timedelta

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.drain import shrink_by
from agent.core.market import offers
from agent.core.memory import Memory
from agent.core.placement import place
from agent.core.policies.floors import all_floors, spare
from agent.core.policies.idle_nodes import arrived, idle_nodes
from agent.core.policy import Policy
from agent.core.snapshot import NodeView, PoolState, Snapshot, Unknown
from contract.units import Nodes

NAME = "half_gang"
_WHOLE = Proposal(
    policy=NAME, action=Action.HOLD, reason=Reason(code=ReasonCode.OFF, text="no order was filled in part only")
)


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Give back the nodes that an order brought in part and nobody can use, or hold."""
    waiting = _never_used(snapshot, policy, memory) if memory.failures else ()
    if not waiting:
        return _WHOLE
    useless = _of_no_use(waiting, snapshot, policy)
    evidence = Evidence(
        name="nodes of an order filled in part",
        seen=f"{len(waiting)}, of which {len(useless)} fit no waiting task",
        wanted="one or more that fit no waiting task",
        met=bool(useless),
    )
    going, keepers = spare(useless, all_floors(snapshot, policy))
    if not going:
        stay = f"they stay for {', '.join(keepers)}" if keepers else "a waiting task may still take them"
        reason = Reason(code=ReasonCode.KEPT, text=f"nodes of an order filled in part: {len(waiting)}; {stay}")
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=(evidence,))
    pools = ", ".join(dict.fromkeys(node.pool for node in going))
    text = f"{pools} brought only part of an order, and no waiting task fits in it: {len(going)} nodes go back"
    return Proposal(
        policy=NAME,
        action=Action.SHRINK,
        reason=Reason(code=ReasonCode.HALF_GANG, text=text),
        evidence=(evidence,),
        changes=shrink_by(snapshot, going),
    )


def _never_used(snapshot: Snapshot, policy: Policy, memory: Memory) -> tuple[NodeView, ...]:
    def enough(state: PoolState) -> timedelta | None:
        is_short = memory.failures.get(state.pool, 0) > 0 and state.rented <= arrived(state)
        return snapshot.row(state).boot.slowest if is_short else None

    idle = idle_nodes(snapshot, policy, memory, enough)
    return tuple(node for node in idle if memory.idle_since[node.instance_id] == memory.ready_at.get(node.instance_id))


def _of_no_use(nodes: tuple[NodeView, ...], snapshot: Snapshot, policy: Policy) -> tuple[NodeView, ...]:
    """Those in whose pool no waiting task fits as things stand; none while the queue is unknown."""
    if isinstance(snapshot.queue, Unknown):
        return ()
    placed = place(snapshot, snapshot.queue, offers(snapshot, {}), Nodes(0), policy.placement)
    taken = {pool for _, pool in placed.homes}
    return tuple(node for node in nodes if node.pool not in taken)
