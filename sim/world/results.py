"""The figures of a whole run: jobs, waits, money, use. Made from records, changes nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from contract.units import Money
from sim.world.bill import Bill
from sim.world.gpu_use import GpuSeconds, UseMeter
from sim.world.workload import Run, RunState

if TYPE_CHECKING:
    from sim.world.dispatch import Dispatcher
    from sim.world.fleet import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """Seconds from submission to first start, over the jobs that started."""

    mean_s: float
    p50_s: float
    p99_s: float
    longest_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """`jobs_lost` counts jobs that a scale-in killed at least once; they started again."""

    jobs_total: int
    jobs_queued: int
    jobs_running: int
    jobs_finished: int
    jobs_lost: int
    restarts: int
    waits: Waits | None
    wasted_gpu_s: float
    local: GpuSeconds
    cloud: GpuSeconds
    nodes_bought: int
    nodes_left: int
    cloud_cost: Money
    cost_by_pool: dict[str, Money]


def make_results(dispatcher: Dispatcher, meter: UseMeter, fleet: Fleet, bill: Bill) -> Results:
    """Put the figures together."""
    runs = dispatcher.runs
    states = [run.state for run in runs]
    return Results(
        jobs_total=len(runs),
        jobs_queued=states.count(RunState.QUEUED),
        jobs_running=states.count(RunState.RUNNING),
        jobs_finished=states.count(RunState.FINISHED),
        jobs_lost=sum(run.lost > 0 for run in runs),
        restarts=sum(run.restarts for run in runs),
        waits=_waits(runs),
        wasted_gpu_s=dispatcher.wasted_gpu_s,
        local=meter.local(),
        cloud=meter.cloud(),
        nodes_bought=len(bill.charges),
        nodes_left=sum(charge.is_open for charge in bill.charges),
        cloud_cost=bill.total,
        cost_by_pool=bill.by_pool(),
    )


def _waits(runs: Sequence[Run]) -> Waits | None:
    waits = sorted(wait for run in runs if (wait := run.wait_s) is not None)
    if not waits:
        return None
    return Waits(
        mean_s=fmean(waits),
        p50_s=_rank(waits, 0.50),
        p99_s=_rank(waits, 0.99),
        longest_s=waits[-1],
    )


def _rank(ordered: Sequence[float], share: float) -> float:
    """Nearest rank: a value that really occurred."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
