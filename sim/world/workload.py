"""Jobs and their pods: what users submit, and the trace file that it is read from.

A job is a gang: its pods hold all their GPUs at once or none. Must not know where a job may run.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from contract.problems import InvalidInput, Problem

if TYPE_CHECKING:
    from sim.world.agenda import Event
    from sim.world.nodes import Node

HEADER = ("job", "submitted_s", "duration_s", "gpus", "department", "preemptible", "gpu_memory_gib")
GPUS_PER_POD = 8
# A job's name plus "-<index>-<5 characters>" must stay a pod name and a label value.
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,50}[a-z0-9])?")
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What a user asks for. `gpu_memory_gib` is the least that each GPU must have."""

    name: str
    submitted_s: float
    duration_s: float
    gpus: int
    department: str
    is_preemptible: bool
    gpu_memory_gib: int

    def pod_sizes(self) -> tuple[int, ...]:
        """GPUs of each pod, full ones first."""
        full, rest = divmod(self.gpus, GPUS_PER_POD)
        return (GPUS_PER_POD,) * full + ((rest,) if rest else ())


class PodPhase(StrEnum):
    """Kubernetes' own words."""

    PENDING = "Pending"
    RUNNING = "Running"
    SUCCEEDED = "Succeeded"
    FAILED = "Failed"


@dataclass(slots=True, eq=False, kw_only=True)
class Pod:
    """One pod of a job's current try."""

    name: str
    job: Job
    index: int
    gpus: int
    cluster: str
    created_s: float
    phase: PodPhase = PodPhase.PENDING
    node: Node | None = None
    gpu_indexes: tuple[int, ...] = ()
    bound_s: float | None = None
    ended_s: float | None = None
    deletion: Event | None = None


class RunState(StrEnum):
    """Where a job stands."""

    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"


@dataclass(slots=True, eq=False, kw_only=True)
class Run:
    """A job on its way; `order` is its place in the queue, kept when it has to start again."""

    job: Job
    order: int
    state: RunState = RunState.QUEUED
    pods: list[Pod] = field(default_factory=list)
    first_started_s: float | None = None
    started_s: float | None = None
    ended_s: float | None = None
    cluster: str = ""
    pools: tuple[str, ...] = ()
    restarts: int = 0
    lost: int = 0
    tries: int = 0
    is_tried: bool = False
    ending: Event | None = None

    @property
    def wait_s(self) -> float | None:
        """From submission to the first start."""
        if self.first_started_s is None:
            return None
        return self.first_started_s - self.job.submitted_s


def read_workload(path: Path) -> tuple[Job, ...]:
    """Read and check a trace; raises InvalidInput with every bad cell's row and column."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError as error:
        problem = _problem(path.name, 0, "", "the file does not exist", f"create {path}")
        raise InvalidInput([problem]) from error
    except (OSError, UnicodeDecodeError) as error:
        problem = _problem(path.name, 0, "", f"cannot be read: {error}", "save it as UTF-8 text")
        raise InvalidInput([problem]) from error
    return parse_workload(text.splitlines(), path.name)


def parse_workload(lines: Iterable[str], file: str) -> tuple[Job, ...]:
    """Like read_workload, from lines; jobs come out in the order of their submission."""
    reader = csv.reader(lines)
    sheet, jobs = _Sheet(file), list[Job]()
    try:
        header = next(reader, [])
        if tuple(header) != HEADER:
            fix = f"write the first row as {','.join(HEADER)}"
            raise InvalidInput([_problem(file, 1, "", f"the header is {','.join(header) or 'empty'}", fix)])
        for row in reader:
            if (job := sheet.job(reader.line_num, row)) is not None:
                jobs.append(job)
    except csv.Error as error:
        sheet.problems.append(_problem(file, reader.line_num, "", f"not CSV: {error}", "save it as plain CSV"))
    if sheet.problems:
        raise InvalidInput(sheet.problems)
    return tuple(sorted(jobs, key=lambda job: job.submitted_s))


class _Sheet:
    """Reads rows and keeps what is wrong with them."""

    def __init__(self, file: str) -> None:
        self.problems: list[Problem] = []
        self._file = file
        self._first_row: dict[str, int] = {}

    def job(self, number: int, row: Sequence[str]) -> Job | None:
        if not row:
            return None
        if len(row) != len(HEADER):
            text = f"{len(row)} cells instead of {len(HEADER)}"
            fix = f"give {','.join(HEADER)}"
            self.problems.append(_problem(self._file, number, "", text, fix))
            return None
        before = len(self.problems)
        cells = dict(zip(HEADER, row, strict=True))
        job = Job(
            name=self._take(number, cells, "job", self._unique_name(number), ""),
            submitted_s=self._take(number, cells, "submitted_s", _seconds, 0.0),
            duration_s=self._take(number, cells, "duration_s", _duration, 1.0),
            gpus=self._take(number, cells, "gpus", _whole(1, 4096), 1),
            department=self._take(number, cells, "department", _name, ""),
            is_preemptible=self._take(number, cells, "preemptible", _flag, False),
            gpu_memory_gib=self._take(number, cells, "gpu_memory_gib", _whole(0, 1024), 0),
        )
        return job if len(self.problems) == before else None

    def _take(
        self,
        number: int,
        cells: dict[str, str],
        column: str,
        parse: Callable[[str], T],
        fallback: T,
    ) -> T:
        try:
            return parse(cells[column].strip())
        except ValueError as error:
            fix = f"correct '{column}' in row {number}"
            self.problems.append(_problem(self._file, number, column, str(error), fix))
            return fallback

    def _unique_name(self, number: int) -> Callable[[str], str]:
        def parse(text: str) -> str:
            name = _name(text)
            if name in self._first_row:
                raise ValueError(f"job '{name}' stands twice, first in row {self._first_row[name]}")
            self._first_row[name] = number
            return name

        return parse


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(
            f"{text!r} is not a name: small letters, digits and dashes, 52 at most, as Kubernetes wants it"
        )
    return text


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError(f"{text!r} is not a number of seconds, 0 or more")
    return value


def _duration(text: str) -> float:
    if _seconds(text) == 0:
        raise ValueError("a job that takes no time is no job")
    return float(text)


def _whole(at_least: int, at_most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isascii() or not text.isdigit() or not at_least <= int(text) <= at_most:
            raise ValueError(f"{text!r} is not a whole number from {at_least} to {at_most}")
        return int(text)

    return parse


def _flag(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def _problem(file: str, row: int, column: str, message: str, fix: str) -> Problem:
    number = HEADER.index(column) + 1 if column else None
    where = column or ("the row" if row else "the file")
    return Problem(file=file, where=where, message=message, fix=fix, row=row or None, column=number)
