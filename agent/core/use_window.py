"""The judgement that both threshold policies share: did local use stay on one side for a while?

Unknown samples never agree; too few valid ones, or an agent that has not watched long enough, hold.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from agent.core.decision import Evidence, Reason, ReasonCode
from agent.core.memory import Memory, Sample, Window, window
from agent.core.policy import Policy
from agent.core.snapshot import Snapshot, Unknown
from contract.units import Percent, show_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class UseRule:
    """What is asked of local use: to lie on one side of `limit` for `hold_for`."""

    words: str
    limit: Percent
    hold_for: timedelta
    agrees: Callable[[Percent], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class UseVerdict:
    """The evidence, and the reason to hold when the rule is not met."""

    evidence: Evidence
    hold: Reason | None


def judge(rule: UseRule, snapshot: Snapshot, policy: Policy, memory: Memory) -> UseVerdict:
    """Judge the agent's own samples up to the snapshot's time."""

    def agrees(sample: Sample) -> bool | Unknown:
        return sample.local_use if isinstance(sample.local_use, Unknown) else rule.agrees(sample.local_use)

    seen = window(memory, snapshot.taken_at, rule.hold_for, policy.sampling.every, agrees)
    hold = _hold_reason(rule, seen, snapshot, policy)
    doubtful = hold is not None and hold.code in (
        ReasonCode.SIGNAL_UNKNOWN,
        ReasonCode.WINDOW_TOO_SHORT,
    )
    now = "unknown" if isinstance(snapshot.local_use, Unknown) else str(snapshot.local_use)
    tally = f"{seen.agreeing} of {seen.valid} valid samples ({seen.expected} due)"
    evidence = Evidence(
        name="local GPU use",
        seen=f"{now} now; {rule.words} {rule.limit} in {tally}",
        wanted=f"{rule.words} {rule.limit} for {show_duration(rule.hold_for)}",
        met=None if doubtful else hold is None,
    )
    return UseVerdict(evidence=evidence, hold=hold)


def _hold_reason(rule: UseRule, seen: Window, snapshot: Snapshot, policy: Policy) -> Reason | None:
    if isinstance(snapshot.local_use, Unknown):
        return Reason(code=ReasonCode.SIGNAL_UNKNOWN, text=f"local use is unknown: {snapshot.local_use.why}")
    if not seen.is_covered:
        text = f"the agent has not yet watched for {show_duration(rule.hold_for)}"
        return Reason(code=ReasonCode.WINDOW_TOO_SHORT, text=text)
    if not seen.is_trusted(policy.sampling.min_valid):
        why = seen.unknown_why or "samples are missing"
        text = f"only {seen.valid} of {seen.expected} samples of local use are valid: {why}"
        return Reason(code=ReasonCode.SIGNAL_UNKNOWN, text=text)
    if not seen.holds(policy.sampling.min_valid):
        text = f"local use was {rule.words} {rule.limit} in {seen.agreeing} of {seen.valid} samples, not in all"
        return Reason(code=ReasonCode.BELOW_THRESHOLD, text=text)
    return None
