"""The hours of a day in which a pool may be rented: cheap nights, capacity that is sold by the window.

A rule for the opening and a length in real elapsed time, as with every window (I39, I41). What follows from
being open or closed is agent/core's business.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from zoneinfo import ZoneInfo

from contract.fields import Fields

_CLOCK_TIME = re.compile(r"([01][0-9]|2[0-3]):([0-5][0-9])")
CLOCK_TIME_PATTERN = f"^{_CLOCK_TIME.pattern}$"
_DAY = timedelta(days=1)


class Weekday(StrEnum):
    """Days of the week, Monday first."""

    MON = "mon"
    TUE = "tue"
    WED = "wed"
    THU = "thu"
    FRI = "fri"
    SAT = "sat"
    SUN = "sun"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """Opens at `opens` by the clocks of `zone`, on `weekdays` (every day where none is named), for `length`."""

    zone: str
    opens: timedelta
    length: timedelta
    weekdays: tuple[Weekday, ...] = ()


def read_hours(fields: Fields) -> Hours:
    """Read `{zone: Asia/Shanghai, opens: "22:00", length: 8h, weekdays: [mon, tue]}`; problems go to its findings."""
    hours = Hours(
        zone=fields.take("zone", parse_zone, "UTC"),
        opens=fields.take("opens", parse_clock_time, timedelta(0)),
        length=fields.duration("length"),
        weekdays=fields.take("weekdays", _weekdays, (), required=False),
    )
    if fields.is_clean() and not timedelta(0) < hours.length < _DAY:
        fields.problem("length", "hours that never open or never close", "give a length such as 8h, below 24h")
    fields.done()
    return hours


def parse_clock_time(value: object) -> timedelta:
    """`"02:00"` as the time since midnight. Raises ValueError."""
    match = _CLOCK_TIME.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError(f'{value!r} is not a time of day; write it in quotes, such as "02:00"')
    return timedelta(hours=int(match[1]), minutes=int(match[2]))


def parse_zone(value: object) -> str:
    """The name of a time zone that this machine knows. Raises ValueError."""
    try:
        return ZoneInfo(str(value)).key
    except (OSError, ValueError, LookupError) as error:
        raise ValueError(f"{value!r} is not a time zone; write it such as Asia/Shanghai") from error


def _weekdays(value: object) -> tuple[Weekday, ...]:
    known = [day.value for day in Weekday]
    if not isinstance(value, list) or not value or any(item not in known for item in value):
        raise ValueError(f"{value!r} is not a list of some of: {', '.join(known)}")
    return tuple(Weekday(item) for item in dict.fromkeys(value))
