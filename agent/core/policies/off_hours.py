"""R5.2: a pool's hours have ended: its nodes without work go back at once, those with work when they are done.

Nothing is bought in such a pool outside its hours (market.py), and no work is sent there that would outlast
them (placement.py): what still runs afterwards was estimated too short.
"""

from __future__ import annotations

from datetime import timedelta

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.drain import shrink_by
from agent.core.memory import Memory
from agent.core.opening_hours import may_rent
from agent.core.policies.idle_nodes import idle_nodes
from agent.core.policy import Policy
from agent.core.snapshot import PoolState, Snapshot

NAME = "off_hours"
_OPEN = Proposal(
    policy=NAME, action=Action.HOLD, reason=Reason(code=ReasonCode.OFF, text="no pool stands outside its hours")
)


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Give back idle nodes of pools outside their hours, or hold."""
    closed = [
        state for state in snapshot.pools if state.nodes() and not may_rent(snapshot.row(state), snapshot.taken_at)
    ]
    if not closed:
        return _OPEN
    pools = {state.pool for state in closed}

    def enough(state: PoolState) -> timedelta | None:
        return timedelta(0) if state.pool in pools else None

    going = idle_nodes(snapshot, policy, memory, enough)
    stay = sum(node.gpus_used > 0 for state in closed for node in state.nodes())
    evidence = (
        Evidence(
            name="nodes of pools outside their hours",
            seen=f"{len(going)} without work, {stay} with work",
            wanted="one or more without work",
            met=bool(going),
        ),
    )
    where = ", ".join(sorted(pools))
    if not going:
        reason = Reason(
            code=ReasonCode.NO_IDLE_NODE,
            text=f"the hours of {where} are over; {stay} nodes have work yet, none is idle",
        )
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    text = f"the hours of {where} are over: {len(going)} nodes without work go back"
    if stay:
        text += f", {stay} with work stay until it is done"
    return Proposal(
        policy=NAME,
        action=Action.SHRINK,
        reason=Reason(code=ReasonCode.OFF_HOURS, text=text),
        evidence=evidence,
        changes=shrink_by(snapshot, going),
    )
