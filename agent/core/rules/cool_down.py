"""Section `cool_down` (R4.6, R4.7): least time between actions, and back-off of what could not be delivered."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from agent.core.rules.keys import DURATION, POSITIVE_DURATION, Key, Schema, Section, read_keys, schema_of
from contract.fields import Fields
from contract.units import show_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class CoolDown:
    """Least time between actions; back-off of a pool after its cloud could not deliver."""

    after_grow: timedelta
    after_shrink: timedelta
    back_off: timedelta
    max_back_off: timedelta


_KEYS = (
    Key(name="after_grow", kind=DURATION, says="no further growth, and no shrink, sooner than this"),
    Key(name="after_shrink", kind=DURATION, says="no further shrink sooner than this"),
    Key(
        name="back_off",
        kind=POSITIVE_DURATION,
        says="a pool whose cloud could not deliver is left alone; doubles up to max_back_off",
    ),
    Key(name="max_back_off", kind=POSITIVE_DURATION, says="the longest back-off"),
)


def read(fields: Fields) -> CoolDown:
    """Read the section; problems go to its findings."""
    settings = CoolDown(**read_keys(fields, _KEYS))
    fields.done()
    return settings


def sentences(settings: CoolDown) -> tuple[str, ...]:
    """What it means, for people."""
    return (
        f"Waits {show_duration(settings.after_grow)} after renting before anything else, "
        f"and {show_duration(settings.after_shrink)} between two returns.",
        f"A pool that its cloud cannot fill is left alone for {show_duration(settings.back_off)}, "
        f"twice as long each time, {show_duration(settings.max_back_off)} at most; the next best is tried meanwhile.",
    )


def schema() -> Schema:
    """What an editor may know of the section."""
    return schema_of("Least time between actions.", _KEYS)


SECTION = Section(name="cool_down", read=read, sentences=sentences, schema=schema)
