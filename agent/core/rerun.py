"""A past decision, made again: its stored inputs through the shipped decide(), compared bit for bit (R10.6). Pure.

Both sides become canonical JSON first, so that equal means equal in every digit and every word.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agent.core.codec import KIND, Json, to_json
from agent.core.decide import decide
from agent.core.decision import Decision
from agent.core.memory import Memory
from agent.core.policy import Policy
from agent.core.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that came out otherwise; JSON texts, empty where one side has no such field."""

    field: str
    stored: str
    again: str


def rerun(snapshot: Snapshot, policy: Policy, memory: Memory, decided: Decision) -> tuple[Difference, ...]:
    """What differs when these inputs are decided on again; nothing if it is the same, bit for bit."""
    again, _ = decide(snapshot, policy, memory)
    before, after = to_json(decided), to_json(again)
    return () if _canonical(before) == _canonical(after) else tuple(_differences("", before, after))


def _canonical(value: Json) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def _differences(where: str, before: Json, after: Json) -> Iterator[Difference]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after} - {KIND}):
            yield from _of_part(f"{where}.{key}".lstrip("."), key, before, after)
    elif isinstance(before, list) and isinstance(after, list):
        old, new = dict(enumerate(before)), dict(enumerate(after))
        for number in sorted({*old, *new}):
            yield from _of_part(f"{where}[{number}]", number, old, new)
    elif _canonical(before) != _canonical(after):
        yield Difference(field=where, stored=_canonical(before), again=_canonical(after))


def _of_part(where: str, key: Any, before: Mapping[Any, Json], after: Mapping[Any, Json]) -> Iterator[Difference]:
    if key in before and key in after:
        yield from _differences(where, before[key], after[key])
    else:
        stored = _canonical(before[key]) if key in before else ""
        yield Difference(field=where, stored=stored, again=_canonical(after[key]) if key in after else "")
