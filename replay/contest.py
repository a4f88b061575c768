"""Several policies on the same trace and the same world: who takes part, how each is run, what is compared.

An entrant is a policy file or a baseline by name. Two worlds: `real` (replay/site) runs the shipped decide() with
everything that clouds do; `instant` (replay/instant) has Starburst's semantics, for figures that compare with theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from time import process_time

from agent.core.costing import gpu_cost
from agent.core.patience import weary_hours
from agent.core.policy import Policy
from agent.core.rules.wait_or_pay import Join
from agent.core.snapshot import QueuedTask
from contract.catalog import Catalog
from contract.units import Money, Nodes, Percent
from replay.headline import Headline, headline_of_outcome, headline_of_replay
from replay.instant import budgets
from replay.instant.engine import run_budgets
from replay.instant.jobs import Columns, Outcome
from replay.instant.patient import Temper, run_patient
from replay.site.baselines import Habit, Reactive
from replay.site.estimates import Oracle
from replay.site.hosting import hosting
from replay.site.run import Ground, Replay, SiteRun
from replay.site.truth import Estimates, Truth
from replay.trace import Trace

_HOUR = timedelta(hours=1)
# Starburst's own factor for Philly, hours a GPU-hour; and their constant wait.
_COMPUTE_FACTOR, _CONSTANT_H, _CAPACITY_FACTOR = 0.076, 1.0, 0.0475265


class World(StrEnum):
    """REAL: nodes, boots, stock, money. INSTANT: Starburst's cloud, without limit or start-up time."""

    REAL = "real"
    INSTANT = "instant"


class NoSuchEntrant(ValueError):
    """A baseline that does not exist, or not in this world; the message lists those that do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Arena:
    """What all entrants share."""

    trace: Trace
    catalog: Catalog
    owned_nodes: int
    world: World
    truth: Truth
    per_node: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Entrant:
    """A named policy; `baseline` with its `figure` where it is none of ours."""

    name: str
    policy: Policy
    baseline: str = ""
    figure: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The figures of one entrant, and what they were made from."""

    headline: Headline
    outcome: Outcome | Replay


def enter(text: str, policy: Policy, world: World) -> Entrant:
    """`queue-only`, `constant-wait:2`, ...: a baseline by name, with its figure after a colon. Raises NoSuchEntrant."""
    name, _, figure = text.partition(":")
    here = _REAL if world is World.REAL else _INSTANT
    if name not in here:
        raise NoSuchEntrant(f"no policy file and no baseline of world {world} is called {text!r}: {', '.join(here)}")
    try:
        value = float(figure) if figure else None
    except ValueError as error:
        raise NoSuchEntrant(f"{figure!r} of {text!r} is not a number") from error
    if value is not None and not 0 <= value < 1e9:
        raise NoSuchEntrant(f"{figure!r} of {text!r} must be 0 or more")
    return Entrant(name=text, policy=policy, baseline=name, figure=value)


def compete(arena: Arena, entrant: Entrant) -> Result:
    """Run one entrant. Same arena, same entrant, same result."""
    if arena.world is World.INSTANT:
        return _compete_instant(arena, entrant)
    run = _site_run(arena, entrant).run(entrant.name)
    return Result(headline=headline_of_replay(run), outcome=run)


def cloud_gpu_hour(catalog: Catalog) -> Money:
    """What a GPU-hour costs where the cloud has no nodes: the cheapest pool that is not spot, or the cheapest."""
    rows = catalog.cloud_pools()
    steady = [row for row in rows if not row.is_preemptible] or list(rows)
    return min((gpu_cost(catalog, row) for row in steady), key=lambda money: money.amount)


def _compete_instant(arena: Arena, entrant: Entrant) -> Result:
    columns, nodes = Columns.of(arena.trace), arena.owned_nodes
    began = process_time()
    if not entrant.baseline:
        rules = entrant.policy.wait_or_pay
        temper = Temper(patience=rules.patience / _HOUR, weary_after=weary_hours(rules))
        outcome = run_patient(columns, nodes, temper, arena.per_node, _told(arena))
    elif entrant.baseline == "fixed-extra":
        extra = 4 if entrant.figure is None else int(entrant.figure)
        outcome = run_budgets(columns, nodes + extra, budgets.queue_only(), arena.per_node)
    else:
        outcome = run_budgets(columns, nodes, _budget(entrant), arena.per_node)
    seconds = process_time() - began
    price = cloud_gpu_hour(arena.catalog)
    return Result(headline=headline_of_outcome(entrant.name, arena.trace, outcome, price, seconds), outcome=outcome)


