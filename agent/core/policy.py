"""The typed policy file: thresholds of R4, sampling, cool-downs, limits. Contradictions are refused.

Holds settings only; what they mean is in the policies and in arbitrate.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from agent.core.memory import KEEP
from contract.fields import Fields, Findings
from contract.units import Money, Nodes, Percent, parse_duration, show_duration

_DEFAULT_VALID = Percent(80.0)


class UseSignal(StrEnum):
    """What "GPU use" means: how busy the cards are, or how many are given out."""

    UTILIZATION = "utilization"
    ALLOCATION = "allocation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How often the agent looks, and how much of a window must be valid to be judged."""

    every: timedelta
    min_valid: Percent
    stale_after: timedelta
    use_signal: UseSignal


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePressure:
    """R4.1: out when local use and queue stay high together."""

    local_use_at_least: Percent
    hold_for: timedelta
    queued_tasks_at_least: int
    min_step: Nodes
    max_step: Nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleReclaim:
    """R4.2: in when local use stays low and a rented node has been idle."""

    local_use_at_most: Percent
    hold_for: timedelta
    node_idle_for: timedelta
    max_step: Nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class CoolDown:
    """Least time between actions; back-off of a pool after its cloud could not deliver."""

    after_grow: timedelta
    after_shrink: timedelta
    back_off: timedelta
    max_back_off: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Caps that no policy may pass."""

    max_cloud_nodes: Nodes
    max_cost_per_hour: Money


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A whole policy file."""

    sampling: Sampling
    queue_pressure: QueuePressure
    idle_reclaim: IdleReclaim
    cool_down: CoolDown
    limits: Limits


def parse_policy(value: object, findings: Findings) -> Policy:
    """Check a policy document already read. Raises InvalidInput with all problems."""
    top = Fields(value, findings)
    policy = Policy(
        sampling=_sampling(top.fields("sampling")),
        queue_pressure=_queue_pressure(top.fields("queue_pressure")),
        idle_reclaim=_idle_reclaim(top.fields("idle_reclaim")),
        cool_down=_cool_down(top.fields("cool_down")),
        limits=_limits(top.fields("limits")),
    )
    top.done()
    findings.raise_if_any()
    _check_sense(policy, top)
    findings.raise_if_any()
    return policy


def _check_sense(policy: Policy, top: Fields) -> None:
    out, back = policy.queue_pressure, policy.idle_reclaim
    if out.local_use_at_least <= back.local_use_at_most:
        top.problem(
            "queue_pressure",
            f"bursts at {out.local_use_at_least}, yet gives back at {back.local_use_at_most}: it would do both",
            "keep queue_pressure.local_use_at_least above idle_reclaim.local_use_at_most",
        )
    if out.max_step < out.min_step:
        top.problem("queue_pressure", "max_step_nodes is below min_step_nodes", "swap them")
    if policy.limits.max_cloud_nodes < out.min_step:
        top.problem(
            "limits",
            "max_cloud_nodes is below one step, so that nothing could ever be bought",
            "raise it",
        )
    for name, span in (("queue_pressure", out.hold_for), ("idle_reclaim", back.hold_for)):
        if span < 2 * policy.sampling.every:
            top.problem(name, "'for' holds fewer than two samples: a spike would act", "lengthen it")
        if span > KEEP:
            text = f"'for' is longer than the {show_duration(KEEP)} that the agent remembers: it would never act"
            top.problem(name, text, "shorten it")
    if policy.sampling.stale_after <= policy.sampling.every:
        text = "stale_after is not above every: each look would count as a gap, and no node as idle"
        top.problem("sampling", text, "write at least twice the value of every")
    if policy.cool_down.max_back_off < policy.cool_down.back_off:
        top.problem("cool_down", "max_back_off is below back_off", "swap them")


def _sampling(fields: Fields) -> Sampling:
    every = fields.take("every", _positive_duration, timedelta(seconds=30))
    sampling = Sampling(
        every=every,
        min_valid=fields.percent("min_valid", _DEFAULT_VALID),
        stale_after=fields.duration("stale_after", 4 * every),
        use_signal=fields.choice("use_signal", UseSignal, UseSignal.UTILIZATION),
    )
    fields.done()
    return sampling


def _queue_pressure(fields: Fields) -> QueuePressure:
    settings = QueuePressure(
        local_use_at_least=fields.percent("local_use_at_least"),
        hold_for=fields.duration("for"),
        queued_tasks_at_least=fields.integer("queued_tasks_at_least", at_least=1),
        min_step=Nodes(fields.integer("min_step_nodes", at_least=1)),
        max_step=Nodes(fields.integer("max_step_nodes", at_least=1)),
    )
    fields.done()
    return settings


def _idle_reclaim(fields: Fields) -> IdleReclaim:
    settings = IdleReclaim(
        local_use_at_most=fields.percent("local_use_at_most"),
        hold_for=fields.duration("for"),
        node_idle_for=fields.duration("node_idle_for"),
        max_step=Nodes(fields.integer("max_step_nodes", at_least=1)),
    )
    fields.done()
    return settings


def _cool_down(fields: Fields) -> CoolDown:
    settings = CoolDown(
        after_grow=fields.duration("after_grow"),
        after_shrink=fields.duration("after_shrink"),
        back_off=fields.take("back_off", _positive_duration, timedelta(minutes=3)),
        max_back_off=fields.take("max_back_off", _positive_duration, timedelta(minutes=30)),
    )
    fields.done()
    return settings


def _limits(fields: Fields) -> Limits:
    limits = Limits(
        max_cloud_nodes=Nodes(fields.integer("max_cloud_nodes", at_least=0)),
        max_cost_per_hour=fields.money("max_cost_per_hour"),
    )
    fields.done()
    return limits


def _positive_duration(value: object) -> timedelta:
    duration = parse_duration(value)
    if duration <= timedelta(0):
        raise ValueError(f"{value!r} must be above 0")
    return duration
