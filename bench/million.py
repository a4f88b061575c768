"""A million jobs in Starburst's semantics: is the time per job the same as for the 52,000 of Philly, and the memory?

Philly's two months one after the other, each shifted to where the one before ended, cut at a million jobs. Needs the
evaluation data beside the checkout.
"""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from functools import partial
from time import process_time

from bench.replay import FILES
from replay.instant import budgets
from replay.instant.engine import run_budgets
from replay.instant.jobs import Columns, Outcome
from replay.instant.patient import Temper, run_patient
from replay.traces.registry import read_trace

_JOBS = 1_000_000
_PATIENCES = (0.08, 0.44, 2.5)


def measure() -> Iterator[tuple[str, str]]:
    """Rows of (what, figure)."""
    path, nodes = FILES["Philly"]
    if not path.is_file():
        yield "million", "the evaluation data are not beside this checkout"
        return
    once = Columns.of(read_trace(path))
    many = repeated(once, _JOBS)
    for name, run in _runs(nodes):
        few_s, _ = _timed(run, once)
        many_s, outcome = _timed(run, many)
        ratio = many_s / len(many.gpus) / (few_s / len(once.gpus))
        wait = sum(outcome.waits_h()) / len(many.gpus)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        yield (
            f"{name}, {len(once.gpus):,} and {len(many.gpus):,} jobs",
            f"{few_s:.1f} and {many_s:.0f} s CPU, a job x {ratio:.2f}; mean wait {wait:.3f} h; peak so far {peak} MiB",
        )


def repeated(columns: Columns, jobs: int) -> Columns:
    """The trace again and again until there are so many jobs; each time begins when the last arrival was."""
    span, count = columns.arrival_h[-1] - columns.arrival_h[0], len(columns.gpus)
    rounds = -(-jobs // count)
    return Columns(
        arrival_h=[at + number * span for number in range(rounds) for at in columns.arrival_h][:jobs],
        runtime_h=(list(columns.runtime_h) * rounds)[:jobs],
        gpus=(list(columns.gpus) * rounds)[:jobs],
    )


def _runs(nodes: int) -> Iterator[tuple[str, Callable[[Columns], Outcome]]]:
    for policy in (budgets.queue_only(), budgets.compute_wait(0.076)):
        yield policy.name, partial(run_budgets, nodes=nodes, policy=policy)
    for patience in _PATIENCES:
        yield (
            f"the shipped rule, patience {patience:g}",
            partial(run_patient, nodes=nodes, temper=Temper(patience=patience)),
        )


def _timed(run: Callable[[Columns], Outcome], columns: Columns) -> tuple[float, Outcome]:
    began = process_time()
    outcome = run(columns)
    return process_time() - began, outcome
