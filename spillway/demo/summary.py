"""The headline figures of a demo run, from what was measured in it; nothing here is a constant."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from contract.units import Money
from sim.client import TwinResults
from sim.world.results import Results
from spillway.demo.observe import Log


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """All figures; the JSON document has the same names."""

    ticks: int
    simulated_hours: float
    pulumi_updates: int
    pulumi_updates_by_stack: dict[str, int]
    trigger_to_request_seconds: float | None
    trigger_to_gpu_ready_seconds: float | None
    nodes_bought: int
    nodes_returned: int
    nodes_left: int
    jobs_total: int
    jobs_finished: int
    jobs_lost: int
    cloud_cost: float
    currency: str
    burst_at_once_cost: float
    burst_exactly_cost: float
    local_gpu_use: float
    cloud_gpu_use: float
    mean_wait_seconds: float | None
    burst_at_once_mean_wait_seconds: float | None
    burst_exactly_mean_wait_seconds: float | None
    decisions: int
    held_ticks: int
    wall_seconds: float

    def write(self, path: Path) -> None:
        """Write the JSON document, whole or not at all."""
        partial = path.with_name(f".{path.name}.partial")
        document = {name: getattr(self, name) for name in self.__slots__}
        partial.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        os.replace(partial, path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """The raw material of a summary."""

    log: Log
    results: TwinResults
    at_once: Results
    exactly: Results
    updates: dict[str, int]
    simulated: timedelta
    wall_seconds: float


def summarise(course: Course) -> Summary:
    """Put the figures together."""
    results, log = course.results, course.log
    waits = results.document["waits"]
    return Summary(
        ticks=log.ticks,
        simulated_hours=round(course.simulated / timedelta(hours=1), 2),
        pulumi_updates=sum(course.updates.values()),
        pulumi_updates_by_stack=course.updates,
        trigger_to_request_seconds=_longest(log.request_delays()),
        trigger_to_gpu_ready_seconds=_longest(log.ready_delays()),
        nodes_bought=results.nodes_bought,
        nodes_returned=results.nodes_bought - results.nodes_left,
        nodes_left=results.nodes_left,
        jobs_total=results.jobs_total,
        jobs_finished=results.jobs_finished,
        jobs_lost=results.jobs_lost,
        cloud_cost=_amount(results.cloud_cost),
        currency=results.cloud_cost.currency,
        burst_at_once_cost=_amount(course.at_once.cloud_cost),
        burst_exactly_cost=_amount(course.exactly.cloud_cost),
        local_gpu_use=round(results.local_use or 0.0, 4),
        cloud_gpu_use=round(results.cloud_use or 0.0, 4),
        mean_wait_seconds=round(waits["mean_s"], 1) if waits else None,
        burst_at_once_mean_wait_seconds=_mean_wait(course.at_once),
        burst_exactly_mean_wait_seconds=_mean_wait(course.exactly),
        decisions=len(log.acted),
        held_ticks=len(log.failures),
        wall_seconds=round(course.wall_seconds, 1),
    )


def _longest(delays: list[timedelta]) -> float | None:
    """The worst case: a promise is about the slowest step, not the mean."""
    return round(max(delays).total_seconds(), 1) if delays else None


def _amount(money: Money) -> float:
    """For JSON readers; the exact digits are in the ledger and the twin's bill."""
    return float(money.rounded().amount)


def _mean_wait(results: Results) -> float | None:
    return round(results.waits.mean_s, 1) if results.waits else None
