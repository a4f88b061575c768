"""From a forecast to windows that a person may approve: when demand lies above the owned GPUs, and by how many nodes.

A window is proposed only where history bears it out: it must have been needed in half of its past
occurrences, and its nodes put to use for a third of their time. It holds what is usual in its hours,
not their peak: queue pressure rents the rest when it comes. What is written is the section `prewarm`
of a policy, unapproved; its reader refuses it until somebody puts a name to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from contract.hours import Weekday
from replay.forecast.demand import DAY_HOURS, WEEK_HOURS, Demand, Numbers, Slots
from replay.forecast.patterns import Lull, MonthEnd
from replay.forecast.scores import runs

_DAYS = tuple(Weekday)
# In so many of its past occurrences a window must have been needed.
_NEEDED = 0.5
# So much of the time of its nodes must have found work.
_USED = 1 / 3
_MONTH_END_LEAD = "24h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Supply:
    """What demand is held against, and how windows are written."""

    on_prem_gpus: int
    gpus_per_node: int = 8
    zone: str = "UTC"
    lead: str = "20m"


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One proposed window, in the words of the policy.

    Of the past: `needed` of `occurrences` had demand above the owned GPUs; `used` is the share of the
    nodes' time that would have found work.
    """

    name: str
    weekdays: tuple[Weekday, ...] = ()
    last_days_of_month: int = 0
    at: str
    length: str
    lead: str
    nodes: int
    needed: int
    occurrences: int
    used: float

    @property
    def is_borne_out(self) -> bool:
        """Whether the past would have had use for it."""
        return self.occurrences > 0 and self.needed >= _NEEDED * self.occurrences and self.used >= _USED


@dataclass(frozen=True, slots=True)
class _Piece:
    """Part of a week, by hours from Monday 0:00, usually above the owned GPUs by so many."""

    first: int
    hours: int
    excess: float

    @property
    def day(self) -> int:
        return self.first // DAY_HOURS

    def is_like(self, other: _Piece, gpus_per_node: int) -> bool:
        """Same hours, give or take one, and the same nodes, give or take one."""
        starts = self.first % DAY_HOURS - other.first % DAY_HOURS
        nodes = math.ceil(self.excess / gpus_per_node) - math.ceil(other.excess / gpus_per_node)
        return abs(starts) <= 1 and abs(starts + self.hours - other.hours) <= 1 and abs(nodes) <= 1


def weekly(ahead: Numbers, demand: Demand, slots: Slots, supply: Supply) -> tuple[Window, ...]:
    """Windows of a usual week; `ahead` is what is planned for, by hour of the week."""
    groups: list[list[_Piece]] = []
    for piece in _pieces(ahead - supply.on_prem_gpus):
        alike = next((group for group in groups if piece.is_like(group[0], supply.gpus_per_node)), None)
        if alike is None:
            groups.append([piece])
        else:
            alike.append(piece)
    made = (_window(group, demand, slots, supply) for group in groups)
    return tuple(window for window in made if window.is_borne_out)


def _pieces(excess: Numbers) -> Iterator[_Piece]:
    """Runs above nothing, in a week that begins again; a lone hour between two is bridged, days are cut at midnight."""
    above = excess > 0
    above |= np.roll(above, 1) & np.roll(above, -1)
    if above.all():
        starts = [(day * DAY_HOURS, (day + 1) * DAY_HOURS) for day in range(len(_DAYS))]
    else:
        # Turned so that no run goes over the end of the week.
        turn = int(np.flatnonzero(~above)[0])
        starts = [(first + turn, last + turn) for first, last in runs(np.roll(above, -turn))]
    for first, last in starts:
        for begins, ends in _days(first, last):
            hours = np.arange(begins, ends) % WEEK_HOURS
            yield _Piece(begins % WEEK_HOURS, ends - begins, float(np.median(excess[hours][excess[hours] > 0])))


