"""The decision: a snapshot, a policy and a memory in; a decision and the new memory out. Pure.

The live tick and the replay call this one function. Who performs the decision is not known here.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from agent.core.arbitrate import arbitrate
from agent.core.decision import Action, Decision, PoolChange, ReasonCode
from agent.core.memory import Memory, observe
from agent.core.policies import boot_deadline, idle_reclaim, queue_pressure
from agent.core.policy import Policy
from agent.core.snapshot import Snapshot

_PRECEDENCE = (boot_deadline.propose, queue_pressure.propose, idle_reclaim.propose)


def decide(snapshot: Snapshot, policy: Policy, memory: Memory) -> tuple[Decision, Memory]:
    """Take the snapshot into memory, ask every policy, arbitrate. Same inputs, same outputs."""
    memory = observe(memory, snapshot, policy.sampling.stale_after)
    proposals = tuple(propose(snapshot, policy, memory) for propose in _PRECEDENCE)
    return arbitrate(proposals, snapshot, policy, memory), memory


def remember_attempt(memory: Memory, decision: Decision, policy: Policy) -> Memory:
    """What to keep once a decision is being carried out: cool-downs start, unfilled pools back off."""
    now = decision.taken_at
    if decision.action is Action.HOLD:
        return memory
    if decision.action is Action.GROW:
        grown = {change.pool: now for change in decision.changes}
        return replace(memory, last_grow=now, grown_at={**memory.grown_at, **grown})
    if decision.chosen.reason.code is ReasonCode.UNFILLED_ORDER:
        for change in decision.changes:
            memory = _back_off(memory, change, policy, now)
    return replace(memory, last_shrink=now)


def _back_off(memory: Memory, change: PoolChange, policy: Policy, now: datetime) -> Memory:
    """Doubles with each failure in a row of the pool, up to the policy's limit."""
    failures = memory.failures.get(change.pool, 0) + 1
    pause = min(policy.cool_down.back_off * 2 ** min(failures - 1, 16), policy.cool_down.max_back_off)
    return replace(
        memory,
        failures={**memory.failures, change.pool: failures},
        back_off_until={**memory.back_off_until, change.pool: now + pause},
    )
