"""Interruptible work with a deadline: rent spot, rent what stays, or wait for spot (R6.3, uniform_progress.py).

Asked for tasks that should leave, anew at every look, so that a task which waits for spot goes on-demand once
only steady nodes can still meet its deadline. What an earlier machine has done of it is not known here: a
task that came back to the queue counts as not begun, which errs on the side of the deadline.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from agent.core.eligibility import Host, Misfits, demand_of
from agent.core.market import Offer
from agent.core.patience import Parting, Stay
from agent.core.policy import Policy
from agent.core.snapshot import QueuedTask
from agent.core.uniform_progress import Place, Progress, Rule, choose
from contract.catalog import Billing
from contract.units import show_duration

_STEADY = tuple(way for way in Billing if way not in (Billing.SPOT, Billing.OWNED))
# What is paid anyway or goes away by the clock is no dearer than spot, and safer.
_THRIFTY = tuple(way for way in Billing if way not in (Billing.ON_DEMAND, Billing.OWNED))


def keep_deadlines(parting: Parting, market: Sequence[Offer], policy: Policy, now: datetime) -> Parting:
    """Of the leaving, each interruptible task with a deadline gets the ways of paying that suit it, or waits."""
    if not any(task.deadline for task in parting.leaving):
        return parting
    misfits = Misfits([Host(offer.row, offer.row.node_labels()) for offer in market], policy.placement)
    going, staying = [], []
    for task in parting.leaving:
        unfit = misfits.of(demand_of(task)) if task.deadline else {}
        suited = [offer for number, offer in enumerate(market) if number not in unfit]
        progress = _progress(task, suited, policy)
        if progress is None:
            going.append(task)
        elif why := _waits(progress, now):
            staying.append(Stay(task=task, starts_in=policy.sampling.every, why=f"for its deadline: {why}"))
        else:
            ways = _THRIFTY if choose(progress, now).where is Place.SPOT else _STEADY
            # Where kind and tier leave no such pool, the deadline must not take the last one away.
            is_any = any(offer.row.billing in ways for offer in suited)
            going.append(replace(task, paid_by=ways) if is_any else task)
    return Parting(leaving=tuple(going), staying=(*staying, *parting.staying))


def _waits(progress: Progress, now: datetime) -> str | None:
    """Why it is better to wait for spot; None when it is not.

    The straight line is for work that is under way. What has not begun is behind it from the first second, and
    waits for spot as long as steady nodes can still do all of it in time: the safety net, which is asked first.
    """
    choice = choose(progress, now)
    if choice.rule is not Rule.UNIFORM_PROGRESS:
        return None
    return f"no spot is to be had, and {show_duration(progress.slack(now))} could pass before it must begin"


def _progress(task: QueuedTask, suited: Sequence[Offer], policy: Policy) -> Progress | None:
    """Where the task stands; None for one that has no choice: not interruptible, no deadline, no known runtime."""
    if not task.preemptible or task.deadline is None or task.runtime is None:
        return None
    boots = [offer.row.boot.slowest for offer in suited]
    return Progress(
        started_at=task.queued_since,
        deadline=task.deadline,
        work=task.runtime,
        done=timedelta(0),
        changeover=max(boots, default=timedelta(0)) + min(task.runtime, policy.placement.checkpoint_every),
        is_spot_available=any(offer.row.is_preemptible and not offer.closed and offer.room for offer in suited),
        look_every=policy.sampling.every,
    )
