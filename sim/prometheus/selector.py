"""Instant vector selectors of PromQL: a metric's name and label matchers, nothing more.

Any other expression is refused: a number that the twin made up would be worse than an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_SELECTOR = re.compile(r"\s*([a-zA-Z_:][a-zA-Z0-9_:]*)?\s*(?:\{(.*)\})?\s*", re.DOTALL)
_MATCHER = re.compile(
    r"\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*(=~|!~|!=|=)\s*(\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*')\s*(,|$)", re.DOTALL
)


class BadQuery(ValueError):
    """An expression that is not a plain selector; the text is Prometheus' own where it has one."""


@dataclass(frozen=True, slots=True)
class Selector:
    """A metric and what its labels must be."""

    metric: str
    tests: tuple[Callable[[Mapping[str, str]], bool], ...]

    def wants(self, labels: Mapping[str, str]) -> bool:
        """Whether a series is selected."""
        return all(test(labels) for test in self.tests)


def parse_selector(query: str) -> Selector:
    """Read `name{label="value",other=~"a|b"}`; raises BadQuery."""
    if not query.strip():
        raise BadQuery("unknown position: parse error: no expression found in input")
    found = _SELECTOR.fullmatch(query)
    if not found or not (found[1] or found[2]):
        raise BadQuery(
            f"1:1: parse error: the twin answers plain selectors only, not {query!r}; aggregate on your side"
        )
    matchers = _matchers(found[2] or "")
    name = found[1] or next((value for label, sign, value in matchers if (label, sign) == ("__name__", "=")), "")
    if not name:
        raise BadQuery("1:1: parse error: a selector needs the name of a metric on the twin")
    return Selector(name, tuple(_test(*matcher) for matcher in matchers))


def _matchers(text: str) -> list[tuple[str, str, str]]:
    read, position = [], 0
    while text[position:].strip():
        found = _MATCHER.match(text, position)
        if not found:
            raise BadQuery(f"1:{position + 1}: parse error: unexpected character inside braces")
        read.append((found[1], found[2], _unquote(found[3])))
        position = found.end()
    return read


def _unquote(quoted: str) -> str:
    inner = quoted[1:-1] if quoted[0] == '"' else quoted[1:-1].replace('"', '\\"').replace("\\'", "'")
    try:
        return str(json.loads(f'"{inner}"'))
    except ValueError as error:
        raise BadQuery("parse error: unknown escape sequence") from error


def _test(label: str, sign: str, value: str) -> Callable[[Mapping[str, str]], bool]:
    if sign == "=":
        return lambda labels: labels.get(label, "") == value
    if sign == "!=":
        return lambda labels: labels.get(label, "") != value
    try:
        pattern = re.compile(value)
    except re.error as error:
        raise BadQuery(f"parse error: error parsing regexp: {error}") from error
    wanted = sign == "=~"
    return lambda labels: (pattern.fullmatch(labels.get(label, "")) is not None) is wanted
