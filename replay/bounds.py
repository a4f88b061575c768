"""How good any policy could have been on a trace: the optimum where it is small, else a proved bound (replay/optimum).

Asked at the mean wait of the policy that is judged, in Starburst's semantics: what boots, steps and stock add in the
real world only makes things dearer, so that the bound holds there too. Chooses effort by size; proves nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from replay.contest import Arena, Result, World
from replay.optimum.bound import Fineness, lower_bound
from replay.optimum.exact import exact
from replay.optimum.model import Schedule

_EXACT_UP_TO = 9
_FINE_UP_TO = 2_000
# Coarser for larger traces, so that a report stays a matter of a minute.
_FINE, _COARSE = Fineness(cells=2000, iterations=60, seconds=60), Fineness(cells=800, iterations=40, seconds=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Best:
    """GPU-hours in the cloud that no schedule of the same mean wait can do without; `is_optimum`: one does with them.

    `gap`: share of the judged policy's GPU-hours that is above it; None where it uses no cloud.
    """

    gpu_h: float
    mean_wait_h: float
    is_optimum: bool
    gap: float | None
    how: str


def best_possible(arena: Arena, results: Sequence[Result]) -> Best | None:
    """Of the first result. None where nothing can be said: wrong GPU size, nothing in the cloud, no positive bound."""
    judged = results[0].headline
    jobs, nodes, wait = arena.trace.jobs, arena.owned_nodes, max(0.0, judged.mean_wait_h)
    if arena.per_node != 8 or not jobs or judged.unfinished:
        return None
    if judged.cloud_gpu_h <= 0:
        return Best(gpu_h=0.0, mean_wait_h=wait, is_optimum=True, gap=None, how="nothing ran in the cloud")
    if len(jobs) <= _EXACT_UP_TO:
        solved = exact(jobs, nodes, wait, 20.0)
        if isinstance(solved, Schedule):
            return _best(solved.cloud_gpu_h, judged.cloud_gpu_h, wait, how="exact", is_optimum=True)
    bound = lower_bound(jobs, nodes, wait, _FINE if len(jobs) <= _FINE_UP_TO else _COARSE)
    if bound.gpu_h <= 0:
        return None
    how = bound.method if arena.world is World.INSTANT else f"{bound.method}, for a cloud without boots"
    return _best(bound.gpu_h, judged.cloud_gpu_h, wait, how=how, is_optimum=False)


def _best(gpu_h: float, reached: float, wait: float, *, how: str, is_optimum: bool) -> Best:
    gap = 1 - gpu_h / reached if reached > 0 else None
    return Best(gpu_h=gpu_h, mean_wait_h=wait, is_optimum=is_optimum, gap=gap, how=how)
