"""Reading of one mapping into typed values, collecting every problem with its place.

The only door through which mappings with text keys enter; what comes out is typed. Must not know
any particular document.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import TypeVar

from contract.problems import InvalidInput, Problem
from contract.units import BadUnit, Money, Percent, parse_duration, parse_money, parse_percent

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
Path = tuple[str | int, ...]
Positions = Mapping[Path, tuple[int, int]]


@dataclass(slots=True)
class Findings:
    """Collects the problems of one document; `raise_if_any` ends the reading."""

    file: str
    positions: Positions = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def add(self, path: Path, message: str, fix: str) -> None:
        """Note a problem at `path`, placed at the nearest part of the document that exists."""
        row, column = self._place(path)
        self.problems.append(
            Problem(
                file=self.file,
                where=show_path(path),
                message=message,
                fix=fix,
                row=row,
                column=column,
            )
        )

    def raise_if_any(self) -> None:
        """Raise InvalidInput with all that was found."""
        if self.problems:
            raise InvalidInput(self.problems)

    def _place(self, path: Path) -> tuple[int | None, int | None]:
        for length in range(len(path), -1, -1):
            if (place := self.positions.get(path[:length])) is not None:
                return place
        return None, None


class Fields:
    """One mapping of a document. Each read names a key; `done` refuses the keys nobody read.

    A read that fails notes a problem and gives back a harmless value of the right type, so that the
    reader goes on and finds the other problems; `Findings.raise_if_any` keeps such values inside.
    """

    def __init__(self, value: object, findings: Findings, path: Path = ()) -> None:
        self._findings = findings
        self._path = path
        self._read: set[str] = set()
        self._values: Mapping[str, object] = {}
        if isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
            self._values = value
        else:
            findings.add(
                path,
                f"expected keys and values, found {describe(value)}",
                "indent the keys below it",
            )

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def names(self) -> tuple[str, ...]:
        """The keys as written, in order."""
        return tuple(self._values)

    def take(self, key: str, parse: Callable[[object], T], fallback: T, *, required: bool = True) -> T:
        """Parse one value; an absent optional key gives the fallback, an absent required one a problem."""
        self._read.add(key)
        if self._values.get(key) is None:
            if required:
                self.problem(key, "is missing", f"add '{key}:'")
            return fallback
        try:
            return parse(self._values[key])
        except (BadUnit, ValueError) as error:
            self.problem(key, str(error), f"correct the value of '{key}'")
            return fallback

    def text(self, key: str, default: str | None = None) -> str:
        """A non-empty text."""
        return self.take(key, _text, default or "", required=default is None)

    def optional_text(self, key: str) -> str | None:
        """A non-empty text, or None when the key is absent."""
        return self.take(key, _text, None, required=False)

    def integer(self, key: str, *, at_least: int = 0, at_most: int | None = None, default: int | None = None) -> int:
        """A whole number within bounds; a bool or a text of digits is refused."""
        fallback = at_least if default is None else default
        return self.take(key, _integer(at_least, at_most), fallback, required=default is None)

    def flag(self, key: str, *, default: bool) -> bool:
        """true or false, nothing else."""
        return self.take(key, _flag, default, required=False)

    def money(self, key: str) -> Money:
        """An amount above zero with its currency."""
        return self.take(key, _positive_money, Money(Decimal(1), "CNY"))

    def percent(self, key: str, default: Percent | None = None) -> Percent:
        """A share from 0 to 100."""
        return self.take(key, parse_percent, default or Percent(0.0), required=default is None)

    def duration(self, key: str, default: timedelta | None = None) -> timedelta:
        """A duration with its unit."""
        return self.take(key, parse_duration, default or timedelta(0), required=default is None)

    def date(self, key: str) -> date:
        """An ISO date."""
        return self.take(key, _date, date.min)

    def choice(self, key: str, kind: type[E], default: E | None = None) -> E:
        """One value of an enum, spelt exactly."""
        return self.take(key, _choice(kind), default or next(iter(kind)), required=default is None)

    def texts(self, key: str, default: Sequence[str] | None = None) -> tuple[str, ...]:
        """A list of distinct texts."""
        return self.take(key, _texts, tuple(default or ()), required=default is None)

    def fields(self, key: str, *, required: bool = True) -> Fields:
        """The mapping below `key`; an absent optional one reads as empty."""
        self._read.add(key)
        value = self._values.get(key)
        if value is None and not required:
            value = {}
        elif value is None:
            self.problem(key, "is missing", f"add '{key}:' and its keys")
            value = {}
        return Fields(value, self._findings, (*self._path, key))

    def rows(self, key: str) -> Iterator[Fields]:
        """The mappings of the list below `key`, in order."""
        self._read.add(key)
        value = self._values.get(key)
        if not isinstance(value, list):
            self.problem(
                key,
                f"expected a list of rows, found {describe(value)}",
                f"write '{key}:' and a '- ' for each row",
            )
            return
        for number, row in enumerate(value):
            yield Fields(row, self._findings, (*self._path, key, number))

    def problem(self, key: str, message: str, fix: str) -> None:
        """Note a problem of one key."""
        self._findings.add((*self._path, key) if key else self._path, message, fix)

    def is_clean(self) -> bool:
        """Whether no problem was noted in this mapping so far: rules over several values need good ones."""
        place = show_path(self._path)
        return not any(problem.where.startswith(place) for problem in self._findings.problems)

    def done(self) -> None:
        """Refuse the keys that no read named: a typing slip must not become a silent default."""
        for key in self._values:
            if key not in self._read:
                near = difflib.get_close_matches(key, self._read, n=1)
                hint = f"did you mean '{near[0]}'?" if near else f"known keys: {', '.join(sorted(self._read))}"
                self.problem(key, "unknown key", hint)


def show_path(path: Path) -> str:
    """`pools[2].price` for ("pools", 2, "price")."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return text or "the document"


def describe(value: object) -> str:
    """A value's kind in the words of a stack file."""
    if value is None:
        return "nothing"
    names = {
        bool: "a true/false",
        int: "a number",
        float: "a number",
        str: "a text",
        list: "a list",
        dict: "keys and values",
    }
    return names.get(type(value), type(value).__name__)


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f'expected a text, found {describe(value)} {value!r}; quote digits such as "0123"')
    return value


def _integer(at_least: int, at_most: int | None) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise ValueError(f"expected a whole number, found {describe(value)} {value!r}")
        if value < at_least or (at_most is not None and value > at_most):
            upper = f" to {at_most}" if at_most is not None else " or more"
            raise ValueError(f"{value} is outside {at_least}{upper}")
        return value

    return parse


def _flag(value: object) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, found {value!r}")
    return value


def _positive_money(value: object) -> Money:
    money = parse_money(value)
    if money.amount <= 0:
        raise ValueError(f"{value!r} is not a price: a missing price is not a free machine")
    return money


def _date(value: object) -> date:
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else date.fromisoformat(_text(value))


def _choice(kind: type[E]) -> Callable[[object], E]:
    def parse(value: object) -> E:
        try:
            return kind(_text(value))
        except ValueError as error:
            known = ", ".join(member.value for member in kind)
            raise ValueError(f"{value!r} is not one of: {known}") from error

    return parse


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"expected a list of texts, found {describe(value)}")
    texts = tuple(_text(item) for item in value)
    if len(set(texts)) != len(texts):
        raise ValueError(f"a value is listed twice in {list(texts)}")
    return texts
