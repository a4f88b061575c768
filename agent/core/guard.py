"""The last gate before money: a preview may hold the expected updates and nothing else. Pure.

Refuses what it cannot read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.core.config_change import ConfigChange
from contract.pool_resources import POOL_RESOURCES

QUIET = frozenset({"same", "read", "refresh"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewStep:
    """One step of a preview; `paths` are the changed property paths in camelCase.

    `sizes` are a pool's size before and after the step, where the engine told both.
    """

    op: str
    urn: str
    type: str
    paths: tuple[str, ...]
    sizes: tuple[int, int] | None = None

    @property
    def name(self) -> str:
        """The resource's logical name: the last part of its URN."""
        return self.urn.rpartition("::")[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A preview as the engine told it. `counts` is the summary's own count by operation."""

    stack: str
    steps: tuple[PreviewStep, ...]
    counts: tuple[tuple[str, int], ...]
    diagnostics: tuple[str, ...] = ()
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class Accepted:
    """The preview is what was decided, and nothing else."""


@dataclass(frozen=True, slots=True)
class Refused:
    """What the preview holds that was not decided."""

    why: tuple[str, ...]


def guard(change: ConfigChange, preview: Preview) -> Accepted | Refused:
    """Accept exactly one update of the size of each changed pool, between the sizes decided, and no other step."""
    why = [] if preview.is_complete else ["the preview did not end with a summary"]
    wanted = {item.pool: (int(item.before), int(item.after)) for item in change.changes}
    seen: set[str] = set()
    for step in preview.steps:
        if step.op in QUIET:
            continue
        if problem := _unexpected(step, wanted):
            why.append(problem)
        elif step.name in seen:
            why.append(f"{step.name} would be updated twice")
        seen.add(step.name)
    why.extend(f"the preview does not change {pool}" for pool in sorted(wanted.keys() - seen))
    why.extend(_miscounted(preview, len(wanted)))
    if why:
        return Refused(tuple(why))
    return Accepted()


def digest(parts: Sequence[str]) -> str:
    """SHA-256 of texts, unambiguous in their borders."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(f"{len(part)}:{part}".encode())
    return whole.hexdigest()


def _unexpected(step: PreviewStep, wanted: Mapping[str, tuple[int, int]]) -> str | None:
    where = f"{step.op} of {step.type} {step.name}"
    pool = POOL_RESOURCES.get(step.type)
    if step.op != "update" or step.name not in wanted or pool is None:
        return f"unexpected {where}"
    others = [path for path in step.paths if path != pool.size_property]
    if others or not step.paths:
        return f"{where} would also change {', '.join(others)}" if others else f"{where} does not say what changes"
    if step.sizes != wanted[step.name]:
        told = "does not tell its sizes" if step.sizes is None else f"goes from {step.sizes[0]} to {step.sizes[1]}"
        return f"{where} {told}, decided was {wanted[step.name][0]} to {wanted[step.name][1]}"
    return None


def _miscounted(preview: Preview, wanted: int) -> list[str]:
    loud = {op: count for op, count in preview.counts if op not in QUIET and count}
    if loud == {"update": wanted}:
        return []
    told = ", ".join(f"{count} {op}" for op, count in sorted(loud.items())) or "no change"
    return [f"the summary counts {told}, expected {wanted} update"]
