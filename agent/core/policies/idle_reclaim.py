"""R4.2, R4.6: the owned cluster has been quiet for a while and rented nodes are idle: give them back.

Reserved ones last, then the oldest first. What a window, the warm pool or an order keeps stays, and a
node that is paid for anyway, or that it would be dearer to boot again, stays a while longer.
"""

from __future__ import annotations

from datetime import timedelta

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.drain import shrink_by
from agent.core.memory import Memory
from agent.core.policies.floors import all_floors, by_return, spare
from agent.core.policy import Policy
from agent.core.snapshot import NodeView, PoolState, Snapshot, Unknown
from agent.core.use_window import UseRule, judge
from contract.units import show_duration

NAME = "idle_reclaim"


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Shrink by the oldest nodes that have been idle long enough, or hold with the reason."""
    settings = policy.idle_reclaim
    rule = UseRule(
        words="at or below",
        limit=settings.local_use_at_most,
        hold_for=settings.hold_for,
        agrees=lambda use: use <= settings.local_use_at_most,
    )
    verdict = judge(rule, snapshot, policy, memory)
    idle = _idle_nodes(snapshot, policy, memory)
    evidence = (verdict.evidence, _idle_evidence(idle, snapshot, policy))
    if verdict.hold:
        return Proposal(policy=NAME, action=Action.HOLD, reason=verdict.hold, evidence=evidence)
    span = show_duration(settings.node_idle_for)
    if not idle:
        reason = Reason(code=ReasonCode.NO_IDLE_NODE, text=f"no rented node has been idle for {span}")
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    free, keepers = spare(idle, all_floors(snapshot, policy))
    if not free:
        text = f"rented nodes idle for {span} or more: {len(idle)}; they stay for {', '.join(keepers)}"
        reason = Reason(code=ReasonCode.KEPT, text=text)
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    going = free[: settings.max_step]
    text = f"rented nodes idle for {span} or more: {len(idle)}; the oldest {len(going)} go back"
    if keepers:
        text += f", {len(idle) - len(free)} stay for {', '.join(keepers)}"
    return Proposal(
        policy=NAME,
        action=Action.SHRINK,
        reason=Reason(code=ReasonCode.TRIGGERED, text=text),
        evidence=evidence,
        changes=shrink_by(snapshot, going),
    )


def _idle_nodes(snapshot: Snapshot, policy: Policy, memory: Memory) -> tuple[NodeView, ...]:
    """Idle and old enough, in the order in which they go back."""
    now = snapshot.taken_at
    idle = (
        node
        for state in snapshot.pools
        if state.is_settled and memory.refused_until.get(state.pool, now) <= now
        for node in state.nodes()
        if node.is_empty
        and (since := memory.idle_since.get(node.instance_id)) is not None
        and now - since >= _least_idle(state, snapshot, policy)
        and now - node.since >= policy.idle_reclaim.keep_at_least
    )
    return by_return(snapshot, idle)


def _least_idle(state: PoolState, snapshot: Snapshot, policy: Policy) -> timedelta:
    """A boot is paid too: who lets a node idle for as long as one takes never pays more than twice the best."""
    least = policy.idle_reclaim.node_idle_for
    return max(least, snapshot.row(state).boot.slowest) if policy.idle_reclaim.weigh_boot else least


def _idle_evidence(idle: tuple[NodeView, ...], snapshot: Snapshot, policy: Policy) -> Evidence:
    blind = [state.pool for state in snapshot.pools if isinstance(state.observed, Unknown)]
    return Evidence(
        name="idle rented nodes",
        seen=str(len(idle)) + (f"; {', '.join(blind)} unknown" if blind else ""),
        wanted=f"one or more idle for {show_duration(policy.idle_reclaim.node_idle_for)}",
        met=bool(idle),
    )
