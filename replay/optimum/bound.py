"""A proved lower bound on the cloud GPU-hours of every schedule, for traces of any size: good prices, then the proof.

The ascent (smoothed minima, L-BFGS, coarse grid to fine) only proposes prices. The bound is `Relaxation.value` at the
best of them, which holds for any prices; see `relaxation` for the proof and docs/optimum.md for what it ignores.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from replay.optimum.model import GPUS_PER_NODE, Bound, Instance, instance_of
from replay.optimum.relaxation import Floats, Pool, Prices, Relaxation
from replay.trace import Job

# Share of the total work by which a computed value is lowered: far above the rounding of its sums.
ROUNDING = 1e-9
# Softness of the minima, as shares of the mean work of a job: from easy to nearly exact.
_SOFTNESS = (0.3, 0.1, 0.03, 0.01, 0.003, 0.001, 0.0003)

# How often the least price of wait may be lowered, by 4 each time.
_LOWERINGS = 3
# Starts tried at once: some 250 bytes each.
_MOST_STARTS = 4e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Fineness:
    """How hard to look for prices: grid cells at the end, iterations a step, and a limit in seconds.

    More never makes the bound wrong, only higher. With a limit that is reached the result depends on the machine.
    """

    cells: int = 4000
    iterations: int = 100
    seconds: float = 300.0


class _OutOfTime(Exception):
    """The ascent has used its seconds; the best prices so far stand."""


def lower_bound(jobs: Sequence[Job], nodes: int, max_mean_wait_h: float, fineness: Fineness | None = None) -> Bound:
    """The bound in GPU-hours, at least the work of jobs that no empty cluster holds. Raises `IllPosed`."""
    started = time.perf_counter()
    instance = instance_of(jobs, nodes, max_mean_wait_h)
    fits = [job for job in range(instance.size) if instance.fits_cluster(job)]
    forced = sum(instance.work_gpu_h(job) for job in range(instance.size) if not instance.fits_cluster(job))
    gained = _Ascent(_pool(instance, fits), fineness or Fineness(), started).run() if fits else 0.0
    total = sum(instance.work_gpu_h(job) for job in range(instance.size))
    return Bound(
        gpu_h=float(max(0.0, forced + max(0.0, gained) - ROUNDING * total)),
        method="Lagrangian: priced wait and priced pooled GPU time",
        seconds=time.perf_counter() - started,
    )


def _pool(instance: Instance, jobs: list[int]) -> Pool:
    """The jobs that could run on-prem; the wait budget stays that of all."""
    return Pool(
        arrival_h=np.array([instance.arrival_h[job] for job in jobs]),
        runtime_h=np.array([instance.runtime_h[job] for job in jobs]),
        gpus=np.array([instance.gpus[job] for job in jobs], dtype=np.float64),
        capacity=float(GPUS_PER_NODE * instance.nodes),
        wait_budget_h=instance.wait_budget_h,
    )


class _Ascent:
    """Looks for prices of a high value; keeps the best value met."""

    def __init__(self, pool: Pool, fineness: Fineness, started: float) -> None:
        self.pool, self.fineness = pool, fineness
        self.ends_at = started + fineness.seconds
        self.best = 0.0
        self.best_prices: Prices | None = None

    def run(self) -> float:
        """The best value, GPU-h."""
        try:
            self._climb()
        except _OutOfTime:
            return self.best
        return self.best

    def _climb(self) -> None:
        """Coarse to fine: where prices are high, and the price of wait, carry over."""
        least = self._least_price()
        edges = self._edges(max(1, self.fineness.cells // 8))
        prices = Prices(wait=3 * least, cells=np.full(len(edges) - 1, 0.1))
        for _ in range(_LOWERINGS):
            prices = self._anneal(edges, least, prices, _SOFTNESS)
            if prices.wait > 1.01 * least:
                break
            least /= 4
        for share in (4, 2, 1):
            finer = self._edges(max(1, self.fineness.cells // share))
            middles = (finer[1:] + finer[:-1]) / 2
            carried = np.clip(np.searchsorted(edges, middles, "right") - 1, 0, len(edges) - 2)
            prices, edges = Prices(wait=prices.wait, cells=prices.cells[carried]), finer
            least = min(prices.wait, max(least, prices.wait / 2))
            prices = self._anneal(edges, least, prices, _SOFTNESS[-3:])

    def _anneal(self, edges: Floats, least_price: float, prices: Prices, softness: Sequence[float]) -> Prices:
        """One ascent for each softness, each from where the last one ended."""
        least = self._affordable(edges, least_price)
        prices = Prices(wait=max(prices.wait, least), cells=prices.cells)
        relaxation = Relaxation(self.pool, edges, least)
        mean_work = float(self.pool.work.mean())
        for share in softness:
            prices = self._ascend(relaxation, prices, share * mean_work)
        return prices

    def _least_price(self) -> float:
        """A price of wait that is low, but no lower than memory allows; `_climb` lowers it when the best is there."""
        budget = max(self.pool.wait_budget_h, 1e-6 * float(self.pool.runtime_h.mean()))
        return 2e-2 * float(self.pool.work.sum()) / budget

    def _affordable(self, edges: Floats, least_price: float) -> float:
        """The least price, raised until memory holds all the starts that it lets in."""
        width, span = float(edges[1] - edges[0]), float(edges[-1] - edges[0])
        while True:
            latest = np.minimum(min(self.pool.wait_budget_h, span), self.pool.work / least_price)
            if 2 * float(latest.sum()) / width <= _MOST_STARTS:
                return least_price
            least_price *= 1.5

    def _edges(self, cells: int) -> Floats:
        """From the first arrival to a while after the last; GPU time is free of charge beyond."""
        first, last = float(self.pool.arrival_h.min()), float(self.pool.arrival_h.max())
        return np.linspace(first, last + 4 * float(self.pool.runtime_h.mean()), cells + 1)

    def _ascend(self, relaxation: Relaxation, prices: Prices, softness: float) -> Prices:
        """L-BFGS on the smoothed value from the given prices."""

        def downhill(point: Floats) -> tuple[float, Floats]:
            if time.perf_counter() > self.ends_at:
                raise _OutOfTime
            # The optimizer may step over its limits by a rounding.
            here = Prices(wait=max(float(point[0]), relaxation.least_price), cells=np.maximum(point[1:], 0.0))
            smooth, gradient, exact = relaxation.smoothed(here, softness)
            if exact > self.best:
                self.best, self.best_prices = exact, Prices(wait=here.wait, cells=here.cells.copy())
            return -smooth, -np.concatenate([[gradient.wait], gradient.cells])

        limits = [(relaxation.least_price, None)] + [(0.0, None)] * len(prices.cells)
        steps = self.fineness.iterations
        found = minimize(
            downhill,
            np.concatenate([[prices.wait], prices.cells]),
            jac=True,
            method="L-BFGS-B",
            bounds=limits,
            options={"maxiter": steps, "maxfun": 2 * steps, "maxcor": 20},
        )
        return Prices(wait=max(float(found.x[0]), relaxation.least_price), cells=np.maximum(found.x[1:], 0.0))
