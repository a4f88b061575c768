"""R6.5 without thresholds: rent as soon as the waiting that it saves is worth the GPU-hours.

Where thresholds say when (join `both`), only for tasks that have waited for as long as their tier allows: a core task
must not wait for four others to queue behind it.
"""

from __future__ import annotations

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.memory import Memory
from agent.core.policies.grow_by import blindness
from agent.core.policies.rent_for import as_joined, overdue, overdue_leave, rent_for
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
    if policy.wait_or_pay.join is Join.THRESHOLDS:
        return _OFF
    is_alone = policy.wait_or_pay.join is Join.PATIENCE
    evidence = (_evidence(snapshot, policy) if is_alone else _overdue_evidence(snapshot, policy),)
    if blind := blindness(snapshot):
        return Proposal(policy=NAME, action=Action.HOLD, reason=blind, evidence=evidence)
    if isinstance(snapshot.queue, Unknown):
        unknown = Reason(code=ReasonCode.SIGNAL_UNKNOWN, text=f"the queue is unknown: {snapshot.queue.why}")
        return Proposal(policy=NAME, action=Action.HOLD, reason=unknown, evidence=evidence)
    if snapshot.queue == () or not (is_alone or overdue(snapshot, policy)):
        text = "no task waits" if is_alone else "no task has waited for as long as its tier allows"
        reason = Reason(code=ReasonCode.BELOW_THRESHOLD, text=text)
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    wanted = rent_for(snapshot, policy, memory, Nodes(1), as_joined if is_alone else overdue_leave)
    return Proposal(
        policy=NAME,
        action=Action.GROW if wanted.changes else Action.HOLD,
        reason=wanted.reason,
        evidence=evidence,
        changes=wanted.changes,
        alternatives=wanted.alternatives,
    )


def _overdue_evidence(snapshot: Snapshot, policy: Policy) -> Evidence:
    is_unknown = isinstance(snapshot.queue, Unknown)
    late = len(overdue(snapshot, policy))
    return Evidence(
        name="overdue tasks",
        seen="unknown" if is_unknown else str(late),
        wanted="one or more that have waited for as long as their tier allows",
        met=None if is_unknown else late > 0,
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
