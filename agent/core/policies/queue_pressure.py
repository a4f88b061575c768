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
    market = offers(snapshot, _closed_pools(snapshot, memory))
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
    if snapshot.blind_stacks:
        text = f"what is rented is not known: {', '.join(snapshot.blind_stacks)} cannot be read"
        return Reason(code=ReasonCode.SIGNAL_UNKNOWN, text=text)
    queued, least = snapshot.queued_tasks(), policy.queue_pressure.queued_tasks_at_least
    if isinstance(queued, Unknown):
        return Reason(code=ReasonCode.SIGNAL_UNKNOWN, text=f"the queue is unknown: {queued.why}")
    if queued < least:
        return Reason(code=ReasonCode.BELOW_THRESHOLD, text=f"{queued} tasks queue, fewer than {least}")
    return None


def _closed_pools(snapshot: Snapshot, memory: Memory) -> dict[str, Reason]:
    closed = ((pool.pool, _why_closed(pool, snapshot.taken_at, memory)) for pool in snapshot.pools)
    return {pool: reason for pool, reason in closed if reason}


def _why_closed(pool: PoolState, now: datetime, memory: Memory) -> Reason | None:
    backed_off, refused = memory.back_off_until.get(pool.pool), memory.refused_until.get(pool.pool)
    if isinstance(pool.observed, Unknown):
        return Reason(code=ReasonCode.POOL_UNKNOWN, text=f"its nodes are unknown: {pool.observed.why}")
    if unsettled := pool.unsettled_because():
        return Reason(code=ReasonCode.NOT_SETTLED, text=unsettled)
    if backed_off is not None and backed_off > now:
        text = f"backed off until {backed_off.isoformat(timespec='seconds')}: its cloud could not deliver"
        return Reason(code=ReasonCode.BACKED_OFF, text=text)
    if refused is not None and refused > now:
        text = f"left alone until {refused.isoformat(timespec='seconds')}: its last change could not be carried out"
        return Reason(code=ReasonCode.BACKED_OFF, text=text)
    return None


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
        room = snapshot.catalog.pools[pool].quota - snapshot.pool(pool).rented - new[pool]
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
