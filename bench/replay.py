"""Replay in Starburst's semantics: speed beside their simulator's, and what the shipped rule pays at their mean waits.

Their figures are those of the unchanged simulator on the same machine (skyburst 39a380a): one process, run_simulator
alone. Each setting of ours is one patience, chosen once on these traces; neighbours are shown, for a single one may be
lucky. Needs the evaluation data beside the checkout.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import process_time

from replay.instant import budgets
from replay.instant.engine import run_budgets
from replay.instant.jobs import Columns, percentile
from replay.instant.patient import Temper, run_patient
from replay.synthetic import starburst_500
from replay.traces.registry import read_trace

_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
FILES = {
    "ITP 03": (_DATA / "microsoft_itp_2021" / "cluster03.csv.gz", 21),
    "ITP 04": (_DATA / "microsoft_itp_2021" / "cluster04.csv.gz", 74),
    "Philly": (_DATA / "philly_jobs" / "philly_jobs_2017-09-04_to_2017-10-29.csv.gz", 69),
}
# Their seconds for the same policy: compute-wait 0.076 out of order, and queue only out of order.
_THEIR_SECONDS = {"ITP 03": (0.30, 1.35), "ITP 04": (4.90, 7.60), "Philly": (20.27, 353.8)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A row of theirs: mean wait, cloud GPU-h, p99; and our patience (hours a GPU-hour) with its neighbours."""

    trace: str
    wait_h: float
    cloud_gpu_h: float
    p99_h: float
    patience: tuple[float, ...]
    weary_after: float = inf


TARGETS = (
    Target(trace="ITP 04", wait_h=0.1562, cloud_gpu_h=25034, p99_h=2.60, patience=(0.0875, 0.09, 0.0925)),
    Target(trace="ITP 04", wait_h=0.2402, cloud_gpu_h=18667, p99_h=3.99, patience=(0.15, 0.155, 0.156)),
    Target(trace="Philly", wait_h=0.1285, cloud_gpu_h=86604, p99_h=3.00, patience=(0.0675, 0.075, 0.077)),
    Target(trace="Philly", wait_h=0.7136, cloud_gpu_h=50205, p99_h=17.25, patience=(0.42, 0.43, 0.44, 0.45, 0.46)),
    Target(
        trace="ITP 03",
        wait_h=0.7942,
        cloud_gpu_h=45756,
        p99_h=7.47,
        patience=(0.17, 0.175, 0.18),
        weary_after=8.0,
    ),
)


def measure() -> Iterator[tuple[str, str]]:
    """Rows of (what, figure)."""
    columns = {name: Columns.of(read_trace(path)) for name, (path, _) in FILES.items() if path.is_file()}
    if len(columns) < len(FILES):
        yield "replay", "the evaluation data are not beside this checkout"
        return
    yield from _speed(columns)
    yield from _quality(columns)
    yield from _five_hundred()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    yield "peak memory, all traces loaded", f"{peak} MiB"


def _speed(columns: dict[str, Columns]) -> Iterator[tuple[str, str]]:
    for name, (_, nodes) in FILES.items():
        runs = (budgets.compute_wait(0.076), budgets.queue_only())
        for policy, theirs in zip(runs, _THEIR_SECONDS[name], strict=True):
            began = process_time()
            run_budgets(columns[name], nodes, policy)
            seconds = process_time() - began
            yield f"{name}, {policy.name}", f"{seconds:.2f} s CPU; theirs {theirs} s: x {theirs / seconds:.0f} faster"


def _quality(columns: dict[str, Columns]) -> Iterator[tuple[str, str]]:
    for target in TARGETS:
        for patience in target.patience:
            began = process_time()
            temper = Temper(patience=patience, weary_after=target.weary_after)
            run = run_patient(columns[target.trace], FILES[target.trace][1], temper)
            seconds, waits = process_time() - began, run.waits_h()
            what = f"{target.trace} at {target.wait_h} h, patience {patience:g}"
            yield (
                what,
                (
                    f"wait {sum(waits) / len(waits):.4f} h, p99 {percentile(waits, 0.99):.2f} h (x "
                    f"{percentile(waits, 0.99) / target.p99_h:.2f}), {run.cloud_gpu_h:,.0f} GPU-h, "
                    f"x {run.cloud_gpu_h / target.cloud_gpu_h:.3f} of compute-wait; {seconds:.1f} s CPU"
                ),
            )


def _five_hundred() -> Iterator[tuple[str, str]]:
    columns = Columns.of(starburst_500())
    for patience in (0.085, 0.087, 0.09, 0.1):
        run = run_patient(columns, 4, Temper(patience=patience))
        wait = sum(run.waits_h()) / 500
        yield f"500 jobs, patience {patience:g}", f"wait {wait:.4f} h, ${run.cloud_gpu_h * 2.5:.2f}"
