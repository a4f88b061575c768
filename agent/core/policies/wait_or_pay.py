"""R6.5 alone, without thresholds: rent as soon as the waiting that it saves is worth the GPU-hours."""

from __future__ import annotations

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.memory import Memory
from agent.core.policies.grow_by import blindness
from agent.core.policies.rent_for import rent_for
from agent.core.policy import Policy
from agent.core.rules.wait_or_pay import Join
from agent.core.snapshot import Snapshot, Unknown
from contract.units import Nodes, show_duration

NAME = "wait_or_pay"
_OFF = Proposal(
    policy=NAME,
    action=Action.HOLD,
    reason=Reason(code=ReasonCode.OFF, text="the thresholds of queue_pressure say when"),
)


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Grow by what the leaving tasks need, a node at least, or hold with the reason."""
    if policy.wait_or_pay.join is not Join.PATIENCE:
        return _OFF
    evidence = (_evidence(snapshot, policy),)
    if blind := blindness(snapshot):
        return Proposal(policy=NAME, action=Action.HOLD, reason=blind, evidence=evidence)
    if snapshot.queue == ():
        reason = Reason(code=ReasonCode.BELOW_THRESHOLD, text="no task waits")
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    wanted = rent_for(snapshot, policy, memory, Nodes(1))
    return Proposal(
        policy=NAME,
        action=Action.GROW if wanted.changes else Action.HOLD,
        reason=wanted.reason,
        evidence=evidence,
        changes=wanted.changes,
        alternatives=wanted.alternatives,
    )


def _evidence(snapshot: Snapshot, policy: Policy) -> Evidence:
    queued = snapshot.queued_tasks()
    patience = show_duration(policy.wait_or_pay.patience)
    return Evidence(
        name="waiting tasks",
        seen="unknown" if isinstance(queued, Unknown) else str(queued),
        wanted=f"one or more whose leaving saves {patience} of waiting for each GPU-hour",
        met=None if isinstance(queued, Unknown) else queued > 0,
    )
