"""R4.5: a person ordered so many nodes more, at once. Bought in the cheapest steady pools, several in one decision.

The order counts from what stood when it was given, so that only what is still missing is bought and a
second look buys nothing twice. It waits for no cool-down and no step; limits hold for it too.
"""

from __future__ import annotations

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.memory import Memory
from agent.core.policies.floors import Floor, order_floor
from agent.core.policies.grow_by import blindness, grow_by, is_steady, shortfall
from agent.core.policy import Policy
from agent.core.snapshot import Snapshot

NAME = "emergency"
_OFF = Proposal(
    policy=NAME, action=Action.HOLD, reason=Reason(code=ReasonCode.OFF, text="no emergency order is in force")
)


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Grow to what the orders in force ask for, or hold."""
    floor = order_floor(snapshot) if snapshot.orders else None
    if floor is None:
        return _OFF
    if not floor.missing:
        return _hold(floor, Reason(code=ReasonCode.NOTHING_TO_DO, text=f"{floor.why} is met: {floor.have} are rented"))
    if blind := blindness(snapshot):
        return _hold(floor, blind)
    growth = grow_by(snapshot, policy, memory, floor.missing, is_steady)
    text = f"{floor.why} wants {floor.nodes} nodes, {floor.have} are rented{shortfall(growth, floor.missing)}"
    return Proposal(
        policy=NAME,
        action=Action.GROW if growth.changes else Action.HOLD,
        reason=Reason(code=ReasonCode.TRIGGERED if growth.changes else ReasonCode.NOTHING_FITS, text=text),
        evidence=(_evidence(floor),),
        changes=growth.changes,
        alternatives=growth.alternatives,
    )


def _hold(floor: Floor, reason: Reason) -> Proposal:
    return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=(_evidence(floor),))


def _evidence(floor: Floor) -> Evidence:
    return Evidence(
        name="rented nodes", seen=str(floor.have), wanted=f"at least {floor.nodes}, by order", met=not floor.missing
    )