def _days(first: int, last: int) -> Iterator[tuple[int, int]]:
    """A run of up to a day as it is, a longer one day by day."""
    if last - first <= DAY_HOURS:
        yield first, last
        return
    while first < last:
        ends = min(last, (first // DAY_HOURS + 1) * DAY_HOURS)
        yield first, ends
        first = ends


def _window(group: list[_Piece], demand: Demand, slots: Slots, supply: Supply) -> Window:
    first = min(piece.first % DAY_HOURS for piece in group)
    last = max(piece.first % DAY_HOURS + piece.hours for piece in group)
    days = sorted({piece.day for piece in group})
    nodes = math.ceil(max(piece.excess for piece in group) / supply.gpus_per_node)
    starts = [np.flatnonzero(slots.hour_of_week == day * DAY_HOURS + first) for day in days]
    past = _past(demand, supply, [(int(start), last - first) for start in np.concatenate(starts)], nodes)
    name = "every-day" if len(days) == len(_DAYS) else "-".join(_DAYS[day].value for day in days)
    return Window(
        name=f"forecast-{name}-{first:02d}00",
        weekdays=() if len(days) == len(_DAYS) else tuple(_DAYS[day] for day in days),
        at=f"{first:02d}:00",
        length=f"{last - first}h",
        lead=supply.lead,
        nodes=nodes,
        needed=past[0],
        occurrences=past[1],
        used=past[2],
    )


def _past(demand: Demand, supply: Supply, openings: list[tuple[int, int]], nodes: int) -> tuple[int, int, float]:
    """How often a window would have been needed, of how often it would have opened, and the share of use."""
    held = nodes * supply.gpus_per_node
    excess = np.clip(demand.gpus - supply.on_prem_gpus, 0.0, held)
    whole = [excess[start : start + hours] for start, hours in openings if start + hours <= len(excess)]
    used = float(np.concatenate(whole).mean() / held) if whole else 0.0
    return sum(bool(part.any()) for part in whole), len(whole), round(used, 3)


def at_month_end(found: MonthEnd, demand: Demand, slots: Slots, supply: Supply, plan_for: float) -> Window | None:
    """The window of the last days of each month, if they surge above the owned GPUs."""
    closing = slots.days_left <= found.days
    above = demand.gpus[closing] - supply.on_prem_gpus
    if not found.is_surge or not (above > 0).any():
        return None
    nodes = math.ceil(float(np.quantile(above[above > 0], plan_for)) / supply.gpus_per_node)
    firsts = np.flatnonzero(closing & (slots.days_left == found.days) & (slots.hour_of_day == 0))
    openings = [(int(start), found.days * DAY_HOURS) for start in firsts]
    needed, occurrences, used = _past(demand, supply, openings, nodes)
    window = Window(
        name="forecast-month-end",
        last_days_of_month=found.days,
        at="00:00",
        length=f"{found.days}d",
        lead=_MONTH_END_LEAD,
        nodes=nodes,
        needed=needed,
        occurrences=occurrences,
        used=used,
    )
    return window if window.is_borne_out else None


def as_prewarm(windows: tuple[Window, ...], zone: str) -> str:
    """The section `prewarm` of a policy file, to be looked at, approved and pasted."""
    if not windows:
        return ""
    lines = ["prewarm:", f"  zone: {zone}", "  windows:"]
    for window in windows:
        lines += [f"    - name: {window.name}"]
        if window.weekdays:
            lines += [f"      weekdays: [{', '.join(day.value for day in window.weekdays)}]"]
        if window.last_days_of_month:
            lines += [f"      last_days_of_month: {window.last_days_of_month}"]
        lines += [
            f'      at: "{window.at}"',
            f"      length: {window.length}",
            f"      lead: {window.lead}",
            f"      nodes: {window.nodes}   # needed {window.needed} of {window.occurrences} times; "
            f"{window.used:.0%} of the nodes' time was used",
            "      approved_by: null   # your name, once you agree; until then the policy is refused",
            "      approved_on: null   # such as 2026-11-20",
        ]
    return "\n".join(lines) + "\n"


def as_calendar_row(lull: Lull) -> str:
    """A row for `windows` of the section `calendar`: idle nodes go back in the lull."""
    return (
        f"    - name: forecast-night\n"
        f'      at: "{lull.from_hour:02d}:00"\n'
        f"      length: {lull.hours}h\n"
        f"      give_back_idle: true\n"
    )
