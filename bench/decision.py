"""CPU time of one decision, and of assembling its snapshot, and how both grow with the site."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median

from agent.core.decide import decide
from agent.sense.assemble import assemble
from bench.sites import a_catalog, a_policy, readings_of, snapshot_of, watched

_SIZES = (1_000, 10_000)
_PODS, _WAITING = 30, 5_000


def measure() -> list[tuple[str, str]]:
    """Rows of (what, figure)."""
    policy = a_policy()
    rows: list[tuple[str, str]] = []
    deciding: dict[int, float] = {}
    assembling: dict[int, float] = {}
    for nodes in _SIZES:
        catalog = a_catalog(nodes)
        snapshot = snapshot_of(catalog, nodes, _PODS, _WAITING)
        memory = watched(snapshot)
        readings = readings_of(catalog, nodes, _PODS, _WAITING)
        deciding[nodes] = _cpu_ms(partial(decide, snapshot, policy, memory))
        assembling[nodes] = _cpu_ms(partial(assemble, readings, catalog, policy.sampling.use_signal))
        site = f"{nodes:,} nodes x {_PODS} pods, {_WAITING:,} pending"
        rows.append((f"decide, {site}", f"{deciding[nodes]:.0f} ms CPU (bound for 1,000 nodes: 250 ms)"))
        rows.append((f"assemble the snapshot, {site}", f"{assembling[nodes]:.0f} ms CPU"))
    small, large = _SIZES
    rows.append(
        (f"decide, {large:,} against {small:,} nodes", f"x {deciding[large] / deciding[small]:.1f} (bound: 12)")
    )
    rows.append((f"assemble, {large:,} against {small:,} nodes", f"x {assembling[large] / assembling[small]:.1f}"))
    return rows


def _cpu_ms(work: Callable[[], object], times: int = 5) -> float:
    """Median CPU milliseconds of several runs."""
    taken = []
    for _ in range(times):
        started = time.process_time()
        work()
        taken.append((time.process_time() - started) * 1000)
    return median(taken)
