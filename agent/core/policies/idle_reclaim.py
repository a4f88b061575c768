"""R4.2: the owned cluster has been quiet for a while and rented nodes are idle: give them back, oldest first."""

from __future__ import annotations

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.drain import shrink_by
from agent.core.memory import Memory
from agent.core.policy import Policy
from agent.core.snapshot import NodeView, Snapshot, Unknown
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
    if not idle:
        text = f"no rented node has been idle for {show_duration(settings.node_idle_for)}"
        reason = Reason(code=ReasonCode.NO_IDLE_NODE, text=text)
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    going = idle[: settings.max_step]
    span = show_duration(settings.node_idle_for)
    text = f"rented nodes idle for {span} or more: {len(idle)}; the oldest {len(going)} go back"
    return Proposal(
        policy=NAME,
        action=Action.SHRINK,
        reason=Reason(code=ReasonCode.TRIGGERED, text=text),
        evidence=evidence,
        changes=shrink_by(snapshot, going),
    )


def _idle_nodes(snapshot: Snapshot, policy: Policy, memory: Memory) -> tuple[NodeView, ...]:
    """Idle long enough, oldest first; ties by id so that the order never wavers."""
    now = snapshot.taken_at
    idle = [
        node
        for state in snapshot.pools
        if state.is_settled and memory.refused_until.get(state.pool, now) <= now
        for node in state.nodes()
        if node.is_empty
        and (since := memory.idle_since.get(node.instance_id)) is not None
        and now - since >= policy.idle_reclaim.node_idle_for
    ]
    return tuple(sorted(idle, key=lambda node: (node.since, node.instance_id)))


def _idle_evidence(idle: tuple[NodeView, ...], snapshot: Snapshot, policy: Policy) -> Evidence:
    blind = [state.pool for state in snapshot.pools if isinstance(state.observed, Unknown)]
    return Evidence(
        name="idle rented nodes",
        seen=str(len(idle)) + (f"; {', '.join(blind)} unknown" if blind else ""),
        wanted=f"one or more idle for {show_duration(policy.idle_reclaim.node_idle_for)}",
        met=bool(idle),
    )
