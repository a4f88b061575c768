"""What changed between two sets of inputs, and whether that needs a new resource. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sim.providers.replaces import NAMED_BY, is_replacing
from sim.providers.wire import Properties, Unknown, Value


class Change(StrEnum):
    """The kinds of a detailed diff."""

    ADD = "ADD"
    DELETE = "DELETE"
    UPDATE = "UPDATE"


@dataclass(frozen=True, slots=True)
class Difference:
    """One path that changed."""

    path: str
    change: Change
    is_replacing: bool


@dataclass(frozen=True, slots=True)
class Differences:
    """All that changed."""

    items: tuple[Difference, ...]
    delete_first: bool

    @property
    def replaces(self) -> list[str]:
        """Top-level names that need a new resource."""
        return list(dict.fromkeys(_top(item.path) for item in self.items if item.is_replacing))

    @property
    def names(self) -> list[str]:
        """Top-level names that changed."""
        return list(dict.fromkeys(_top(item.path) for item in self.items))


def compare(token: str, olds: Properties, news: Properties, ignored: frozenset[str]) -> Differences:
    """Compare inputs; `ignored` holds paths that the program told the engine to ignore."""
    found = tuple(
        Difference(path, change, is_replacing(token, path))
        for path, change in _walk(olds, news, "")
        if _top(path) not in ignored and path not in ignored
    )
    name = NAMED_BY.get(token, "")
    same_name = bool(name) and name in olds and olds.get(name) == news.get(name)
    return Differences(found, delete_first=same_name and any(item.is_replacing for item in found))


def _walk(old: Value, new: Value, path: str) -> Iterator[tuple[str, Change]]:
    if isinstance(new, Unknown):
        yield path, Change.UPDATE
    elif isinstance(old, Mapping) and isinstance(new, Mapping):
        yield from _walk_objects(old, new, path)
    elif isinstance(old, list) and isinstance(new, list):
        yield from _walk_lists(old, new, path)
    elif old is None and new is not None:
        yield path, Change.ADD
    elif new is None and old is not None:
        yield path, Change.DELETE
    elif old != new or isinstance(old, bool) is not isinstance(new, bool):
        yield path, Change.UPDATE


def _walk_objects(old: Mapping[str, Value], new: Mapping[str, Value], path: str) -> Iterator[tuple[str, Change]]:
    for name in dict.fromkeys((*old, *new)):
        if not name.startswith("__"):
            yield from _walk(old.get(name), new.get(name), _join(path, name))


def _walk_lists(old: list[Value], new: list[Value], path: str) -> Iterator[tuple[str, Change]]:
    for number in range(max(len(old), len(new))):
        before = old[number] if number < len(old) else None
        after = new[number] if number < len(new) else None
        yield from _walk(before, after, f"{path}[{number}]")


def _join(path: str, name: str) -> str:
    if any(sign in name for sign in '.[]"/'):
        return f'{path}["{name}"]'
    return f"{path}.{name}" if path else name


def _top(path: str) -> str:
    return path.partition(".")[0].partition("[")[0]
