"""The typed policy file as a whole; what contradicts itself is refused.

One file a section stands in agent/core/rules/: a settings class, its keys, its sentences. A new one is
a line in SECTIONS and a field here. What settings mean is in the policies and in arbitrate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent.core.rules import (
    calendar,
    cool_down,
    idle_reclaim,
    limits,
    placement,
    prewarm,
    queue_pressure,
    sampling,
    wait_or_pay,
    warm_pool,
)
from agent.core.rules.calendar import Calendar
from agent.core.rules.contradictions import contradictions
from agent.core.rules.cool_down import CoolDown
from agent.core.rules.idle_reclaim import IdleReclaim
from agent.core.rules.keys import Schema, Section
from agent.core.rules.limits import Limits
from agent.core.rules.placement import PlacementRules
from agent.core.rules.prewarm import Prewarm
from agent.core.rules.queue_pressure import QueuePressure
from agent.core.rules.sampling import Sampling, UseSignal
from agent.core.rules.wait_or_pay import WaitOrPay
from agent.core.rules.warm_pool import WarmPool
from contract.fields import Fields, Findings

__all__ = [
    "Calendar",
    "CoolDown",
    "IdleReclaim",
    "Limits",
    "PlacementRules",
    "Policy",
    "Prewarm",
    "QueuePressure",
    "Sampling",
    "UseSignal",
    "WaitOrPay",
    "WarmPool",
    "explain_policy",
    "parse_policy",
    "policy_schema",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """A whole policy file. A section with a default may be absent: it is off then."""

    sampling: Sampling
    queue_pressure: QueuePressure
    idle_reclaim: IdleReclaim
    cool_down: CoolDown
    limits: Limits
    wait_or_pay: WaitOrPay = wait_or_pay.OFF
    placement: PlacementRules = placement.DEFAULT
    calendar: Calendar = calendar.OFF
    prewarm: Prewarm = prewarm.OFF
    warm_pool: WarmPool = warm_pool.OFF


# In the order of the file, of its schema and of its explanation.
SECTIONS: tuple[Section[Any], ...] = (
    sampling.SECTION,
    queue_pressure.SECTION,
    wait_or_pay.SECTION,
    placement.SECTION,
    idle_reclaim.SECTION,
    calendar.SECTION,
    prewarm.SECTION,
    warm_pool.SECTION,
    cool_down.SECTION,
    limits.SECTION,
)


def parse_policy(value: object, findings: Findings) -> Policy:
    """Check a policy document already read. Raises InvalidInput with all problems."""
    top = Fields(value, findings)
    policy = Policy(**{section.name: _read(section, top) for section in SECTIONS})
    top.done()
    findings.raise_if_any()
    for found in contradictions(policy):
        top.problem(found.key, found.says, found.fix)
    findings.raise_if_any()
    return policy


def explain_policy(policy: Policy) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What each section means, in sentences; of a section that is off, none."""
    told = ((section.name, section.sentences(getattr(policy, section.name))) for section in SECTIONS)
    return tuple((name, said) for name, said in told if said)


def policy_schema() -> Schema:
    """The JSON schema of a policy file, for editors: stacks/policy.schema.json."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Spillway policy",
        "description": "When to rent GPU nodes and when to give them back. Generated: spillway policy schema.",
        "type": "object",
        "additionalProperties": False,
        "required": [section.name for section in SECTIONS if section.off is None],
        "properties": {section.name: section.schema() for section in SECTIONS},
    }


def _read(section: Section[Any], top: Fields) -> Any:
    if section.off is not None and section.name not in top:
        return section.off
    return section.read(top.fields(section.name))
