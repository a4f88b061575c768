"""A cell: one policy on one trace under one seed, with everything that its figures depend on, and its identity.

Plain values that travel to other processes and machines. Two cells with the same identity have the same figures;
anything that can change a figure must be in it: settings, contents of files, the code.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

from agent.core.codec import to_json
from contract.catalog import Catalog
from contract.units import show_duration
from replay.contest import Arena, Entrant, World
from replay.recorded import is_example, recorded
from replay.site.truth import Truth
from replay.trace import Trace
from replay.traces.reader import TraceFormat

# The rooms whose code decides what the figures of a cell are.
_CODE = ("agent/core", "contract", "replay")


class TraceChanged(RuntimeError):
    """The file is not what it was when the sweep began."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceFile:
    """A trace as a worker can read it; `digest` is of its bytes and of how they are read."""

    path: str
    digest: str
    format: TraceFormat | None = None
    days: float = 0.0
    skip_bad: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What all cells of a sweep share; the seed of `truth` is replaced by each cell's own."""

    catalog: Catalog
    owned_nodes: int
    world: World
    truth: Truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """`identity`: a hash of all that the figures depend on; `trace` and `entrant.name` are for people only."""

    identity: str
    trace: str
    file: TraceFile
    entrant: Entrant
    seed: int
    setting: Setting

    @property
    def name(self) -> str:
        """How people are told of it."""
        return f"{self.trace}, {self.entrant.name}, seed {self.seed}"

    def arena(self, trace: Trace) -> Arena:
        """Where the cell is played."""
        setting = self.setting
        return Arena(
            trace=trace,
            catalog=setting.catalog,
            owned_nodes=setting.owned_nodes,
            world=setting.world,
            truth=replace(setting.truth, seed=self.seed),
        )


def trace_file(path: Path, *, format: TraceFormat | None, days: float, skip_bad: bool) -> TraceFile:  # noqa: A002
    """The file with the digest of what it is now. Raises OSError."""
    how = f"{format} {days:g} {skip_bad} ".encode()
    content = path.name.encode() if is_example(path) else path.read_bytes()
    digest = sha256(how + content).hexdigest()[:32]
    return TraceFile(path=str(path), digest=digest, format=format, days=days, skip_bad=skip_bad)


@lru_cache(maxsize=2)
def load(file: TraceFile) -> Trace:
    """The trace, read once a process while its cells come one after the other. Raises InvalidInput, TraceChanged."""
    path = Path(file.path)
    if path.is_file():
        now = trace_file(path, format=file.format, days=file.days, skip_bad=file.skip_bad)
        if now.digest != file.digest:
            raise TraceChanged(f"{path} changed while the sweep ran")
    return recorded(path, file.format, file.days, skip_bad=file.skip_bad)


def with_patience(entrants: Sequence[Entrant], patience: Sequence[timedelta]) -> Iterator[Entrant]:
    """Each policy once for every patience; as it is where none is given."""
    for entrant in entrants:
        if not patience:
            yield entrant
        for value in patience:
            rules = replace(entrant.policy.wait_or_pay, patience=value)
            policy = replace(entrant.policy, wait_or_pay=rules)
            yield replace(entrant, name=f"{entrant.name}@{show_duration(value)}", policy=policy)


def cells(
    traces: Sequence[tuple[str, TraceFile]], entrants: Sequence[Entrant], seeds: Sequence[int], setting: Setting
) -> list[Cell]:
    """The product; cells of one trace stand together, so that a worker reads it once."""
    truth = replace(setting.truth, seed=0)
    shared = _hash(_code(), setting.world, setting.owned_nodes, setting.catalog, truth)
    deciders = [_hash(entrant.policy, entrant.baseline, entrant.figure) for entrant in entrants]
    return [
        Cell(
            identity=_hash(shared, file.digest, decider, seed),
            trace=name,
            file=file,
            entrant=entrant,
            seed=seed,
            setting=setting,
        )
        for name, file in traces
        for entrant, decider in zip(entrants, deciders, strict=True)
        for seed in seeds
    ]


def _hash(*parts: object) -> str:
    plain = [to_json(part) for part in parts]
    return sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()[:32]


@lru_cache(maxsize=1)
def _code() -> str:
    """A digest of all the code that the figures depend on: other code may mean other figures, so it is another cell."""
    root = Path(__file__).resolve().parents[2]
    digest = sha256()
    for path in sorted(path for room in _CODE for path in (root / room).rglob("*.py")):
        digest.update(f"{path.relative_to(root)} {sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()
