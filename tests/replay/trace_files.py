"""Trace files for tests: those that are shipped, those for evaluation only, and small ones written on the spot."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from contract.problems import InvalidInput, Problem
from replay.trace import Trace
from replay.traces.registry import read_trace

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "replay" / "data"
EVALUATION = ROOT.parent / "shared" / "data"


def for_evaluation(name: str) -> Path:
    """A file that we may not ship; the test is skipped, loudly, where it is not."""
    path = EVALUATION / name
    if not path.is_file():
        pytest.skip(f"{path} is not here: evaluation data that we may not ship")
    return path


def written(folder: Path, *lines: str, name: str = "jobs.csv") -> Path:
    """A file of these lines, packed if its name says so."""
    path = folder / name
    data = "".join(line + "\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def read(folder: Path, *lines: str, skip_bad: bool = False) -> Trace:
    """What the lines are as a trace."""
    return read_trace(written(folder, *lines), skip_bad=skip_bad)


def problems(path: Path, *, skip_bad: bool = False) -> tuple[Problem, ...]:
    """Everything that is wrong with a file; it must be refused."""
    with pytest.raises(InvalidInput) as caught:
        read_trace(path, skip_bad=skip_bad)
    return caught.value.problems


def refusal(folder: Path, *lines: str) -> tuple[Problem, ...]:
    """Everything that is wrong with these lines."""
    return problems(written(folder, *lines))
