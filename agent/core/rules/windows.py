"""One row of a list of windows, as `calendar` and `prewarm` share it: when it opens, how long, what for."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from agent.core.calendar_windows import WindowRule
from agent.core.rules.keys import CLOCK_TIME, DATES, DURATION, OWN_ZONE, TEXT, TEXTS, ZONE, Key, choices, whole
from contract.fields import Fields
from contract.hours import Weekday
from contract.units import Nodes, show_duration

_NONE = Nodes(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeepWindow:
    """While it is open, and for `lead` before, at least `nodes` are rented, in `pools` where those are named.

    `give_back_idle`: while it is open, nodes that have been idle for `idle_for` go back at once.
    """

    rule: WindowRule
    lead: timedelta = timedelta(0)
    nodes: Nodes = _NONE
    pools: tuple[str, ...] = ()
    give_back_idle: bool = False
    idle_for: timedelta = timedelta(minutes=5)


ZONE_KEY = Key(name="zone", kind=ZONE, says="the zone whose clocks count, unless a window names its own", default="UTC")
RULE_KEYS = (
    Key(name="name", kind=TEXT, says="what people call it"),
    Key(name="weekdays", kind=choices(Weekday), says="opens on these days of the week", optional=True),
    Key(
        name="last_days_of_month",
        kind=whole(1, 28),
        says="opens once a month, on the first of so many last days",
        optional=True,
    ),
    Key(name="dates", kind=DATES, says="opens on these days only", optional=True),
    Key(name="not_on", kind=DATES, says="does not open on these days, holidays for instance", optional=True),
    Key(
        name="at",
        kind=CLOCK_TIME,
        says="local time of day at which it opens; midnight unless given",
        default=lambda _values: timedelta(0),
    ),
    Key(
        name="length",
        kind=DURATION,
        says="how long it stays open, in real elapsed time; last_days_of_month has its own",
        default=lambda values: timedelta(days=values["last_days_of_month"]) or None,
    ),
    Key(name="zone", kind=OWN_ZONE, says="the zone whose clocks count, where it is not the section's", optional=True),
)
KEEP_KEYS = (
    Key(name="lead", kind=DURATION, says="nodes are rented so long before it opens", default=timedelta(0)),
    Key(
        name="pools",
        kind=TEXTS,
        says="where; without it the cheapest pools that are not spot, and nodes anywhere count",
        optional=True,
    ),
)


def read_rule(values: dict[str, Any], zone: str) -> WindowRule:
    """A rule from the values of its keys."""
    names = ("name", "weekdays", "last_days_of_month", "dates", "not_on", "at", "length")
    return WindowRule(zone=values["zone"] or zone, **{name: values[name] for name in names})


def check_rule(fields: Fields, rule: WindowRule) -> None:
    """Refuse what has two rules for its start, or never opens."""
    if sum(bool(item) for item in (rule.weekdays, rule.last_days_of_month, rule.dates)) > 1:
        text = f"{rule.name} has more than one rule for its start"
        fields.problem("", text, "keep one of weekdays, last_days_of_month, dates; split it into two windows")
    if rule.length <= timedelta(0):
        fields.problem("length", f"{rule.name} is never open", "give it a length above 0, such as 4h")
    if rule.dates and not any(rule.starts_on(day) for day in rule.dates):
        fields.problem("not_on", f"{rule.name} never opens: not_on names all its dates", "remove some")


def show_rule(rule: WindowRule) -> str:
    """`on Mon, Tue at 06:30 Europe/Berlin for 15h40m`."""
    at = f"{rule.at // timedelta(hours=1):02d}:{rule.at // timedelta(minutes=1) % 60:02d}"
    if rule.last_days_of_month:
        days = f"on the first of each month's last {rule.last_days_of_month} days"
    elif rule.dates:
        days = f"on {', '.join(day.isoformat() for day in rule.dates)}"
    elif rule.weekdays:
        days = f"on {', '.join(day.value.capitalize() for day in rule.weekdays)}"
    else:
        days = "every day"
    but = f", but not on {', '.join(day.isoformat() for day in rule.not_on)}" if rule.not_on else ""
    return f"{days}{but}, at {at} {rule.zone} for {show_duration(rule.length)}"
