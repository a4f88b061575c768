"""Policies that give each job a waiting budget at arrival, after which it leaves: queue only, at once, Starburst's.

Source: Starburst (USENIX ATC 2024), skyburst/waiting_policy.py and simulator.py of its artifact, MIT. Pure rules; the
order of events is in engine.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

# Hours that a job of (GPUs, hours) may wait.
Budget = Callable[[int, float], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComeBack:
    """Star-Wait: a job leaves at once; if it still runs in the cloud after `after_h`, it comes back and queues.

    It may then wait `times` its budget, counted from its first arrival. What it ran in the cloud is paid and lost.
    `as_published`: with two slips of their simulator, without which their table's row cannot be had (engine.py).
    """

    after_h: float
    times: float
    as_published: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetPolicy:
    """`in_order`: nobody overtakes in the queue. `longest_line`: who would stand behind so many leaves at once."""

    name: str
    budget: Budget
    in_order: bool
    best_fit: bool = False
    longest_line: int | None = None
    comes_back: ComeBack | None = None


def queue_only(*, in_order: bool = False) -> BudgetPolicy:
    """Nobody ever leaves."""
    return BudgetPolicy(name="queue-only", budget=lambda _gpus, _hours: 1e9, in_order=in_order)


def burst_at_once(*, in_order: bool = True) -> BudgetPolicy:
    """Who cannot start on arrival leaves."""
    return BudgetPolicy(name="burst-at-once", budget=lambda _gpus, _hours: 0.0, in_order=in_order)


def constant_wait(hours: float, *, in_order: bool = True) -> BudgetPolicy:
    """Everybody waits as long."""
    return BudgetPolicy(name=f"constant-wait {hours:g} h", budget=lambda _gpus, _hours: hours, in_order=in_order)


def compute_wait(factor: float, *, in_order: bool = False, longest_line: int | None = None) -> BudgetPolicy:
    """Starburst: the budget grows with GPUs x runtime; `factor` in hours a GPU-hour."""
    return BudgetPolicy(
        name=f"compute-wait {factor:g}",
        budget=lambda gpus, hours: factor * gpus * hours,
        in_order=in_order,
        longest_line=longest_line,
    )


def capacity_wait(factor: float, *, in_order: bool = False) -> BudgetPolicy:
    """Starburst without known runtimes: the budget grows with GPUs; `factor` in hours a GPU."""
    return BudgetPolicy(name=f"capacity-wait {factor:g}", budget=lambda gpus, _hours: factor * gpus, in_order=in_order)


def star_wait(factor: float, come_back: ComeBack) -> BudgetPolicy:
    """Starburst's Star-Wait: capacity wait for jobs that came back from the cloud."""
    return BudgetPolicy(
        name=f"star-wait {factor:g}",
        budget=lambda gpus, _hours: factor * gpus,
        in_order=False,
        comes_back=come_back,
    )
