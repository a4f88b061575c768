"""Section `prewarm` (R4.4): windows that a forecast proposed and a person approved; others are refused at load."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from agent.core.rules.calendar import show_window
from agent.core.rules.keys import DATE, TEXT, Key, Schema, Section, read_keys, rows_schema, schema_of, whole
from agent.core.rules.windows import KEEP_KEYS, RULE_KEYS, ZONE_KEY, KeepWindow, check_rule, read_rule
from contract.fields import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class PrewarmWindow:
    """A window with the name of whoever approved it, and when."""

    window: KeepWindow
    approved_by: str
    approved_on: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Prewarm:
    """The approved windows, in the order of the file."""

    windows: tuple[PrewarmWindow, ...] = ()


OFF = Prewarm()
_APPROVAL = (
    Key(name="approved_by", kind=TEXT, says="who approved the forecast"),
    Key(name="approved_on", kind=DATE, says="when"),
)
_KEYS = (*RULE_KEYS, *KEEP_KEYS, Key(name="nodes", kind=whole(1), says="rented nodes there are at least"))


def read(fields: Fields) -> Prewarm:
    """Read the section; problems go to its findings."""
    zone = read_keys(fields, (ZONE_KEY,))["zone"]
    windows = tuple(_read_window(row, zone) for row in fields.rows("windows"))
    fields.done()
    return Prewarm(windows=windows)


def _read_window(fields: Fields, zone: str) -> PrewarmWindow:
    values = read_keys(fields, _KEYS)
    rule = read_rule(values, zone)
    if missing := [key.name for key in _APPROVAL if key.name not in fields]:
        text = f"nobody approved the forecast {rule.name}: {' and '.join(missing)} missing"
        fields.problem("", text, "look at it, then add approved_by and approved_on; or remove it")
    approval = read_keys(fields, [key for key in _APPROVAL if key.name not in missing])
    if fields.is_clean():
        check_rule(fields, rule)
    fields.done()
    return PrewarmWindow(
        window=KeepWindow(rule=rule, **{name: values[name] for name in ("lead", "nodes", "pools")}),
        approved_by=approval.get("approved_by", ""),
        approved_on=approval.get("approved_on", date.min),
    )


def sentences(settings: Prewarm) -> tuple[str, ...]:
    """What it means, for people."""
    return tuple(
        f"{show_window(entry.window)} A forecast, approved by {entry.approved_by} on {entry.approved_on}."
        for entry in settings.windows
    )


def schema() -> Schema:
    """What an editor may know of the section."""
    row = schema_of("A window that a forecast proposed and a person approved.", (*_KEYS, *_APPROVAL))
    made = schema_of(
        "What a forecast expects, once a person approved it.",
        (ZONE_KEY,),
        {"windows": rows_schema("one window a row", row)},
    )
    return made | {"required": ["windows"]}


SECTION = Section(name="prewarm", read=read, sentences=sentences, schema=schema, off=OFF)
