"""The book of run times for people: what is told of each kind of work, and how wrong it would have been. Pure.

The error is that of held-out tasks: each is told from those that ended before it alone, as the live agent does.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median

from agent.core.ended_work import EndedTask, TaskEnd, teach
from agent.core.runtime_estimate import LEAST, Estimate, RuntimeBook, kin_names

# Quantiles went through logarithms and back.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOut:
    """Tasks told from earlier ones. `factor`: half were told wrong by no more, up or down.

    `within`: the share that fell into the range of 8 in 10 earlier ones.
    """

    tasks: int
    factor: float
    within: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeLine:
    """One kind of work: `told` is what the next of it gets, None while too few ended."""

    work: str
    ended: int
    told: Estimate | None
    held_out: HeldOut | None


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeReport:
    """All kinds of work, those that ended most often first. `untaught`: how many ended otherwise, by how."""

    lines: tuple[RuntimeLine, ...]
    learned: int
    untaught: Mapping[str, int]
    held_out: HeldOut | None


@dataclass(frozen=True, slots=True)
class _Miss:
    """One held-out task: told by what factor wrong, and whether it fell into the range."""

    factor: float
    is_within: bool


def runtime_report(tasks: Iterable[EndedTask]) -> RuntimeReport:
    """What these tasks, in the order in which they ended, teach of each kind of work."""
    book, misses, kinds = RuntimeBook(), defaultdict[str, list[_Miss]](list), dict[str, EndedTask]()
    ended, untaught = Counter[str](), Counter[str]()
    for task in tasks:
        if task.outcome is not TaskEnd.SUCCEEDED:
            untaught[task.outcome.value] += 1
            continue
        work = kin_names(task.key)[0]
        before = book.estimate(task.key, LEAST)
        if before.seen:
            misses[work].append(_miss(before, task.runtime_s))
        teach(book, task)
        ended[work] += 1
        kinds.setdefault(work, task)
    lines = [
        RuntimeLine(
            work=work, ended=count, told=_told(book.estimate(kinds[work].key, LEAST)), held_out=_held_out(misses[work])
        )
        for work, count in sorted(ended.items(), key=lambda item: (-item[1], item[0]))
    ]
    every = [miss for some in misses.values() for miss in some]
    return RuntimeReport(lines=tuple(lines), learned=ended.total(), untaught=dict(untaught), held_out=_held_out(every))


def _told(estimate: Estimate) -> Estimate | None:
    return estimate if estimate.seen else None


def _miss(before: Estimate, runtime_s: float) -> _Miss:
    factor = max(before.median_s / runtime_s, runtime_s / before.median_s)
    low_s, high_s = before.low_s * (1 - _ROUNDING), before.high_s * (1 + _ROUNDING)
    return _Miss(factor, low_s <= runtime_s <= high_s)


def _held_out(misses: list[_Miss]) -> HeldOut | None:
    if not misses:
        return None
    within = sum(miss.is_within for miss in misses) / len(misses)
    return HeldOut(tasks=len(misses), factor=median(miss.factor for miss in misses), within=within)
