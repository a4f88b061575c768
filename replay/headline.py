"""The headline figures of one policy on one trace, the same whatever the semantics: what reports, JSON and sweeps show.

Arithmetic over what happened; nothing is decided or drawn here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise
from math import fsum, inf

from contract.catalog import Catalog, PoolRow
from contract.units import Money
from contract.work import Tier
from replay.instant.jobs import Outcome, percentile
from replay.site.run import Replay, Turn
from replay.trace import Job, Trace

_SERVED_WITHIN_S = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """Figures of one run. Shares from 0 to 1; `cloud_gpu_h` is work done in the cloud, `paid_gpu_h` what was rented.

    `idle_share`: of the rented time, the part of ready nodes without any work. `direction_changes`: how often
    growing and giving back took turns. `deadlines_met`: share of the jobs with a deadline that ended by it.
    `unfinished`: jobs that had not ended when the run was broken off; waits count them as far as they had waited, run
    times do not. `core_served`: share of production-core jobs that started within 15 min.
    `response_p95_min`: minutes from a decision to its nodes' GPUs. `seconds`: CPU time of the run. None: no such thing
    in these semantics.
    """

    policy: str
    jobs: int
    cloud_jobs: int
    mean_wait_h: float
    p99_wait_h: float
    mean_jct_h: float
    cloud_gpu_h: float
    paid_gpu_h: float
    cloud_cost: Money
    on_prem_use: float
    cloud_use: float | None
    idle_share: float | None
    direction_changes: int | None
    response_p95_min: float | None
    lost_h: float
    unfinished: int
    core_served: float | None
    seconds: float
    deadlines_met: float | None = None
    wait_by_tier: Mapping[str, float] = field(default_factory=dict)
    spend_by_department: Mapping[str, Money] = field(default_factory=dict)


def headline_of_outcome(name: str, trace: Trace, outcome: Outcome, gpu_hour: Money, seconds: float) -> Headline:
    """Of a run in Starburst's semantics; a GPU-hour of cloud costs `gpu_hour`."""
    waits = outcome.waits_h()
    cloud = outcome.cloud_gpu_h
    spend: defaultdict[str, float] = defaultdict(float)
    for job, away in zip(trace.jobs, outcome.in_cloud, strict=True):
        spend[job.department] += job.gpu_hours if away else 0.0
    return Headline(
        policy=name,
        jobs=len(waits),
        cloud_jobs=sum(outcome.in_cloud),
        mean_wait_h=_mean(waits),
        p99_wait_h=percentile(waits, 0.99),
        mean_jct_h=_mean(waits) + _mean(outcome.columns.runtime_h),
        cloud_gpu_h=cloud,
        paid_gpu_h=cloud,
        cloud_cost=_times(gpu_hour, cloud),
        on_prem_use=outcome.on_prem_use,
        cloud_use=None,
        idle_share=None,
        direction_changes=None,
        response_p95_min=None,
        lost_h=0.0,
        unfinished=0,
        core_served=_served(trace.jobs, [wait * 3600 for wait in waits]),
        seconds=seconds,
        wait_by_tier=_by_tier(trace.jobs, waits),
        spend_by_department={name: _times(gpu_hour, work) for name, work in sorted(spend.items())},
    )


