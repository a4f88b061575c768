"""Label and field selectors, as a query string carries them.

Set-based and equality-based labels; for fields only those that the real server knows. Must refuse
what it cannot read: a selector that silently matches all would be a lie.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from sim.kube.status import bad_request

Matcher = Callable[[Mapping[str, str]], bool]
_COMMA = re.compile(r",(?![^()]*\))")
_SET = re.compile(r"\s*(\S+)\s+(in|notin)\s+\(([^)]*)\)\s*")
_EQUALITY = re.compile(r"\s*([^\s=!()]+)\s*(==|=|!=)\s*([A-Za-z0-9_.-]*)\s*")
_KEY = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_./-]*[A-Za-z0-9])?")


def parse_labels(text: str) -> tuple[Matcher, ...]:
    """Read `a=b,c!=d,e in (f,g),h,!i`."""
    if not text.strip():
        return ()
    return tuple(_label_part(part) for part in _COMMA.split(text))


def parse_fields(text: str, known: frozenset[str]) -> tuple[Matcher, ...]:
    """Read `spec.nodeName=x,status.phase!=Running`."""
    matchers = []
    for part in filter(None, text.split(",")):
        found = _EQUALITY.fullmatch(part)
        if not found:
            raise bad_request(f"invalid field selector: {part!r}")
        if found[1] not in known:
            raise bad_request(f"field label not supported: {found[1]}")
        matchers.append(_equality(found[1], found[2], found[3]))
    return tuple(matchers)


def matches(matchers: tuple[Matcher, ...], values: Mapping[str, str]) -> bool:
    """Whether all parts of a selector hold."""
    return all(matcher(values) for matcher in matchers)


def label_query(selector: Mapping[str, object]) -> tuple[Matcher, ...]:
    """The matchers of a LabelSelector object (matchLabels and matchExpressions)."""
    labels = selector.get("matchLabels") or {}
    matchers: list[Matcher] = []
    if isinstance(labels, Mapping):
        matchers += [_equality(str(key), "=", str(value)) for key, value in labels.items()]
    for part in _expressions(selector):
        values = frozenset(map(str, part.get("values") or ()))
        matchers.append(_expression(str(part.get("key")), str(part.get("operator")), values))
    return tuple(matchers)


def _expressions(selector: Mapping[str, object]) -> list[dict[str, list[str]]]:
    parts = selector.get("matchExpressions") or []
    return [part for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []


def _expression(key: str, operator: str, values: frozenset[str]) -> Matcher:
    table: dict[str, Matcher] = {
        "In": lambda labels: labels.get(key) in values,
        "NotIn": lambda labels: labels.get(key) not in values,
        "Exists": lambda labels: key in labels,
        "DoesNotExist": lambda labels: key not in labels,
    }
    if operator not in table:
        raise bad_request(f'"{operator}" is not a valid label selector operator')
    return table[operator]


def _label_part(part: str) -> Matcher:
    if found := _SET.fullmatch(part):
        values = frozenset(value.strip() for value in found[3].split(","))
        return _expression(found[1], "In" if found[2] == "in" else "NotIn", values)
    if found := _EQUALITY.fullmatch(part):
        return _equality(found[1], found[2], found[3])
    key = part.strip()
    if key.startswith("!") and _KEY.fullmatch(key[1:].strip()):
        return _expression(key[1:].strip(), "DoesNotExist", frozenset())
    if _KEY.fullmatch(key):
        return _expression(key, "Exists", frozenset())
    raise bad_request(f"unable to parse requirement: {part!r}")


def _equality(key: str, operator: str, value: str) -> Matcher:
    if operator == "!=":
        return lambda values: values.get(key) != value
    return lambda values: values.get(key) == value
