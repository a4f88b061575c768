"""Section `sampling`: how often the agent looks, and how much of a window must be valid to be judged."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from agent.core.rules.keys import (
    DURATION,
    PERCENT,
    POSITIVE_DURATION,
    Key,
    Schema,
    Section,
    choice,
    read_keys,
    schema_of,
)
from contract.fields import Fields
from contract.units import Percent, show_duration


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


_KEYS = (
    Key(name="every", kind=POSITIVE_DURATION, says="one look at load and queue"),
    Key(
        name="min_valid",
        kind=PERCENT,
        says="share of a window's samples that must be valid; else the size is held",
        default=Percent(80.0),
    ),
    Key(
        name="stale_after",
        kind=DURATION,
        says="a longer gap between looks starts all idle clocks again; four times 'every' unless given",
        default=lambda values: 4 * values["every"],
    ),
    Key(
        name="use_signal",
        kind=choice(UseSignal),
        says="how busy the cards are (DCGM), or how many GPUs are given out",
        default=UseSignal.UTILIZATION,
    ),
)


def read(fields: Fields) -> Sampling:
    """Read the section; problems go to its findings."""
    settings = Sampling(**read_keys(fields, _KEYS))
    fields.done()
    return settings


def sentences(settings: Sampling) -> tuple[str, ...]:
    """What it means, for people."""
    what = {
        UseSignal.UTILIZATION: "how busy the cards are",
        UseSignal.ALLOCATION: "how many GPUs are given out",
    }[settings.use_signal]
    return (
        f"Looks at load and queue every {show_duration(settings.every)}; GPU use means {what}.",
        f"Judges a window only when {settings.min_valid} of its samples are valid; "
        f"a gap of more than {show_duration(settings.stale_after)} starts all idle clocks again.",
    )


def schema() -> Schema:
    """What an editor may know of the section."""
    return schema_of("How often the agent looks, and what it believes.", _KEYS)


SECTION = Section(name="sampling", read=read, sentences=sentences, schema=schema)
