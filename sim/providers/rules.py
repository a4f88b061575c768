"""Rules that the SDK's types do not say: spellings, limits, ranges. One function a rule.

Each table line names the source of its rule. A rule sees known values only and never refuses what it
cannot judge. Pure.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator

from sim.providers.checking import Failure
from sim.providers.wire import Properties, Value

Rule = Callable[[Properties], Iterator[Failure]]


def one_of(path: str, *allowed: str) -> Rule:
    """A text with a fixed set of spellings."""

    def rule(inputs: Properties) -> Iterator[Failure]:
        for where, value in _known(inputs, path):
            if str(value) not in allowed:
                text = ", ".join(allowed)
                yield Failure(where, f"expected {path} to be one of [{text}], got {value}")

    return rule


def within(path: str, low: int, high: int) -> Rule:
    """A number, or a text of digits, inside of bounds."""

    def rule(inputs: Properties) -> Iterator[Failure]:
        for where, value in _known(inputs, path):
            text = str(value)
            if not text.isascii() or not text.isdigit() or not low <= int(text) <= high:
                yield Failure(where, f"expected {path} to be in the range ({low} - {high}), got {value}")

    return rule


def shaped(path: str, pattern: str, what: str) -> Rule:
    """A text of a given form."""
    compiled = re.compile(pattern)

    def rule(inputs: Properties) -> Iterator[Failure]:
        for where, value in _known(inputs, path):
            if not compiled.fullmatch(str(value)):
                yield Failure(where, f"invalid value for {path} ({what}): {value}")

    return rule


def block(path: str, smallest: int = 32, largest: int = 0) -> Rule:
    """A CIDR range without host bits, of a size that the cloud accepts."""

    def rule(inputs: Properties) -> Iterator[Failure]:
        for where, value in _known(inputs, path):
            try:
                network = ipaddress.IPv4Network(str(value))
            except ValueError as error:
                yield Failure(where, f'"{value}" is not a valid IPv4 CIDR block: {error}')
                continue
            if not largest <= network.prefixlen <= smallest:
                yield Failure(where, f"{path} {value} must be between /{largest} and /{smallest}")

    return rule


def address(path: str) -> Rule:
    """An IPv4 address."""

    def rule(inputs: Properties) -> Iterator[Failure]:
        for where, value in _known(inputs, path):
            try:
                ipaddress.IPv4Interface(str(value))
            except ValueError:
                yield Failure(where, f"{value} is not an IPv4 address")

    return rule


def at_most(name: str, count: int) -> Rule:
    """A list with a longest length."""

    def rule(inputs: Properties) -> Iterator[Failure]:
        value = inputs.get(name)
        if isinstance(value, list) and len(value) > count:
            yield Failure(name, f"{name} supports {count} item maximum, but has {len(value)}")

    return rule


def exactly_one(*names: str) -> Rule:
    """Inputs of which one and only one must be given."""

    def rule(inputs: Properties) -> Iterator[Failure]:
        given = [name for name in names if inputs.get(name) is not None]
        if len(given) != 1:
            found = ", ".join(given) or "none"
            yield Failure(names[0], f"one of `{','.join(names)}` must be specified, found {found}")

    return rule


def excludes(name: str, *others: str) -> Rule:
    """Inputs that conflict."""

    def rule(inputs: Properties) -> Iterator[Failure]:
        for other in others:
            if inputs.get(name) is not None and inputs.get(other) is not None:
                yield Failure(name, f'"{name}": conflicts with {other}')

    return rule


def no_reserved_labels(path: str, *prefixes: str) -> Rule:
    """Keys that the cloud keeps for itself."""

    def rule(inputs: Properties) -> Iterator[Failure]:
        labels = inputs.get(path)
        for key in labels if isinstance(labels, dict) else ():
            head = key.rpartition("/")[0]
            for prefix in prefixes:
                if head == prefix or head.endswith(f".{prefix}"):
                    yield Failure(f'{path}["{key}"]', f"label '{key}' uses the reserved prefix {prefix}/")

    return rule


def between(low: str, middle: str, high: str) -> Rule:
    """Three numbers in order, such as min <= desired <= max."""

    def rule(inputs: Properties) -> Iterator[Failure]:
        numbers = [next((value for _, value in _known(inputs, path)), None) for path in (low, middle, high)]
        small, wanted, large = (_number(value) for value in numbers)
        if wanted is None:
            return
        if small is not None and wanted < small:
            yield Failure(middle, f"{middle} {wanted} is less than {low} {small}")
        if large is not None and wanted > large:
            yield Failure(middle, f"{middle} {wanted} is greater than {high} {large}")

    return rule


def _number(value: Value) -> int | None:
    text = "" if value is None or isinstance(value, bool) else str(value)
    return int(text) if text.isascii() and text.isdigit() else None


def _known(value: Value, path: str, done: str = "") -> Iterator[tuple[str, Value]]:
    """Known values at a path through objects and lists, each with its place."""
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from _known(item, path, f"{done}[{number}]")
    elif not path:
        if isinstance(value, (str, int, float)):
            yield done, value
    elif isinstance(value, dict):
        head, _, rest = path.partition(".")
        yield from _known(value.get(head), rest, f"{done}.{head}" if done else head)
