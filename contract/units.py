"""Units as types: money that carries its currency, shares, durations; parsing and printing of each.

Nothing here rounds silently and nothing accepts a bare float for money. Must not know what the
numbers are used for.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import NewType

Nodes = NewType("Nodes", int)
Gpus = NewType("Gpus", int)
GiB = NewType("GiB", int)
Mbps = NewType("Mbps", int)

_CURRENCIES = frozenset({"CNY", "USD", "EUR", "HKD", "SGD", "JPY"})
_SYMBOLS = {"CNY": "¥", "USD": "$", "EUR": "€"}
_DURATION_PART = re.compile(r"(\d+(?:\.\d+)?)(s|m|h|d)")
# A hundred years: longer than anything that is planned here, and safe to add to any date.
_LONGEST = timedelta(days=36_525)
# More than any bill has; sums and shares of it stay exact to the cent in the decimal context of 28 digits.
_MOST_MONEY = Decimal(10) ** 12
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


class BadUnit(ValueError):
    """A text or number that is not a legal value of the unit asked for; the message says what is."""


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount in one ISO 4217 currency. Adding two currencies is an error, never a guess."""

    amount: Decimal
    currency: str

    def __post_init__(self) -> None:
        if self.currency not in _CURRENCIES:
            raise BadUnit(f"unknown currency {self.currency!r}; known: {', '.join(currencies())}")
        if not self.amount.is_finite():
            raise BadUnit(f"{self.amount} is not an amount of money")

    def __add__(self, other: Money) -> Money:
        return Money(self.amount + self._same(other).amount, self.currency)

    def __sub__(self, other: Money) -> Money:
        return Money(self.amount - self._same(other).amount, self.currency)

    def __mul__(self, factor: int | Decimal) -> Money:
        return Money(self.amount * factor, self.currency)

    def __neg__(self) -> Money:
        return Money(-self.amount, self.currency)

    def __lt__(self, other: Money) -> bool:
        return self.amount < self._same(other).amount

    def __le__(self, other: Money) -> bool:
        return self.amount <= self._same(other).amount

    def __str__(self) -> str:
        symbol = _SYMBOLS.get(self.currency)
        sign = "-" if self.amount < 0 else ""
        figure = f"{abs(self.amount):,.2f}"
        return f"{sign}{symbol}{figure}" if symbol else f"{sign}{figure} {self.currency}"

    def for_duration(self, duration: timedelta) -> Money:
        """Read this amount as a rate per hour and give the cost of `duration`, exact to the microsecond."""
        hours = Decimal(duration // timedelta(microseconds=1)) / Decimal(3_600_000_000)
        return Money(self.amount * hours, self.currency)

    def rounded(self) -> Money:
        """To the cent, half to even (what both clouds' bills do per line)."""
        return Money(self.amount.quantize(Decimal("0.01")), self.currency)

    def _same(self, other: Money) -> Money:
        if other.currency != self.currency:
            raise BadUnit(f"cannot mix {self.currency} and {other.currency} without a dated rate")
        return other


@dataclass(frozen=True, slots=True, order=True)
class Percent:
    """A share from 0 to 100. What lies outside is not a share: make an Unknown of it instead."""

    value: float

    def __post_init__(self) -> None:
        if not math.isfinite(self.value) or not 0.0 <= self.value <= 100.0:
            raise BadUnit(f"{self.value} is not a percentage from 0 to 100")

    def __str__(self) -> str:
        return f"{self.value:.1f} %"


def currencies() -> tuple[str, ...]:
    """The currencies that amounts may carry, sorted."""
    return tuple(sorted(_CURRENCIES))


def zero(currency: str) -> Money:
    """Nothing, in `currency`."""
    return Money(Decimal(0), currency)


def parse_money(text: object) -> Money:
    """Read `277.933 CNY`. A number without a currency is refused, so is a float."""
    if not isinstance(text, str) or len(parts := text.split()) != 2:
        raise BadUnit(f"{text!r} is not money; write an amount and a currency, such as '277.93 CNY'")
    try:
        amount = Decimal(parts[0].replace(",", ""))
    except InvalidOperation as error:
        raise BadUnit(f"{parts[0]!r} is not an amount; write it such as '277.93 CNY'") from error
    if amount.is_finite() and abs(amount) >= _MOST_MONEY:
        raise BadUnit(f"{show_part(parts[0])} is no amount below {_MOST_MONEY:,}")
    return Money(amount, parts[1])


def parse_percent(value: object) -> Percent:
    """Read `85 %`, `85%` or the whole number 85. A bare fraction is refused: does 0.85 mean 85 % or 0.85 %?"""
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise BadUnit(f"{value!r} is not a percentage; write it such as '85%'")
    if isinstance(value, float) or (isinstance(value, str) and "%" not in value and "." in value):
        raise BadUnit(f"{value!r} may mean a share of 1 or of 100; write it with its sign, such as '85%'")
    try:
        return Percent(float(str(value).removesuffix("%").strip()))
    except ValueError as error:
        raise BadUnit(f"{value!r} is not a percentage from 0 to 100; write it such as '85%'") from error


def show_part(value: object) -> str:
    """A value as an error shows it: quoted, and cut where nobody reads on."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."


def parse_duration(value: object) -> timedelta:
    """Read `30s`, `5m`, `1h30m`, `2d`. A number without a unit is refused."""
    text = value.strip() if isinstance(value, str) else ""
    parts = _DURATION_PART.findall(text)
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise BadUnit(f"{value!r} is not a duration; write it such as '30s', '5m' or '1h30m'")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    if seconds > _LONGEST.total_seconds():
        raise BadUnit(
            f"{show_part(value)} is longer than {_LONGEST.days} days; write it such as '30s', '5m' or '1h30m'"
        )
    return timedelta(seconds=seconds)


def show_duration(duration: timedelta) -> str:
    """The shortest text that `parse_duration` reads back, to the second: `1h30m`."""
    seconds = round(duration.total_seconds())
    if seconds <= 0:
        return "0s"
    parts = []
    for unit in ("d", "h", "m", "s"):
        count, seconds = divmod(seconds, _SECONDS[unit])
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)
