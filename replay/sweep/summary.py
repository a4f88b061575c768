"""What a sweep found: for each trace and policy the mean and spread over seeds, and who is beaten by nobody.

The same cells give the same summary, in whatever order and on however many workers they were run: CPU time is not
in it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum, sqrt

from replay.headline import Headline
from replay.report.front import Standing, front
from replay.sweep.cells import Cell

_FIGURES: Mapping[str, Callable[[Headline], float | None]] = {
    "mean_wait_h": lambda it: it.mean_wait_h,
    "p99_wait_h": lambda it: it.p99_wait_h,
    "cloud_cost": lambda it: float(it.cloud_cost.amount),
    "cloud_gpu_h": lambda it: it.cloud_gpu_h,
    "paid_gpu_h": lambda it: it.paid_gpu_h,
    "on_prem_use": lambda it: it.on_prem_use,
    "cloud_use": lambda it: it.cloud_use,
    "idle_share": lambda it: it.idle_share,
    "core_served": lambda it: it.core_served,
    "lost_h": lambda it: it.lost_h,
    "unfinished": lambda it: float(it.unfinished),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """A figure over seeds; `deviation` is the sample's standard deviation, 0 for one seed."""

    mean: float
    deviation: float
    least: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One policy on one trace. A figure is None where no seed has it, or no such thing exists in the world."""

    trace: str
    policy: str
    seeds: tuple[int, ...]
    currency: str
    figures: Mapping[str, Spread | None]
    is_best_by_mean: bool = False
    is_best_by_p99: bool = False

    def mean(self, figure: str) -> float:
        """The figure's mean; 0 where there is none."""
        found = self.figures[figure]
        return 0.0 if found is None else found.mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """Rows in the order of the call: by trace, then by policy. `failed`: names of cells, and why."""

    rows: tuple[Row, ...]
    failed: tuple[tuple[str, str], ...]


def summary(cells: Sequence[Cell], found: Mapping[str, Headline], failed: Mapping[str, str]) -> Summary:
    """Of all cells that have figures; `found` and `failed` by identity."""
    grouped: dict[tuple[str, str, str], list[tuple[int, Headline]]] = {}
    for cell in cells:
        if (headline := found.get(cell.identity)) is not None:
            key = (cell.file.digest, cell.trace, cell.entrant.name)
            grouped.setdefault(key, []).append((cell.seed, headline))
    by_trace: dict[str, list[Row]] = {}
    for (digest, trace, policy), members in grouped.items():
        by_trace.setdefault(digest, []).append(_row(trace, policy, sorted(members, key=lambda member: member[0])))
    rows = [row for group in by_trace.values() for row in _marked(group)]
    told = [(cell.name, failed[cell.identity]) for cell in cells if cell.identity in failed]
    return Summary(rows=tuple(rows), failed=tuple(told))


def as_data(found: Summary) -> Mapping[str, object]:
    """For machines: rows with every figure's spread, the currency beside, and the marks of the front."""
    return {
        "rows": [
            {
                "trace": row.trace,
                "policy": row.policy,
                "seeds": list(row.seeds),
                "currency": row.currency,
                "pareto_cost_mean_wait": row.is_best_by_mean,
                "pareto_cost_p99_wait": row.is_best_by_p99,
                **{name: _spread_data(spread) for name, spread in row.figures.items()},
            }
            for row in found.rows
        ],
        "failed": [{"cell": name, "why": why} for name, why in found.failed],
    }


def _spread_data(spread: Spread | None) -> Mapping[str, float] | None:
    if spread is None:
        return None
    return {"mean": spread.mean, "sd": spread.deviation, "min": spread.least, "max": spread.most}


def _row(trace: str, policy: str, members: Sequence[tuple[int, Headline]]) -> Row:
    headlines = [headline for _, headline in members]
    return Row(
        trace=trace,
        policy=policy,
        seeds=tuple(seed for seed, _ in members),
        currency=headlines[0].cloud_cost.currency,
        figures={name: _spread([take(headline) for headline in headlines]) for name, take in _FIGURES.items()},
    )


def _spread(values: Sequence[float | None]) -> Spread | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = fsum(known) / len(known)
    square = fsum((value - mean) ** 2 for value in known) / (len(known) - 1) if len(known) > 1 else 0.0
    return Spread(mean=mean, deviation=sqrt(square), least=min(known), most=max(known))


def _marked(rows: Sequence[Row]) -> list[Row]:
    by_mean, by_p99 = (front([_standing(row, wait) for row in rows]) for wait in ("mean_wait_h", "p99_wait_h"))
    return [
        replace(row, is_best_by_mean=mean, is_best_by_p99=p99)
        for row, mean, p99 in zip(rows, by_mean, by_p99, strict=True)
    ]


def _standing(row: Row, wait: str) -> Standing:
    return Standing(cost=row.mean("cloud_cost"), wait=row.mean(wait), unfinished=row.mean("unfinished"))
