"""Section `calendar` (R4.3): windows in which nodes are kept ready, or idle ones go back at once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from agent.core.rules.keys import (
    DURATION,
    FLAG,
    Key,
    Schema,
    Section,
    read_keys,
    rows_schema,
    schema_of,
    whole,
)
from agent.core.rules.windows import KEEP_KEYS, RULE_KEYS, ZONE_KEY, KeepWindow, check_rule, read_rule, show_rule
from contract.fields import Fields
from contract.units import show_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Calendar:
    """The windows, in the order of the file."""

    windows: tuple[KeepWindow, ...] = ()


OFF = Calendar()
_KEYS = (
    *RULE_KEYS,
    *KEEP_KEYS,
    Key(name="keep_nodes", setting="nodes", kind=whole(1), says="rented nodes there are at least", optional=True),
    Key(
        name="give_back_idle",
        kind=FLAG,
        says="idle rented nodes go back at once, whatever local use is",
        default=False,
    ),
    Key(
        name="idle_for",
        kind=DURATION,
        says="how long a node must have been idle to go back at once: a new one needs a moment to get its first task",
        default=timedelta(minutes=5),
    ),
)


def read(fields: Fields) -> Calendar:
    """Read the section; problems go to its findings."""
    zone = read_keys(fields, (ZONE_KEY,))["zone"]
    windows = tuple(_read_window(row, zone) for row in fields.rows("windows"))
    fields.done()
    return Calendar(windows=windows)


def _read_window(fields: Fields, zone: str) -> KeepWindow:
    values = read_keys(fields, _KEYS)
    rule = read_rule(values, zone)
    window = KeepWindow(
        rule=rule, **{name: values[name] for name in ("lead", "nodes", "pools", "give_back_idle", "idle_for")}
    )
    if fields.is_clean():
        check_rule(fields, rule)
        if bool(window.nodes) == window.give_back_idle:
            text = f"{rule.name} must either keep nodes or give idle ones back"
            fields.problem("", text, "write keep_nodes or give_back_idle; split it into two windows")
    fields.done()
    return window


def sentences(settings: Calendar) -> tuple[str, ...]:
    """What it means, for people."""
    return tuple(show_window(window) for window in settings.windows)


def show_window(window: KeepWindow) -> str:
    """One window in a sentence."""
    name, when = window.rule.name, show_rule(window.rule)
    if window.give_back_idle:
        return f"{name}: {when}, nodes idle for {show_duration(window.idle_for)} go back, whatever local use is."
    where = f" of {', '.join(window.pools)}" if window.pools else ""
    lead = f" and {show_duration(window.lead)} before" if window.lead else ""
    return f"{name}: {when}{lead}, at least {window.nodes} nodes{where} are rented; afterwards idle ones go back."


def schema() -> Schema:
    """What an editor may know of the section."""
    rows = rows_schema("one window a row", schema_of("A window: when it opens, how long, what for.", _KEYS))
    made = schema_of("What is known beforehand, by the calendar.", (ZONE_KEY,), {"windows": rows})
    return made | {"required": ["windows"]}


SECTION = Section(name="calendar", read=read, sentences=sentences, schema=schema, off=OFF)
