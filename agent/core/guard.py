"""The last gate before money: a preview may hold the expected updates and nothing else. Pure.

Refuses what it cannot read. An approval is bound to the digests that it gives.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from agent.core.config_change import ConfigChange
from contract.pool_resources import POOL_RESOURCES

QUIET = frozenset({"same", "read", "refresh"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewStep:
    """One step of a preview; `paths` are the changed property paths in camelCase."""

    op: str
    urn: str
    type: str
    paths: tuple[str, ...]

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Accepted:
    """The preview is what was decided. The digests bind what follows to it."""

    config_digest: str
    steps_digest: str


@dataclass(frozen=True, slots=True)
class Refused:
    """What the preview holds that was not decided."""

    why: tuple[str, ...]


def guard(change: ConfigChange, preview: Preview, candidate: str) -> Accepted | Refused:
    """Accept exactly one update of the size of each changed pool, and no other step."""
    why = [] if preview.is_complete else ["the preview did not end with a summary"]
    wanted = {item.pool for item in change.changes}
    seen: set[str] = set()
    for step in preview.steps:
        if step.op in QUIET:
            continue
        if problem := _unexpected(step, wanted):
            why.append(problem)
        elif step.name in seen:
            why.append(f"{step.name} would be updated twice")
        seen.add(step.name)
    why.extend(f"the preview does not change {pool}" for pool in sorted(wanted - seen))
    why.extend(_miscounted(preview, wanted))
    if why:
        return Refused(tuple(why))
    return Accepted(config_digest=digest([candidate]), steps_digest=steps_digest(preview.steps))


def steps_digest(steps: Sequence[PreviewStep]) -> str:
    """Digest of all steps that change something, whatever their order."""
    loud = (step for step in steps if step.op not in QUIET)
    return digest(sorted(f"{step.op} {step.urn} {' '.join(sorted(step.paths))}" for step in loud))


def digest(parts: Sequence[str]) -> str:
    """SHA-256 of texts, unambiguous in their borders."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(f"{len(part)}:{part}".encode())
    return whole.hexdigest()


def _unexpected(step: PreviewStep, wanted: set[str]) -> str | None:
    where = f"{step.op} of {step.type} {step.name}"
    pool = POOL_RESOURCES.get(step.type)
    if step.op != "update" or step.name not in wanted or pool is None:
        return f"unexpected {where}"
    others = [path for path in step.paths if path != pool.size_property]
    if others or not step.paths:
        return f"{where} would also change {', '.join(others)}" if others else f"{where} does not say what changes"
    return None


def _miscounted(preview: Preview, wanted: set[str]) -> list[str]:
    loud = {op: count for op, count in preview.counts if op not in QUIET and count}
    if loud == {"update": len(wanted)}:
        return []
    told = ", ".join(f"{count} {op}" for op, count in sorted(loud.items())) or "no change"
    return [f"the summary counts {told}, expected {len(wanted)} update"]
