"""R4.4: windows that a forecast proposed and a person approved. Kept as the calendar keeps its own."""

from __future__ import annotations

from agent.core.decision import Action, Proposal, Reason, ReasonCode
from agent.core.memory import Memory
from agent.core.policies.calendar import keep
from agent.core.policy import Policy
from agent.core.snapshot import Snapshot

NAME = "prewarm"
_OFF = Proposal(
    policy=NAME, action=Action.HOLD, reason=Reason(code=ReasonCode.OFF, text="the policy has no approved forecast")
)
_CLOSED = Proposal(
    policy=NAME, action=Action.HOLD, reason=Reason(code=ReasonCode.NOTHING_TO_DO, text="no approved forecast is due")
)


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Grow to what a due forecast expects, or hold."""
    if not policy.prewarm.windows:
        return _OFF
    windows = (entry.window for entry in policy.prewarm.windows)
    return keep(NAME, windows, snapshot, policy, memory) or _CLOSED
