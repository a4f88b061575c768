"""R4.5: a person ordered to rent at most so many nodes. Those without work go at once; one with work is never touched.

Idle ones go first, then those that have not come yet; reserved ones last. How many busy ones stay
above the target is said, so that a person can move or pause their work.
"""

from __future__ import annotations

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.drain import shrink_by
from agent.core.memory import Memory
from agent.core.policies.floors import by_return, ceiling, show_order
from agent.core.policy import Policy
from agent.core.snapshot import NodePhase, NodeView, Order, Snapshot

NAME = "forced_shrink"
_OFF = Proposal(
    policy=NAME, action=Action.HOLD, reason=Reason(code=ReasonCode.OFF, text="no order to shrink is in force")
)
_COMING = (NodePhase.BOOTING, NodePhase.JOINED)


def propose(snapshot: Snapshot, _policy: Policy, memory: Memory) -> Proposal:
    """Shrink to what the strictest order in force allows, as far as nodes have no work, or hold."""
    order = ceiling(snapshot) if snapshot.orders else None
    if order is None:
        return _OFF
    rented = snapshot.cloud_nodes()
    over = rented - order.nodes
    evidence = (
        Evidence(name="rented nodes", seen=str(rented), wanted=f"more than {order.nodes}, by order", met=over > 0),
    )
    going = _without_work(snapshot, memory)[: max(0, over)]
    reason = _reason(order, rented, len(going))
    if not going:
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    return Proposal(
        policy=NAME, action=Action.SHRINK, reason=reason, evidence=evidence, changes=shrink_by(snapshot, going)
    )


def _reason(order: Order, rented: int, going: int) -> Reason:
    if rented <= order.nodes:
        text = f"{show_order(order)} allows {order.nodes} nodes, {rented} are rented"
        return Reason(code=ReasonCode.NOTHING_TO_DO, text=text)
    stay = rented - going - order.nodes
    text = f"{show_order(order)} allows {order.nodes} nodes, {rented} are rented: {going} without work go"
    if stay:
        text += f", {stay} above it stay, for they have work or cannot be changed now"
    return Reason(code=ReasonCode.TRIGGERED if going else ReasonCode.NO_IDLE_NODE, text=text)


def _without_work(snapshot: Snapshot, memory: Memory) -> tuple[NodeView, ...]:
    now = snapshot.taken_at
    nodes = [
        node
        for state in snapshot.pools
        if state.is_settled and memory.refused_until.get(state.pool, now) <= now
        for node in state.nodes()
        if node.gpus_used == 0
    ]
    idle = [node for node in nodes if node.is_empty]
    coming = [node for node in nodes if node.phase in _COMING]
    return by_return(snapshot, idle) + by_return(snapshot, coming)
