"""R4.1: the owned cluster has been full for a while and tasks queue: rent nodes by need.

The thresholds say when, placement says where and how many; cool-down and caps are not its business.
"""

from __future__ import annotations

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.memory import Memory, queue_means
from agent.core.policies.grow_by import blindness
from agent.core.policies.rent_for import rent_for
from agent.core.policy import Policy
from agent.core.rules.wait_or_pay import Join
from agent.core.snapshot import Snapshot, Unknown
from agent.core.use_window import UseRule, judge
from contract.units import show_duration

NAME = "queue_pressure"
_OFF = Proposal(
    policy=NAME,
    action=Action.HOLD,
    reason=Reason(code=ReasonCode.OFF, text="wait_or_pay decides alone, without thresholds"),
)


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Grow by min_step to max_step nodes as the queue needs, or hold with the reason."""
    settings = policy.queue_pressure
    if policy.wait_or_pay.join is Join.PATIENCE:
        return _OFF
    rule = UseRule(
        words="at or above",
        limit=settings.local_use_at_least,
        hold_for=settings.hold_for,
        agrees=lambda use: use >= settings.local_use_at_least,
    )
    verdict = judge(rule, snapshot, policy, memory)
    evidence = (verdict.evidence, _queue_evidence(snapshot, policy))
    held = verdict.hold or _queue_hold(snapshot, policy) or _falling(snapshot, policy, memory)
    if held or isinstance(snapshot.queue, Unknown):
        reason = held or Reason(code=ReasonCode.SIGNAL_UNKNOWN, text="the queue is unknown")
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    wanted = rent_for(snapshot, policy, memory, settings.min_step)
    return Proposal(
        policy=NAME,
        action=Action.GROW if wanted.changes else Action.HOLD,
        reason=wanted.reason,
        evidence=evidence,
        changes=wanted.changes,
        alternatives=wanted.alternatives,
    )


def _queue_hold(snapshot: Snapshot, policy: Policy) -> Reason | None:
    if blind := blindness(snapshot):
        return blind
    queued, least = snapshot.queued_tasks(), policy.queue_pressure.queued_tasks_at_least
    if isinstance(queued, Unknown):
        return Reason(code=ReasonCode.SIGNAL_UNKNOWN, text=f"the queue is unknown: {queued.why}")
    if queued < least:
        return Reason(code=ReasonCode.BELOW_THRESHOLD, text=f"{queued} tasks queue, fewer than {least}")
    return None


def _falling(snapshot: Snapshot, policy: Policy, memory: Memory) -> Reason | None:
    """R4.6: the moving average of the queue falls so fast that a node ordered now would come to an empty one."""
    least, span = policy.queue_pressure.not_if_falling, policy.queue_pressure.hold_for
    means = queue_means(memory, snapshot.taken_at, span)
    if least is None or means is None or means[1] > means[0] * (1 - least.value / 100):
        return None
    before, now = means
    text = f"the queue falls by itself: {before:.1f} tasks on average, then {now:.1f}, within {show_duration(span)}"
    return Reason(code=ReasonCode.FALLING, text=text)


def _queue_evidence(snapshot: Snapshot, policy: Policy) -> Evidence:
    queued = snapshot.queued_tasks()
    least = policy.queue_pressure.queued_tasks_at_least
    return Evidence(
        name="queued tasks",
        seen="unknown" if isinstance(queued, Unknown) else str(queued),
        wanted=f"at least {least}",
        met=None if isinstance(queued, Unknown) else queued >= least,
    )
