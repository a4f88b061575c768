"""Settings that are each good and together make no sense: what would do both, or never act. Each with its fix."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

from agent.core.memory import KEEP
from agent.core.rules.windows import KeepWindow
from contract.catalog import Catalog
from contract.units import show_duration

if TYPE_CHECKING:
    from agent.core.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """What is wrong at which key of the file, and what to do."""

    key: str
    says: str
    fix: str


def contradictions(policy: Policy) -> tuple[Contradiction, ...]:
    """All of them, in the order of the file."""
    rules = (_both_ways, _steps, _spans, _pauses, _windows, _warm)
    return tuple(found for rule in rules for found in rule(policy))


def unknown_pools(policy: Policy, catalog: Catalog) -> tuple[Contradiction, ...]:
    """Pools that the policy names and that the catalogue cannot rent."""
    named = [("limits", f"max_nodes_in names {pool}", pool) for pool in policy.limits.max_nodes_in]
    for section, window in keep_windows(policy):
        named += [(section, f"window {window.rule.name} names {pool}", pool) for pool in window.pools]
    if policy.warm_pool.pool:
        named.append(("warm_pool", f"pool names {policy.warm_pool.pool}", policy.warm_pool.pool))
    rented = [row.pool for row in catalog.cloud_pools()]
    return tuple(
        Contradiction(key=key, says=f"{says}, which is no rented pool", fix=f"use one of {', '.join(rented)}")
        for key, says, pool in named
        if pool not in rented
    )


def keep_windows(policy: Policy) -> tuple[tuple[str, KeepWindow], ...]:
    """Every window of the policy with the name of its section, in order of precedence."""
    approved = (("prewarm", entry.window) for entry in policy.prewarm.windows)
    return (*(("calendar", window) for window in policy.calendar.windows), *approved)


def _both_ways(policy: Policy) -> Iterator[Contradiction]:
    out, back = policy.queue_pressure, policy.idle_reclaim
    if out.local_use_at_least <= back.local_use_at_most:
        yield Contradiction(
            key="queue_pressure",
            says=f"bursts at {out.local_use_at_least}, yet gives back at {back.local_use_at_most}: it would do both",
            fix="keep queue_pressure.local_use_at_least above idle_reclaim.local_use_at_most",
        )


def _steps(policy: Policy) -> Iterator[Contradiction]:
    out = policy.queue_pressure
    if out.max_step < out.min_step:
        yield Contradiction(key="queue_pressure", says="max_step_nodes is below min_step_nodes", fix="swap them")
    if policy.limits.max_cloud_nodes < out.min_step:
        says = "max_cloud_nodes is below one step, so that nothing could ever be bought"
        yield Contradiction(key="limits", says=says, fix="raise it")


def _spans(policy: Policy) -> Iterator[Contradiction]:
    spans = (("queue_pressure", policy.queue_pressure.hold_for), ("idle_reclaim", policy.idle_reclaim.hold_for))
    for key, span in spans:
        if span < 2 * policy.sampling.every:
            says = "'for' holds fewer than two samples: a spike would act"
            yield Contradiction(key=key, says=says, fix="lengthen it")
        if span > KEEP:
            says = f"'for' is longer than the {show_duration(KEEP)} that the agent remembers: it would never act"
            yield Contradiction(key=key, says=says, fix="shorten it")


def _pauses(policy: Policy) -> Iterator[Contradiction]:
    if policy.sampling.stale_after <= policy.sampling.every:
        yield Contradiction(
            key="sampling",
            says="stale_after is not above every: each look would count as a gap, and no node as idle",
            fix="write at least twice the value of every",
        )
    if policy.cool_down.max_back_off < policy.cool_down.back_off:
        yield Contradiction(key="cool_down", says="max_back_off is below back_off", fix="swap them")


def _windows(policy: Policy) -> Iterator[Contradiction]:
    windows = keep_windows(policy)
    names = Counter(window.rule.name for _, window in windows)
    for key, window in windows:
        name = window.rule.name
        if names[name] > 1:
            yield Contradiction(key=key, says=f"two windows are called {name}", fix="give each its own name")
        if window.nodes > policy.limits.max_cloud_nodes:
            says = f"{name} keeps {window.nodes} nodes, limits.max_cloud_nodes allows {policy.limits.max_cloud_nodes}"
            yield Contradiction(key=key, says=says, fix="lower the one or raise the other")
        if window.give_back_idle and window.idle_for < 2 * policy.sampling.every:
            says = f"{name} gives back nodes idle for {show_duration(window.idle_for)}, before a second look at them"
            yield Contradiction(key=key, says=says, fix=f"use {show_duration(2 * policy.sampling.every)} or more")
        if window.give_back_idle and window.rule.length <= window.idle_for:
            says = f"{name} is open for no longer than a node must be idle: nothing would go back"
            yield Contradiction(key=key, says=says, fix="lengthen the window or shorten idle_for")


def _warm(policy: Policy) -> Iterator[Contradiction]:
    warm, limits = policy.warm_pool, policy.limits
    most = limits.max_nodes_in.get(warm.pool or "", limits.max_cloud_nodes)
    if warm.nodes > min(most, limits.max_cloud_nodes):
        says = f"keeps {warm.nodes} nodes, limits allow {min(most, limits.max_cloud_nodes)}"
        yield Contradiction(key="warm_pool", says=says, fix="lower the one or raise the other")
    if warm.nodes and policy.idle_reclaim.node_idle_for == timedelta(0):
        says = "idle_reclaim.node_idle_for is 0: what the warm pool lends to a task would be given back between two"
        yield Contradiction(key="warm_pool", says=says, fix="lengthen node_idle_for")
