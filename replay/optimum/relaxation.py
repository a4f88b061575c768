"""The Lagrangian relaxation behind the lower bound: jobs that share nothing but prices.

Let wait cost `x` GPU-h an hour and GPU time at moment t cost `p(t)`, both 0 or more, p constant in each cell of a grid.
Every feasible schedule S, with cloud cost c(S), has total wait at most B and never more than C GPUs in use, so

    c(S) >= c(S) + x (wait(S) - B) + integral of p(t) (used(t) - C) dt
         >= sum over jobs of min(cloud cost, min over starts s >= arrival of x (s - arrival) + g (P(s + r) - P(s)))
            - x B - C P(end),          P the integral of p.

The last line needs no solver's word. No job may wait more than B, and one that waits cloud cost / x or more is no
cheaper than the cloud; until then its cost is linear in s between the points where s or s + r crosses a cell's edge, so
its minimum is at the arrival, at an edge, a runtime before an edge, or at the latest start. All of these are tried, in
continuous time: the grid limits which prices there are, not when jobs start. So any prices give a bound, and the search
in `bound` looks only for good ones. Nodes are pooled here: 8 N GPUs, no packing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Jobs as columns (h, h, GPUs), GPUs of all nodes together, and the hours of wait allowed in all."""

    arrival_h: Floats
    runtime_h: Floats
    gpus: Floats
    capacity: float
    wait_budget_h: float

    @property
    def work(self) -> Floats:
        """Cloud cost of each job, GPU-h."""
        return self.gpus * self.runtime_h


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """GPU-h for an hour of wait, and GPU-h for a GPU-hour on-prem in each cell of the grid."""

    wait: float
    cells: Floats


class Relaxation:
    """All starts worth trying, as rows of a sparse matrix on P at the edges; wait costs `least_price` or more."""

    def __init__(self, pool: Pool, edges: Floats, least_price: float) -> None:
        self.pool, self.edges, self.least_price = pool, edges, least_price
        self.width = np.diff(edges)
        self.job, start = _candidates(pool, edges, least_price)
        self.first: Ints = np.searchsorted(self.job, np.arange(len(pool.gpus)))
        self.waits = start - pool.arrival_h[self.job]
        self._held: Any = _held(edges, start, start + pool.runtime_h[self.job], pool.gpus[self.job])
        self._held_transposed: Any = self._held.T.tocsr()

    def value(self, prices: Prices) -> float:
        """The bound that the prices prove, GPU-h (before rounding is allowed for)."""
        least = np.minimum(np.minimum.reduceat(self._costs(prices), self.first), self.pool.work)
        return float(least.sum()) - self._charge(prices)

    def smoothed(self, prices: Prices, softness: float) -> tuple[float, Prices, float]:
        """The value with each minimum softened (GPU-h), its gradient, and the true value: for the ascent only."""
        costs, work = self._costs(prices), self.pool.work
        least = np.minimum(np.minimum.reduceat(costs, self.first), work)
        weight = np.exp((least[self.job] - costs) / softness)
        total = np.add.reduceat(weight, self.first) + np.exp((least - work) / softness)
        share = weight / total[self.job]
        slope = np.cumsum((self._held_transposed @ share)[::-1])[::-1][1:]
        gradient = Prices(
            wait=float(share @ self.waits) - self.pool.wait_budget_h, cells=(slope - self.pool.capacity) * self.width
        )
        charge = self._charge(prices)
        return float((least - softness * np.log(total)).sum()) - charge, gradient, float(least.sum()) - charge

    def _costs(self, prices: Prices) -> Floats:
        """Cost of every candidate start, GPU-h."""
        if prices.wait < self.least_price or prices.cells.min(initial=0.0) < 0:
            raise ValueError("a price is below its least: the starts tried would not be all")
        integral = np.concatenate([[0.0], np.cumsum(prices.cells * self.width)])
        costs: Floats = prices.wait * self.waits + self._held @ integral
        return costs

    def _charge(self, prices: Prices) -> float:
        spent = float(prices.cells @ self.width)
        return prices.wait * self.pool.wait_budget_h + self.pool.capacity * spent


def _candidates(pool: Pool, edges: Floats, least_price: float) -> tuple[Ints, Floats]:
    """Job and start of every candidate: the arrival, the latest, edges, and runtimes before edges; by job."""
    arrival, runtime = pool.arrival_h, pool.runtime_h
    # Wider by a rounding than the proof asks for.
    latest = arrival + np.minimum(pool.wait_budget_h, pool.work / least_price) * (1 + 1e-9)
    jobs, hits = _ranges(np.searchsorted(edges, arrival, "right"), np.searchsorted(edges, latest, "right"))
    ends = arrival + runtime
    jobs_by_end, hits_by_end = _ranges(
        np.searchsorted(edges, ends, "right"), np.searchsorted(edges, latest + runtime, "right")
    )
    by_end = np.maximum(edges[hits_by_end] - runtime[jobs_by_end], arrival[jobs_by_end])
    every = np.arange(len(arrival))
    job = np.concatenate([every, every, jobs, jobs_by_end])
    start = np.concatenate([arrival, latest, edges[hits], by_end])
    order = np.argsort(job, kind="stable")
    return job[order], start[order]


def _ranges(low: Ints, high: Ints) -> tuple[Ints, Ints]:
    """All whole numbers from low to high of each row, with their row."""
    lengths = np.maximum(high - low, 0)
    rows = np.repeat(np.arange(len(low)), lengths)
    offsets = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return rows, np.repeat(low, lengths) + offsets


def _held(edges: Floats, start: Floats, end: Floats, gpus: Floats) -> Any:
    """Matrix that turns P at the edges into g (P(end) - P(start)), by linear interpolation; P is flat outside."""
    cell_of_end, past_end = _position(edges, end)
    cell_of_start, past_start = _position(edges, start)
    rows = np.arange(len(start))
    values = [gpus * (1 - past_end), gpus * past_end, -gpus * (1 - past_start), -gpus * past_start]
    columns = [cell_of_end, cell_of_end + 1, cell_of_start, cell_of_start + 1]
    return sparse.csr_matrix(
        (np.concatenate(values), (np.tile(rows, 4), np.concatenate(columns))), shape=(len(start), len(edges))
    )


def _position(edges: Floats, when: Floats) -> tuple[Ints, Floats]:
    """Cell of each moment, and how far into it, 0 to 1."""
    cell = np.clip(np.searchsorted(edges, when, "right") - 1, 0, len(edges) - 2)
    return cell, np.clip((when - edges[cell]) / (edges[cell + 1] - edges[cell]), 0.0, 1.0)
