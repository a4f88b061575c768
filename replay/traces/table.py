"""A table under reading: its columns by name, the row at hand, and cells turned into checked values.

A cell that cannot be used is reported and gives a stand-in, so that one pass finds everything; the
rows that were reported never reach the trace. Must not know what a column means to a format.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TypeVar

from replay.traces.findings import RowFindings
from replay.traces.source import Cells

_YEARS = range(1970, 2200)
_MOST_SECONDS = 100 * 366 * 86400.0

E = TypeVar("E", bound=StrEnum)

_NUMBER = "write a plain number such as 3600 or 3600.5"
_ZONED = "add the zone, such as 2026-11-01T01:30:00+08:00 or ...Z"


class Table:
    """Iterating moves to the next row and gives its line number; the methods read cells of that row."""

    def __init__(self, header: Cells, rows: Iterator[tuple[int, Cells]], findings: RowFindings) -> None:
        self.findings = findings
        self.line = 0
        self.left_out = 0
        # The whole second that moments are counted from: small numbers keep their microseconds.
        self.origin: datetime | None = None
        self._at = {column: place for place, column in enumerate(header)}
        self._width = len(header)
        self._rows = rows
        self._cells: Cells = []

    def __iter__(self) -> Iterator[int]:
        for line, cells in self._rows:
            if len(cells) != self._width:
                self.findings.add(
                    line, "the row", f"has {len(cells)} cells, the header {self._width}", "mend its commas"
                )
                continue
            self.line, self._cells = line, cells
            yield line

    def __contains__(self, column: str) -> bool:
        return column in self._at

    def leave_out(self, line: int) -> None:
        """A row that is no job on GPUs; one that is bad besides counts as bad."""
        self.left_out += line not in self.findings.bad_lines

    def bad(self, column: str, message: str, fix: str) -> None:
        """The row at hand cannot be used."""
        self.findings.add(self.line, column, message, fix)

    def text(self, column: str, default: str = "") -> str:
        """The cell without blanks around it; `default` where column or cell is missing."""
        place = self._at.get(column)
        return default if place is None else self._cells[place].strip() or default

    def name(self, column: str) -> str:
        """The name of the job, which its column must give."""
        text = self.text(column)
        if not text:
            self.bad(column, "is empty", "give every job its own name")
        return text

    def seconds(self, column: str) -> float:
        """A finite number."""
        text = self.text(column)
        value = plain_number(text)
        if value is None or not math.isfinite(value):
            message = f"{_quoted(text)} is not a finite number" if text else "is empty"
            self.bad(column, message, _NUMBER)
            return math.nan
        if abs(value) > _MOST_SECONDS:
            self.bad(column, f"{_quoted(text)} s is more than a hundred years", "give seconds, not milliseconds")
            return math.nan
        return value

    def runtime(self, column: str) -> float:
        """A finite number above zero."""
        value = self.seconds(column)
        if value <= 0:
            self.bad_runtime(column, value)
        return value

    def bad_runtime(self, column: str, value: float) -> None:
        """A job that took no time at all, or less."""
        self.bad(column, f"a job cannot run for {value:g} s", "give the run time in seconds, above 0")

    def count(self, column: str, *, at_least: int, unit: str) -> int:
        """A whole number; `8.0` is one, `0.5` is not."""
        text = self.text(column)
        value = plain_number(text)
        if value is None or not value.is_integer():
            message = f"{_quoted(text)} is not a whole number of {unit}" if text else "is empty"
            self.bad(column, message, f"give a whole number of {unit}")
            return at_least
        if value < at_least:
            self.bad(column, f"{text} is too few {unit}", f"give at least {at_least}, or delete the row")
        return int(value)

    def gpus(self, column: str) -> int:
        """GPUs of a job: whole, and at least one."""
        return self.count(column, at_least=1, unit="GPUs")

    def choice(self, column: str, kind: type[E], default: E) -> E:
        """One of the words of a vocabulary."""
        text = self.text(column)
        if not text:
            return default
        try:
            return kind(text.lower())
        except ValueError:
            self.bad(column, f"{_quoted(text)} is not known", "write one of " + ", ".join(kind))
            return default

    def flag(self, column: str, *, default: bool) -> bool:
        """Yes or no."""
        text = self.text(column).lower()
        if not text:
            return default
        if text not in _FLAGS:
            self.bad(column, f"{_quoted(text)} is neither yes nor no", "write true or false")
        return _FLAGS.get(text, default)

    def is_time(self, column: str) -> bool:
        """Whether the cell is an ISO-8601 time, with or without a zone."""
        return _iso(self.text(column)) is not None

    def moment(self, column: str) -> float:
        """An ISO-8601 time with its zone, in seconds since `origin`. The offset tells the two hours of a long day."""
        text = self.text(column)
        when = _iso(text)
        if when is None:
            self.bad(
                column, f"{_quoted(text)} is no time", "write seconds, or ISO 8601 such as 2026-11-01T01:30:00+08:00"
            )
            return math.nan
        if when.utcoffset() is None:
            self.bad(column, f"{_quoted(text)} has no zone, so it is not one moment", _ZONED)
            return math.nan
        return self._since_origin(when.astimezone(UTC))

    def naive_moment(self, column: str) -> float:
        """A time without a zone, read as UTC: for formats that publish no other."""
        text = self.text(column)
        when = _iso(text)
        if when is None:
            message = f"{_quoted(text)} is no time" if text else "is empty"
            self.bad(column, message, "write it such as 2017-09-04 10:30:41")
            return math.nan
        return self._since_origin(when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC))

    def _since_origin(self, when: datetime) -> float:
        if self.origin is None:
            self.origin = when.replace(microsecond=0)
        return (when - self.origin).total_seconds()

    def calendar(self, seconds: float) -> datetime | None:
        """The moment that many seconds after `origin`; none where the table has no dates."""
        return None if self.origin is None else self.origin + timedelta(seconds=seconds)


_FLAGS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def plain_number(text: str) -> float | None:
    """What the text is as a number, perhaps NaN or infinite; Python's `1_000` is none."""
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _iso(text: str) -> datetime | None:
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        return None
    return when if when.year in _YEARS else None


def _quoted(text: str) -> str:
    """The text of a cell for a message, not longer than a line."""
    return repr(text if len(text) <= 40 else text[:37] + "...")
