"""Section `queue_pressure` (R4.1): out when local use and queue stay high together."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from agent.core.rules.keys import DURATION, OPTIONAL_PERCENT, PERCENT, Key, Schema, Section, read_keys, schema_of, whole
from contract.fields import Fields
from contract.units import Nodes, Percent, show_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuePressure:
    """R4.1: out when local use and queue stay high together.

    `not_if_falling` (R4.6): no step while the queue's mean over the later half of the window lies so much below
    that of the earlier half; None: the trend is not asked.
    """

    local_use_at_least: Percent
    hold_for: timedelta
    queued_tasks_at_least: int
    min_step: Nodes
    max_step: Nodes
    not_if_falling: Percent | None = None


_KEYS = (
    Key(name="local_use_at_least", kind=PERCENT, says="local GPU use that counts as full"),
    Key(name="for", setting="hold_for", kind=DURATION, says="for how long it must have been so"),
    Key(name="queued_tasks_at_least", kind=whole(1), says="tasks that must wait besides"),
    Key(name="min_step_nodes", setting="min_step", kind=whole(1), says="fewest nodes rented at once"),
    Key(
        name="max_step_nodes",
        setting="max_step",
        kind=whole(1),
        says="most nodes rented at once, by any rule but a person's order and the replacement of spot nodes",
    ),
    Key(
        name="not_if_falling",
        kind=OPTIONAL_PERCENT,
        says="no step while the queue's mean over the window's later half lies so much below the earlier half's",
        optional=True,
    ),
)


def read(fields: Fields) -> QueuePressure:
    """Read the section; problems go to its findings."""
    settings = QueuePressure(**read_keys(fields, _KEYS))
    if settings.not_if_falling == Percent(0.0):
        fields.problem("not_if_falling", "0% would hold every step of a steady queue", "give a share such as 50%")
    fields.done()
    return settings


def sentences(settings: QueuePressure) -> tuple[str, ...]:
    """What it means, for people."""
    trend = ""
    if settings.not_if_falling is not None:
        trend = f" Not while the queue's mean falls by {settings.not_if_falling} or more within that time."
    return (
        f"Rents {settings.min_step} to {settings.max_step} nodes a step, by need, when local GPU use was at or above "
        f"{settings.local_use_at_least} for {show_duration(settings.hold_for)} "
        f"and {settings.queued_tasks_at_least} or more tasks queue.{trend}",
    )


def schema() -> Schema:
    """What an editor may know of the section."""
    return schema_of("Out: the owned cluster is full and work waits.", _KEYS)


SECTION = Section(name="queue_pressure", read=read, sentences=sentences, schema=schema)