def _told(arena: Arena) -> tuple[Callable[[int], float], Callable[[int], None]] | None:
    """Who tells runtimes in hours and hears of ends; None where they are known. Where nobody can tell: an hour."""
    if arena.truth.estimates is Estimates.KNOWN:
        return None
    oracle, jobs = Oracle(arena.truth, arena.trace.jobs), arena.trace.jobs

    def tell(job: int) -> float:
        told = oracle.tell(job)
        return 1.0 if told is None else max(told, 1.0) / 3600

    return tell, lambda job: oracle.learn(job, jobs[job].runtime_s)


def _budget(entrant: Entrant) -> budgets.BudgetPolicy:
    figure = entrant.figure
    made: Mapping[str, Callable[[], budgets.BudgetPolicy]] = {
        "queue-only": budgets.queue_only,
        "burst-at-once": budgets.burst_at_once,
        "constant-wait": lambda: budgets.constant_wait(_CONSTANT_H if figure is None else figure),
        "compute-wait": lambda: budgets.compute_wait(_COMPUTE_FACTOR if figure is None else figure),
        "capacity-wait": lambda: budgets.capacity_wait(_CAPACITY_FACTOR if figure is None else figure),
        "star-wait": lambda: budgets.star_wait(
            _CAPACITY_FACTOR if figure is None else figure, budgets.ComeBack(after_h=5 / 60, times=3)
        ),
    }
    return made[entrant.baseline]()


def _site_run(arena: Arena, entrant: Entrant) -> SiteRun:
    policy = entrant.policy
    ground = Ground(
        trace=arena.trace,
        catalog=arena.catalog,
        owned_nodes=arena.owned_nodes,
        truth=arena.truth,
        may_host=hosting(policy.placement),
        per_node=arena.per_node,
    )
    if not entrant.baseline:
        return SiteRun(ground, policy)
    if entrant.baseline == "burst-at-once":
        return SiteRun(ground, burst_at_once(policy))
    if entrant.baseline == "queue-only":
        return SiteRun(ground, policy, lambda _snapshot: ())
    habit = _HABITS[entrant.baseline](entrant.figure, policy)
    return SiteRun(ground, policy, Reactive(habit, policy.placement), decider_keeps=habit.keep > 0)


def burst_at_once(policy: Policy) -> Policy:
    """The policy without patience: what does not fit at home rents what it needs at the next sample.

    Placement and the rule for giving back are the policy's own, so that the difference is what waiting saves.
    """
    pressure = replace(
        policy.queue_pressure,
        local_use_at_least=Percent(0.0),
        hold_for=policy.sampling.every,
        queued_tasks_at_least=1,
        min_step=Nodes(1),
        max_step=max(policy.queue_pressure.max_step, policy.limits.max_cloud_nodes),
    )
    return replace(
        policy,
        queue_pressure=pressure,
        wait_or_pay=replace(policy.wait_or_pay, join=Join.THRESHOLDS),
        cool_down=replace(policy.cool_down, after_grow=timedelta(0)),
    )


def _constant(figure: float | None, policy: Policy) -> Habit:
    wait = timedelta(hours=_CONSTANT_H if figure is None else figure)
    return Habit(leaves=lambda _task, waited: waited >= wait, idle=policy.idle_reclaim.node_idle_for)


def _compute(figure: float | None, policy: Policy) -> Habit:
    factor = _COMPUTE_FACTOR if figure is None else figure

    def leaves(task: QueuedTask, waited: timedelta) -> bool:
        return waited >= (task.runtime or _HOUR) * (factor * task.gpus)

    return Habit(leaves=leaves, idle=policy.idle_reclaim.node_idle_for)


def _cluster_autoscaler(_figure: float | None, _policy: Policy) -> Habit:
    ten = timedelta(minutes=10)
    return Habit(leaves=lambda _task, _waited: True, idle=ten, after_growth=ten)


def _karpenter(_figure: float | None, _policy: Policy) -> Habit:
    return Habit(leaves=lambda _task, _waited: True, idle=timedelta(0))


def _fixed(figure: float | None, _policy: Policy) -> Habit:
    keep = 4 if figure is None else int(figure)
    return Habit(leaves=lambda _task, _waited: False, idle=timedelta(0), keep=keep)


_HABITS: Mapping[str, Callable[[float | None, Policy], Habit]] = {
    "constant-wait": _constant,
    "compute-wait": _compute,
    "cluster-autoscaler": _cluster_autoscaler,
    "karpenter": _karpenter,
    "fixed-extra": _fixed,
}
_REAL = ("queue-only", "burst-at-once", *_HABITS)
_INSTANT = (
    "queue-only",
    "burst-at-once",
    "constant-wait",
    "compute-wait",
    "capacity-wait",
    "star-wait",
    "fixed-extra",
)
