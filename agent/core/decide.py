"""The decision: a snapshot, a policy and a memory in; a decision and the new memory out. Pure.

The live tick and the replay call this one function. Who performs the decision is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta

from agent.core.arbitrate import arbitrate
from agent.core.decision import Action, Decision, ReasonCode
from agent.core.memory import Memory, observe
from agent.core.policies import (
    boot_deadline,
    calendar,
    emergency,
    forced_shrink,
    half_gang,
    idle_reclaim,
    off_hours,
    prewarm,
    queue_pressure,
    spot_notice,
    wait_or_pay,
    warm_pool,
)
from agent.core.policy import Policy
from agent.core.snapshot import Snapshot

_UNDELIVERED = (ReasonCode.UNFILLED_ORDER, ReasonCode.OVERDUE_NODE)
# Who comes first; why, is written in arbitrate.py. A new pressure is a line here.
PRECEDENCE = (
    boot_deadline.propose,
    half_gang.propose,
    off_hours.propose,
    spot_notice.propose,
    forced_shrink.propose,
    emergency.propose,
    calendar.propose,
    prewarm.propose,
    queue_pressure.propose,
    wait_or_pay.propose,
    warm_pool.propose,
    idle_reclaim.propose,
)


def decide(snapshot: Snapshot, policy: Policy, memory: Memory) -> tuple[Decision, Memory]:
    """Take the snapshot into memory, ask every policy, arbitrate. Same inputs, same outputs.

    What is switched off has no opinion and does not stand among the proposals.
    """
    memory = observe(memory, snapshot, policy.sampling.stale_after)
    opinions = (propose(snapshot, policy, memory) for propose in PRECEDENCE)
    proposals = tuple(opinion for opinion in opinions if opinion.reason.code is not ReasonCode.OFF)
    return arbitrate(proposals, snapshot, policy, memory), memory


def remember_attempt(memory: Memory, decision: Decision, policy: Policy) -> Memory:
    """What to keep once a decision is being carried out: cool-downs start, unfilled pools back off."""
    now = decision.taken_at
    if decision.action is Action.HOLD:
        return memory
    if decision.action is Action.VACATE:
        return _remember_vacated(memory, decision)
    if decision.action is Action.GROW:
        grown = {change.pool: now for change in decision.changes}
        memory = replace(memory, grown_at={**memory.grown_at, **grown})
    if decision.chosen.policy == spot_notice.NAME:
        # The size stays what it was: a rain of notices must not keep the queue waiting, nor nodes from going back.
        return _remember_replaced(memory, decision)
    if decision.action is Action.GROW:
        return replace(memory, last_grow=now)
    if decision.chosen.reason.code in _UNDELIVERED:
        # What was ordered is not coming, so that the pause after an order has no ground either.
        pools = [change.pool for change in decision.changes]
        memory = remember_failure(replace(memory, last_grow=None), pools, policy, now)
    # A node that goes back is nobody's to release: else it would take work while it leaves.
    memory = remember_released(memory, (victim for change in decision.changes for victim in change.victims))
    return replace(memory, last_shrink=now)


def remember_failure(memory: Memory, pools: Iterable[str], policy: Policy, now: datetime) -> Memory:
    """The cloud refused or did not deliver these pools: each backs off, longer with each failure in a row."""
    for pool in pools:
        memory = _back_off(memory, pool, policy, now)
    return memory


def remember_refusal(memory: Memory, pools: Iterable[str], policy: Policy, now: datetime) -> Memory:
    """A change of these pools could not be carried out: leave them alone for a while, longer each time."""
    for pool in pools:
        refusals = memory.refusals.get(pool, 0) + 1
        until = now + _pause(refusals, policy)
        memory = replace(
            memory,
            refusals={**memory.refusals, pool: refusals},
            refused_until={**memory.refused_until, pool: until},
        )
    return memory


def remember_success(memory: Memory, pools: Iterable[str]) -> Memory:
    """Changes of these pools are carried out again."""
    done = set(pools)
    return replace(memory, refusals={pool: count for pool, count in memory.refusals.items() if pool not in done})


def remember_released(memory: Memory, instances: Iterable[str]) -> Memory:
    """These nodes take work again, or go back."""
    over = set(instances)
    return replace(memory, vacating={key: pool for key, pool in memory.vacating.items() if key not in over})


def forget_attempt(memory: Memory, before: Memory) -> Memory:
    """Nothing of a decision could be carried out: no cool-down begins, so that the next best is tried next."""
    return replace(
        memory,
        last_grow=before.last_grow,
        last_shrink=before.last_shrink,
        grown_at=before.grown_at,
        replaced=before.replaced,
        vacating=before.vacating,
    )


def _remember_replaced(memory: Memory, decision: Decision) -> Memory:
    """A node is replaced once; when its place is given up it is forgotten."""
    handled = {instance for change in decision.changes for instance in change.replaces}
    if decision.action is Action.GROW:
        pools = {instance: pool for instance, (pool, _) in memory.seen.items() if instance in handled}
        return replace(memory, replaced={**memory.replaced, **pools})
    return replace(memory, replaced={key: pool for key, pool in memory.replaced.items() if key not in handled})


def _remember_vacated(memory: Memory, decision: Decision) -> Memory:
    """What is released is forgotten by `remember_released`, once it takes work again."""
    begun = {node.instance: node.pool for node in decision.chosen.vacates}
    return replace(memory, vacating={**memory.vacating, **begun})


def _back_off(memory: Memory, pool: str, policy: Policy, now: datetime) -> Memory:
    failures = memory.failures.get(pool, 0) + 1
    return replace(
        memory,
        failures={**memory.failures, pool: failures},
        back_off_until={**memory.back_off_until, pool: now + _pause(failures, policy)},
    )


def _pause(times: int, policy: Policy) -> timedelta:
    """Doubles with each failure in a row, up to the policy's limit."""
    longer: int = 2 ** min(times - 1, 16)
    return min(policy.cool_down.back_off * longer, policy.cool_down.max_back_off)
