"""One written precedence over all proposals, then cool-downs and caps; each leaves a reason.

Precedence: boot_deadline (give back what does not work) > queue_pressure > idle_reclaim > hold.
Cool-downs bind the two threshold policies, not the give-back of broken nodes. Caps only ever make a
growth smaller. Nothing here makes a shrink larger or touches a node that its policy did not name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from agent.core.costing import change_cost, node_cost, rented_cost
from agent.core.decision import Action, Decision, PoolChange, Proposal, Reason, ReasonCode
from agent.core.memory import Memory
from agent.core.policies import boot_deadline
from agent.core.policy import Policy
from agent.core.snapshot import Snapshot
from contract.units import Money, Nodes, show_duration, zero

# Of several reasons to hold, the first of these kinds is the one that people should read.
_TELLING = (
    ReasonCode.SIGNAL_UNKNOWN,
    ReasonCode.NOTHING_FITS,
    ReasonCode.WINDOW_TOO_SHORT,
    ReasonCode.COVERED_BY_COMING,
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
            if capped.changes:
                chosen, caps = capped, found
            else:
                rejected.append((proposal, found[-1]))
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


def _cool_down(proposal: Proposal, now: datetime, policy: Policy, memory: Memory) -> Reason | None:
    if proposal.policy == boot_deadline.NAME:
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
    reasons: list[Reason] = []
    changes: list[PoolChange] = []
    nodes = int(snapshot.cloud_nodes())
    cost = rented_cost(snapshot)
    for change in proposal.changes:
        each = node_cost(snapshot.catalog, snapshot.catalog.pools[change.pool])
        allowed, found = _allowed(change, (nodes, cost, each), snapshot, policy)
        reasons.extend(found)
        nodes += allowed
        cost += each * allowed
        if allowed:
            changes.append(replace(change, after=Nodes(change.before + allowed)))
    return replace(proposal, changes=tuple(changes)), tuple(reasons)


def _allowed(
    change: PoolChange, so_far: tuple[int, Money, Money], snapshot: Snapshot, policy: Policy
) -> tuple[int, list[Reason]]:
    """How many of a change's nodes pass quota, node limit and cost limit, and what cut them."""
    nodes, cost, each = so_far
    limits = policy.limits
    row = snapshot.catalog.pools[change.pool]
    ceiling = snapshot.catalog.in_home_currency(limits.max_cost_per_hour)
    rules = (
        (ReasonCode.QUOTA, row.quota - change.before, f"{change.pool} may hold {row.quota} nodes"),
        (
            ReasonCode.NODE_LIMIT,
            limits.max_cloud_nodes - nodes,
            f"at most {limits.max_cloud_nodes} rented nodes in all",
        ),
        (
            ReasonCode.COST_LIMIT,
            int((ceiling - cost).amount // each.amount),
            f"at most {ceiling} an hour in all",
        ),
    )
    allowed, found = change.delta, []
    for code, room, text in rules:
        if room < allowed:
            allowed = max(0, room)
            found.append(
                Reason(
                    code=code,
                    text=f"{text}: {change.delta} nodes of {change.pool} became {allowed}",
                )
            )
    return allowed, found
