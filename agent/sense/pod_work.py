"""What a pod says of its work: tier, kind, data class, latency, runtime, deadline, user, by label or annotation.

A value that means nothing never stops the reading: it becomes what does least harm, and a doubt that a
person can read. Of a label and an annotation with one name the label counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, TypeVar

from agent.core.readings import PodWork
from contract import labels
from contract.units import parse_duration
from contract.work import DataClass, Tier, WorkKind

T = TypeVar("T")
_UNSAID = PodWork()
_KEYS = frozenset(
    (labels.TIER, labels.KIND, labels.DATA_CLASS, labels.LOW_LATENCY, labels.RUNTIME, labels.DEADLINE, labels.USER)
)


def pod_work(own: Mapping[str, Any], annotations: Mapping[str, Any]) -> PodWork:
    """Read what is said; what is not said keeps its default, what is said badly its safest value.

    Data of an unknown class is sensitive, and unclear latency is low: such work waits at home, where a person can
    still let it go. An unknown tier is production, as if nothing had been said: a slip of the pen must neither
    overtake the core nor push work of production down to spot.
    """
    if _KEYS.isdisjoint(own) and _KEYS.isdisjoint(annotations):
        return _UNSAID
    said = _Said({key: str(value) for source in (annotations, own) for key, value in source.items() if key in _KEYS})
    return PodWork(
        tier=said.take(labels.TIER, Tier, Tier.PRODUCTION, Tier.PRODUCTION),
        kind=said.take(labels.KIND, WorkKind, WorkKind.OTHER, WorkKind.OTHER),
        data=said.take(labels.DATA_CLASS, DataClass, DataClass.OPEN, DataClass.SENSITIVE),
        needs_low_latency=said.take(labels.LOW_LATENCY, _flag, False, True),
        runtime=said.take(labels.RUNTIME, _span, None, None),
        deadline=said.take(labels.DEADLINE, _time, None, None),
        user=said.take(labels.USER, str, "", ""),
        doubts=tuple(said.doubts),
    )


@dataclass(slots=True)
class _Said:
    """The values as they stand there, and what is doubtful about them."""

    values: Mapping[str, str]
    doubts: list[str] = field(default_factory=list)

    def take(self, key: str, parse: Callable[[str], T], unsaid: T, safest: T) -> T:
        """The value of one key: `unsaid` when it is not there, `safest` when it means nothing."""
        if key not in self.values:
            return unsaid
        try:
            return parse(self.values[key])
        except (ValueError, OverflowError):
            self.doubts.append(f"{key} '{self.values[key]}' means nothing, taken as {_shown(safest)}")
            return safest


def _shown(value: object) -> str:
    if value is None:
        return "unknown"
    return "true" if value is True else str(value)


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def _span(text: str) -> timedelta:
    span = parse_duration(text)
    if span <= timedelta(0):
        raise ValueError(f"{text!r} is no time to run")
    return span


def _time(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    if at.tzinfo is None:
        raise ValueError(f"{text} has no time zone")
    return at
