"""One written precedence over all proposals, then cool-downs and caps; each leaves a reason.

Precedence, safest first; the first that wants something and is let through wins, the others are told
as outranked:

1. safety: boot_deadline gives back what does not work, half_gang what is worth nothing without the rest
   of its order, off_hours what its pool's hours no longer cover, spot_notice replaces what a cloud takes
   back; a reading that is unknown has held every policy that needs it before anything comes here
2. money: forced_shrink, and the caps: quota, the policy's limit of a pool, a person's order to rent
   less, limits of nodes and cost, step, budget
3. emergency: a person wants more nodes now
4. calendar, then prewarm: what is known beforehand
5. queue_pressure: work that waits
6. warm_pool: work that may come
7. idle_reclaim; and if nothing of all this: hold

What is ordered by a person or forced by a cloud waits for no cool-down, and no step cuts the two
growths among it. Nothing here makes a change larger or touches a node that its policy did not name.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from agent.core.caps import cap_growth
from agent.core.costing import change_cost
from agent.core.decision import Action, Decision, Proposal, Reason, ReasonCode
from agent.core.memory import Memory
from agent.core.policies import boot_deadline, emergency, forced_shrink, half_gang, off_hours, spot_notice
from agent.core.policy import Policy
from agent.core.snapshot import Snapshot
from contract.units import show_duration, zero

_URGENT = (boot_deadline, half_gang, off_hours, spot_notice, forced_shrink, emergency)
_AT_ONCE = frozenset(policy.NAME for policy in _URGENT)
# Of several reasons to hold, the first of these kinds is the one that people should read.
_TELLING = (
    ReasonCode.SIGNAL_UNKNOWN,
    ReasonCode.NOTHING_FITS,
    ReasonCode.WORTH_WAITING,
    ReasonCode.FALLING,
    ReasonCode.WINDOW_TOO_SHORT,
    ReasonCode.COVERED_BY_COMING,
    ReasonCode.KEPT,
)
_NOTHING = Reason(code=ReasonCode.NOTHING_TO_DO, text="no policy wants a change")


def arbitrate(proposals: Sequence[Proposal], snapshot: Snapshot, policy: Policy, memory: Memory) -> Decision:
    """Choose among proposals, given in the order of precedence. Total: there is always a decision."""
    rejected: list[tuple[Proposal, Reason]] = []
    chosen: Proposal | None = None
    caps: tuple[Reason, ...] = ()
    for proposal in proposals:
        if chosen is not None:
            rejected.append((proposal, _outranked(proposal, chosen)))
        elif proposal.action is Action.HOLD:
            rejected.append((proposal, proposal.reason))
        elif waiting := _cool_down(proposal, snapshot.taken_at, policy, memory):
            rejected.append((proposal, waiting))
        else:
            capped, found = _cap(proposal, snapshot, policy)
            if capped.changes or capped.action is Action.VACATE:
                chosen, caps = capped, found
            else:
                rejected.append((proposal, _all(found)))
    return Decision(
        taken_at=snapshot.taken_at,
        chosen=chosen or _hold(rejected),
        cost_per_hour=change_cost(snapshot.catalog, chosen.changes) if chosen else zero(snapshot.catalog.home_currency),
        caps=caps,
        rejected=tuple(rejected),
    )


def _hold(rejected: Sequence[tuple[Proposal, Reason]]) -> Proposal:
    """Doing nothing is a proposal too; its reason is the one that tells most."""
    evidence = tuple(item for proposal, _ in rejected for item in proposal.evidence)
    wanted = [reason for proposal, reason in rejected if proposal.action is not Action.HOLD]
    telling = [reason for code in _TELLING for _, reason in rejected if reason.code is code]
    reason = next(iter((*wanted, *telling)), _NOTHING)
    return Proposal(policy="hold", action=Action.HOLD, reason=reason, evidence=evidence)


def _outranked(proposal: Proposal, chosen: Proposal) -> Reason:
    if proposal.action is Action.HOLD:
        return proposal.reason
    return Reason(code=ReasonCode.OUTRANKED, text=f"{chosen.policy} comes first")


def _all(caps: Sequence[Reason]) -> Reason:
    """The caps that left nothing of a growth, as one reason; its code is that of the last."""
    return Reason(code=caps[-1].code, text="; ".join(dict.fromkeys(cap.text for cap in caps)))


def _cool_down(proposal: Proposal, now: datetime, policy: Policy, memory: Memory) -> Reason | None:
    if proposal.policy in _AT_ONCE:
        return None
    rules = [("growth", memory.last_grow, policy.cool_down.after_grow)]
    if proposal.action is Action.SHRINK:
        rules.append(("shrink", memory.last_shrink, policy.cool_down.after_shrink))
    for what, last, least in rules:
        if last is not None and now - last < least:
            left = show_duration(max(timedelta(seconds=1), least - (now - last)))
            return Reason(
                code=ReasonCode.COOL_DOWN,
                text=f"{left} left of the {show_duration(least)} after the last {what}",
            )
    return None


def _cap(proposal: Proposal, snapshot: Snapshot, policy: Policy) -> tuple[Proposal, tuple[Reason, ...]]:
    if proposal.action is not Action.GROW:
        return proposal, ()
    return cap_growth(proposal, snapshot, policy, has_step=proposal.policy not in _AT_ONCE)
