"""Jobs that could never run anywhere are named before a replay begins, or left out and counted.

A job larger than everything would queue to the end of time and make every figure of the run meaningless.
"""

from __future__ import annotations

from dataclasses import replace

from agent.core.policy import Policy
from contract.catalog import PoolRow
from contract.problems import InvalidInput, Problem
from contract.units import GiB
from replay.contest import Arena, World
from replay.site.hosting import hosting
from replay.site.run import queued_task
from replay.trace import Job, Trace

_SHOWN = 20


def fitting(arena: Arena, policy: Policy, *, skip_bad: bool) -> Trace:
    """The arena's trace without jobs that fit nowhere. Raises InvalidInput with them unless `skip_bad`."""
    trace = arena.trace
    if not trace.jobs:
        raise InvalidInput([_problem(trace, "the trace", "it holds no jobs", "give a trace with jobs")])
    owned = arena.owned_nodes * arena.per_node
    memory = max((row.gpu_memory for row in arena.catalog.onprem_pools()), default=GiB(0))
    is_instant = arena.world is World.INSTANT
    too_large = [
        job
        for job in trace.jobs
        if (job.gpus > owned or (job.gpu_memory > memory and not is_instant)) and not _has_pool(arena, policy, job)
    ]
    if not too_large:
        return trace
    problems = tuple(
        _problem(
            trace,
            job.name,
            f"{job.gpus} GPUs of {job.gpu_memory} GiB fit neither the {owned} owned ones nor any pool that may host it "
            "within quota and the policy's limits",
            "give more owned GPUs (--on-prem), raise a quota or a limit, or leave it out (--skip-bad)",
        )
        for job in too_large
    )
    if not skip_bad:
        more = len(problems) - _SHOWN
        rest = [_problem(trace, "the trace", f"{more} more jobs fit nowhere", problems[0].fix)] if more > 0 else []
        raise InvalidInput([*problems[:_SHOWN], *rest])
    gone = {job.name for job in too_large}
    left = tuple(job for job in trace.jobs if job.name not in gone)
    if not left:
        raise InvalidInput([_problem(trace, "the trace", "no job fits anywhere", problems[0].fix)])
    return replace(trace, jobs=left, bad_rows=(*trace.bad_rows, *problems))


def _has_pool(arena: Arena, policy: Policy, job: Job) -> bool:
    """Whether a rented pool could ever take the whole job; the instant world has no pools."""
    if arena.world is World.INSTANT:
        return False
    may_host = hosting(policy.placement)
    task = queued_task(job, arena.trace.starts_at)
    rows = arena.catalog.cloud_pools()
    return any(may_host(task, row) and job.gpus <= _most_nodes(row, policy) * row.gpus_per_node for row in rows)


def _most_nodes(row: PoolRow, policy: Policy) -> int:
    """What one gang can get there at once: quota, the policy's limits, and a step where no gang may exceed it."""
    limits = policy.limits
    most = min(row.quota, limits.max_nodes_in.get(row.pool, row.quota), limits.max_cloud_nodes)
    return int(most if policy.placement.gang_may_exceed_step else min(most, policy.queue_pressure.max_step))


def _problem(trace: Trace, where: str, message: str, fix: str) -> Problem:
    return Problem(file=trace.name, where=where, message=message, fix=fix)
