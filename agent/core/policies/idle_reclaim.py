"""R4.2, R4.6: the owned cluster has been quiet for a while and rented nodes are idle: give them back.

Where the policy says `spare_after`, a node that has been idle for so long goes back however busy the
owned cluster is: what rents nodes is waiting work, and none of it went there. Reserved ones last, then the
oldest first. What a window, the warm pool or an order keeps stays, and a
node that is paid for anyway, or that it would be dearer to boot again, stays a while longer.
"""

from __future__ import annotations

from datetime import timedelta

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.drain import shrink_by
from agent.core.memory import Memory
from agent.core.policies.floors import all_floors, spare
from agent.core.policies.idle_nodes import arrived, idle_nodes
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
    evidence = (verdict.evidence, _idle_evidence(_idle(snapshot, policy, memory, is_quiet=True), snapshot, policy))
    is_unknown = verdict.hold is not None and verdict.hold.code is ReasonCode.SIGNAL_UNKNOWN
    idle = () if is_unknown else _idle(snapshot, policy, memory, is_quiet=verdict.hold is None)
    if verdict.hold and not idle:
        return Proposal(policy=NAME, action=Action.HOLD, reason=verdict.hold, evidence=evidence)
    settings = policy.idle_reclaim
    spans = [settings.node_idle_for] if verdict.hold is None else []
    spans += [settings.spare_after] if settings.spare_after is not None else []
    return _give_back(idle, snapshot, policy, evidence, show_duration(min(spans)))


def _give_back(
    idle: tuple[NodeView, ...], snapshot: Snapshot, policy: Policy, evidence: tuple[Evidence, ...], span: str
) -> Proposal:
    if not idle:
        reason = Reason(code=ReasonCode.NO_IDLE_NODE, text=f"no rented node has been idle for {span}")
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    free, keepers = spare(idle, all_floors(snapshot, policy))
    if not free:
        text = f"rented nodes idle for {span} or more: {len(idle)}; they stay for {', '.join(keepers)}"
        reason = Reason(code=ReasonCode.KEPT, text=text)
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    going = free[: policy.idle_reclaim.max_step]
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


def _idle(snapshot: Snapshot, policy: Policy, memory: Memory, *, is_quiet: bool) -> tuple[NodeView, ...]:
    """A boot is paid too: who lets a node idle for as long as one takes never pays more than twice the best."""

    def enough(state: PoolState) -> timedelta | None:
        spans = _spans(state, policy, is_quiet=is_quiet)
        if not spans:
            return None
        return max(min(spans), snapshot.row(state).boot.slowest) if policy.idle_reclaim.weigh_boot else min(spans)

    return idle_nodes(snapshot, policy, memory, enough)


def _spans(state: PoolState, policy: Policy, *, is_quiet: bool) -> list[timedelta]:
    """The idle times after which a node of the pool goes, any of them; none while nothing may go.

    Nodes that are still coming may be the last of a gang's, for which the idle ones wait: `spare_after` lets them.
    """
    settings = policy.idle_reclaim
    spans = [settings.node_idle_for] if is_quiet else []
    if settings.spare_after is not None and state.rented <= arrived(state):
        spans.append(settings.spare_after)
    return spans


def _idle_evidence(idle: tuple[NodeView, ...], snapshot: Snapshot, policy: Policy) -> Evidence:
    blind = [state.pool for state in snapshot.pools if isinstance(state.observed, Unknown)]
    return Evidence(
        name="idle rented nodes",
        seen=str(len(idle)) + (f"; {', '.join(blind)} unknown" if blind else ""),
        wanted=f"one or more idle for {show_duration(policy.idle_reclaim.node_idle_for)}",
        met=bool(idle),
    )