def headline_of_replay(replay: Replay) -> Headline:
    """Of a run with the whole truth on."""
    trace, catalog = replay.ground.trace, replay.ground.catalog
    done = [(job, story) for job, story in zip(trace.jobs, replay.stories, strict=True) if story.ended_s < inf]
    minimum, end = replay.ground.truth.minimum_billing_s, replay.end_s
    # Who never started has waited until the end: left out, starving would look like no wait at all.
    pairs = zip(trace.jobs, replay.stories, strict=True)
    waits = [(min(story.started_s, max(end, job.arrival_s)) - job.arrival_s) / 3600 for job, story in pairs]
    paid = [machine.paid_s(minimum, end) for machine in replay.machines]
    paid_gpu_s = fsum(s * m.row.gpus_per_node for s, m in zip(paid, replay.machines, strict=True))
    empty_gpu_s = fsum(m.empty_s * m.row.gpus_per_node for m in replay.machines)
    used_gpu_s = fsum(story.cloud_gpu_s for story in replay.stories)
    cost = _zero(catalog)
    for seconds, machine in zip(paid, replay.machines, strict=True):
        cost += _hourly(catalog, machine.row, seconds / 3600)
    ready = sorted((m.ready_s - m.ordered_s) / 60 for m in replay.machines if m.ready_s < inf)
    return Headline(
        policy=replay.name,
        jobs=len(trace.jobs),
        cloud_jobs=sum(story.cloud_gpu_s > 0 for story in replay.stories),
        mean_wait_h=_mean(waits),
        p99_wait_h=percentile(waits, 0.99),
        mean_jct_h=_mean([(story.ended_s - job.arrival_s) / 3600 for job, story in done]),
        cloud_gpu_h=used_gpu_s / 3600,
        paid_gpu_h=paid_gpu_s / 3600,
        cloud_cost=cost.rounded(),
        on_prem_use=_home_use(replay),
        cloud_use=used_gpu_s / paid_gpu_s if paid_gpu_s else None,
        idle_share=empty_gpu_s / paid_gpu_s if paid_gpu_s else None,
        direction_changes=direction_changes(replay.turns),
        response_p95_min=percentile(ready, 0.95) if ready else None,
        lost_h=fsum(story.lost_s for story in replay.stories) / 3600,
        unfinished=len(trace.jobs) - len(done),
        core_served=_served(trace.jobs, [wait * 3600 for wait in waits]),
        seconds=replay.seconds,
        wait_by_tier=_by_tier(trace.jobs, waits),
        deadlines_met=_met(replay),
        spend_by_department=_spend(replay, cost),
    )


def direction_changes(turns: Sequence[Turn]) -> int:
    """How often a growth follows a give-back or the other way round."""
    signs = [sum(change.delta for change in turn.changes) > 0 for turn in turns]
    return sum(before != after for before, after in pairwise(signs))


def _spend(replay: Replay, cost: Money) -> dict[str, Money]:
    """Each department's share of the bill by the GPU-time that its jobs had in the cloud; idle time goes with it."""
    used: defaultdict[str, float] = defaultdict(float)
    for job, story in zip(replay.ground.trace.jobs, replay.stories, strict=True):
        used[job.department] += story.cloud_gpu_s
    total = fsum(used.values())
    if not total:
        return {}
    return {name: _times(cost, seconds / total) for name, seconds in sorted(used.items()) if seconds}


def _home_use(replay: Replay) -> float:
    """Share of the owned GPUs' time in use from the first to the last arrival, from the steps of the run."""
    ground = replay.ground
    last = ground.trace.jobs[-1].arrival_s if ground.trace.jobs else 0.0
    if last <= 0:
        return 0.0
    used, before, busy = 0.0, 0.0, 0
    for at, _, _, now_busy in replay.steps:
        used += busy * max(0.0, min(at, last) - before)
        before, busy = min(at, last), now_busy
    used += busy * max(0.0, last - before)
    return used / (ground.owned_nodes * ground.per_node * last)


def _served(jobs: Sequence[Job], waits_s: Sequence[float]) -> float | None:
    core = [wait for job, wait in zip(jobs, waits_s, strict=True) if job.tier is Tier.PRODUCTION_CORE]
    return sum(wait <= _SERVED_WITHIN_S for wait in core) / len(core) if core else None


def _met(replay: Replay) -> float | None:
    pairs = zip(replay.ground.trace.jobs, replay.stories, strict=True)
    ends = [story.ended_s <= job.deadline_s for job, story in pairs if job.deadline_s is not None]
    return sum(ends) / len(ends) if ends else None


def _by_tier(jobs: Sequence[Job], waits: Sequence[float]) -> dict[str, float]:
    found: defaultdict[Tier, list[float]] = defaultdict(list)
    for job, wait in zip(jobs, waits, strict=True):
        found[job.tier].append(wait)
    return {tier.value: _mean(found[tier]) for tier in Tier if tier in found}


def _mean(values: Sequence[float]) -> float:
    return fsum(values) / len(values) if values else 0.0


def _zero(catalog: Catalog) -> Money:
    return Money(Decimal(0), catalog.home_currency)


def _hourly(catalog: Catalog, row: PoolRow, hours: float) -> Money:
    return _times(catalog.in_home_currency(row.price), hours)


def _times(money: Money, factor: float) -> Money:
    """Seconds and shares are floats; to a tenth of a microcent they are exact enough for a report."""
    return money * Decimal(f"{factor:.9f}")
