"""R4.1: the owned cluster has been full for a while and tasks queue: rent nodes by need.

The thresholds say when, placement says where and how many; cool-down and caps are not its business.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from agent.core.decision import Action, Evidence, PoolChange, Proposal, Reason, ReasonCode
from agent.core.memory import Memory
from agent.core.placement import Placement, offers, place
from agent.core.policy import Policy
from agent.core.snapshot import PoolState, Snapshot, Unknown
from agent.core.use_window import UseRule, judge
from contract.units import Nodes

NAME = "queue_pressure"


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Grow by min_step to max_step nodes as the queue needs, or hold with the reason."""
    settings = policy.queue_pressure
    rule = UseRule(
        words="at or above",
        limit=settings.local_use_at_least,
        hold_for=settings.hold_for,
        agrees=lambda use: use >= settings.local_use_at_least,
    )
    verdict = judge(rule, snapshot, policy, memory)
    evidence = (verdict.evidence, _queue_evidence(snapshot, policy))
    held = verdict.hold or _queue_hold(snapshot, policy)
    if held or isinstance(snapshot.queue, Unknown):
        reason = held or Reason(code=ReasonCode.SIGNAL_UNKNOWN, text="the queue is unknown")
        return Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)
    market = offers(snapshot, _closed_pools(snapshot, memory.back_off_until))
    placed = place(snapshot, snapshot.queue, market, settings.max_step)
    if not placed.nodes:
        reason = _no_need(placed, snapshot)
        return Proposal(
            policy=NAME,
            action=Action.HOLD,
            reason=reason,
            evidence=evidence,
            alternatives=placed.alternatives,
        )
    waiting = sum(task.gpus for task in snapshot.queue)
    text = (
        f"{len(snapshot.queue)} tasks wait for {waiting} GPUs; {placed.covered} of them fit in what is there or coming"
    )
    return Proposal(
        policy=NAME,
        action=Action.GROW,
        reason=Reason(code=ReasonCode.TRIGGERED, text=text),
        evidence=evidence,
        changes=_changes(snapshot, _at_least(placed, snapshot, settings.min_step)),
        alternatives=placed.alternatives,
    )


def _queue_hold(snapshot: Snapshot, policy: Policy) -> Reason | None:
    queued, least = snapshot.queued_tasks(), policy.queue_pressure.queued_tasks_at_least
    if isinstance(queued, Unknown):
        return Reason(code=ReasonCode.SIGNAL_UNKNOWN, text=f"the queue is unknown: {queued.why}")
    if queued < least:
        return Reason(code=ReasonCode.BELOW_THRESHOLD, text=f"{queued} tasks queue, fewer than {least}")
    return None


def _closed_pools(snapshot: Snapshot, back_off_until: Mapping[str, datetime]) -> dict[str, Reason]:
    closed: dict[str, Reason] = {}
    for pool in snapshot.pools:
        until = back_off_until.get(pool.pool)
        if isinstance(pool.observed, Unknown):
            closed[pool.pool] = Reason(code=ReasonCode.POOL_UNKNOWN, text=f"its nodes are unknown: {pool.observed.why}")
        elif not pool.is_settled:
            text = f"configured {pool.configured}, applied {_show_applied(pool)}: an edit waits for 'pulumi up'"
            closed[pool.pool] = Reason(code=ReasonCode.NOT_SETTLED, text=text)
        elif until is not None and until > snapshot.taken_at:
            text = f"backed off until {until.isoformat(timespec='seconds')}: its cloud could not deliver"
            closed[pool.pool] = Reason(code=ReasonCode.BACKED_OFF, text=text)
    return closed


def _show_applied(pool: PoolState) -> str:
    return f"unknown ({pool.applied.why})" if isinstance(pool.applied, Unknown) else str(pool.applied)


def _no_need(placed: Placement, snapshot: Snapshot) -> Reason:
    if placed.homeless:
        text = f"no pool can take the {placed.homeless} tasks that do not fit in what is there or coming"
        return Reason(code=ReasonCode.NOTHING_FITS, text=text)
    text = f"the {snapshot.cloud_nodes()} rented nodes, ready or coming, take all waiting tasks"
    return Reason(code=ReasonCode.COVERED_BY_COMING, text=text)


def _at_least(placed: Placement, snapshot: Snapshot, least: Nodes) -> dict[str, int]:
    """Bring the step up to its minimum in the chosen pools, in their order, within quota."""
    new = {pool: int(count) for pool, count in placed.new_nodes}
    for pool in new:
        short = least - sum(new.values())
        room = snapshot.catalog.pools[pool].quota - snapshot.pool(pool).configured - new[pool]
        new[pool] += max(0, min(short, room))
    return new


def _changes(snapshot: Snapshot, new: Mapping[str, int]) -> tuple[PoolChange, ...]:
    changes = []
    for pool, count in new.items():
        state = snapshot.pool(pool)
        after = Nodes(state.configured + count)
        changes.append(PoolChange(pool=pool, stack=state.stack, before=state.configured, after=after))
    return tuple(changes)


def _queue_evidence(snapshot: Snapshot, policy: Policy) -> Evidence:
    queued = snapshot.queued_tasks()
    least = policy.queue_pressure.queued_tasks_at_least
    return Evidence(
        name="queued tasks",
        seen="unknown" if isinstance(queued, Unknown) else str(queued),
        wanted=f"at least {least}",
        met=None if isinstance(queued, Unknown) else queued >= least,
    )
