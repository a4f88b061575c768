"""R4.6: a few ready and idle nodes, so that the first tasks of a surge find a place without a boot.

They count against every limit and the budget, and rank below every pressure that has work waiting.
"""

from __future__ import annotations

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.memory import Memory
from agent.core.policies.floors import warm_floor
from agent.core.policies.grow_by import blindness, grow_by, in_pools, shortfall
from agent.core.policy import Policy
from agent.core.snapshot import Snapshot

NAME = "warm_pool"
_OFF = Proposal(policy=NAME, action=Action.HOLD, reason=Reason(code=ReasonCode.OFF, text="the policy has no warm pool"))
_NIGHT = Proposal(
    policy=NAME,
    action=Action.HOLD,
    reason=Reason(code=ReasonCode.NOTHING_TO_DO, text="a window that gives idle nodes back is open"),
)


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Grow by what is missing of the idle nodes wanted, or hold."""
    if not policy.warm_pool.nodes:
        return _OFF
    floor = warm_floor(snapshot, policy)
    if floor is None:
        return _NIGHT
    evidence = (
        Evidence(
            name="idle nodes, ready or coming",
            seen=str(floor.have),
            wanted=f"at least {floor.nodes}",
            met=not floor.missing,
        ),
    )
    blind = blindness(snapshot)
    if blind or not floor.missing:
        text = f"{floor.have} nodes are idle or coming, {floor.nodes} are wanted"
        reason = blind or Reason(code=ReasonCode.NOTHING_TO_DO, text=text)
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    growth = grow_by(snapshot, policy, memory, floor.missing, in_pools(floor.pools))
    text = f"{floor.have} of {floor.nodes} warm nodes are idle or coming{shortfall(growth, floor.missing)}"
    return Proposal(
        policy=NAME,
        action=Action.GROW if growth.changes else Action.HOLD,
        reason=Reason(code=ReasonCode.TRIGGERED if growth.changes else ReasonCode.NOTHING_FITS, text=text),
        evidence=evidence,
        changes=growth.changes,
        alternatives=growth.alternatives,
    )
