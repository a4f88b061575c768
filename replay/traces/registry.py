"""The front door of traces: any file that can be read, read and checked, as one Trace.

Finds the format by its columns, runs its reader and assembles what it gives: sorted, shifted to
zero, nothing twice. What a column means is the format's business.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType

from contract.problems import Problem
from replay.trace import NO_DATE, Job, Trace
from replay.traces import (
    acme,
    alibaba_dlrm,
    alibaba_lora,
    chronus,
    generic,
    microsoft_itp,
    muri,
    openb,
    parquet,
    philly,
    shockwave,
    tiresias,
)
from replay.traces.findings import RowFindings
from replay.traces.reader import Reader, TraceFormat
from replay.traces.source import PARQUET_MAGIC, Cells, head, text_rows
from replay.traces.table import Table

READERS: Mapping[TraceFormat, Reader] = MappingProxyType(
    {
        module.READER.format: module.READER
        for module in (
            generic,
            microsoft_itp,
            philly,
            chronus,
            acme,
            openb,
            alibaba_dlrm,
            alibaba_lora,
            muri,
            shockwave,
            tiresias,
        )
    }
)
_PACKINGS = (".gz", ".csv", ".parquet")


def read_trace(path: Path, *, format: TraceFormat | None = None, skip_bad: bool = False) -> Trace:  # noqa: A002
    """Read the jobs of a file; the format is found by its columns where none is given.

    Raises InvalidInput with everything that is wrong in it. With `skip_bad`, bad rows are left out and
    told in `bad_rows`, one problem a row; what is wrong with the file as a whole is raised all the same.
    """
    findings = RowFindings(file=path.name, keep_all=skip_bad)
    rows = _rows(path, findings)
    first = next(rows, None)
    if first is None:
        findings.refuse("the file holds blank lines only", "give a file with a header and at least one job")
    header = [column.strip() for column in first[1]]
    reader = _reader(header, format, findings)
    table = Table(header, rows, findings)
    found = _unique(reader, table, findings)
    if not skip_bad:
        findings.raise_if_any()
    bad_rows = findings.by_row()
    if not found:
        _refuse_nothing(table, bad_rows)
    return _assembled(path, table, found, bad_rows)


def _rows(path: Path, findings: RowFindings) -> Iterator[tuple[int, Cells]]:
    if head(path, findings) == PARQUET_MAGIC:
        return parquet.text_rows(path, findings)
    if path.suffix == ".parquet":
        findings.refuse("is named .parquet but is not Parquet", "rename it, or write it again as Parquet")
    return text_rows(path, findings)


def _reader(header: Cells, wanted: TraceFormat | None, findings: RowFindings) -> Reader:
    """The format asked for, or the one whose columns these are; refuses a header that does not fit."""
    twice = sorted({column for column in header if header.count(column) > 1})
    if twice:
        findings.refuse(
            f"columns come twice: {', '.join(map(repr, twice))}", "delete or rename one of them", where="the header"
        )
    reader = READERS[wanted] if wanted else min(READERS.values(), key=lambda each: _distance(each, header))
    missing, unknown = reader.missing(header), reader.unknown(header)
    if len(missing) == len(reader.required):
        _refuse_strange(header, wanted, findings)
    if missing or unknown:
        _refuse_columns(reader, missing, unknown, findings)
    return reader


def _distance(reader: Reader, header: Cells) -> tuple[int, int]:
    """How far a header is from a format: a share of what is missing first, then columns too many."""
    return (len(reader.missing(header)) * 100 // len(reader.required), len(reader.unknown(header)))


def _refuse_strange(header: Cells, wanted: TraceFormat | None, findings: RowFindings) -> None:
    shown = ", ".join(header)
    shown = shown if len(shown) <= 120 else shown[:117] + "..."
    if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
        findings.refuse(f"the header is one column: {shown!r}", "separate the columns by commas", where="the header")
    known = wanted or "any known format (" + ", ".join(READERS) + ")"
    fix = "rename the columns to those of the generic format: " + ", ".join(generic.READER.required)
    findings.refuse(
        f"the columns are not those of {known}: {shown!r}", fix + "; docs/traces.md lists all", where="the header"
    )


def _refuse_columns(reader: Reader, missing: Cells, unknown: Cells, findings: RowFindings) -> None:
    parts, fixes = [], []
    if missing:
        parts.append(f"columns are missing: {', '.join(missing)}")
        fixes.append(f"a file of format {reader.format} needs " + ", ".join(reader.required))
    if unknown:
        parts.append(f"columns are unknown: {', '.join(unknown)}")
        fixes.append("; ".join(_hint(column, reader) for column in unknown))
    findings.refuse(f"read as {reader.format}, " + "; ".join(parts), "; ".join(fixes), where="the header")


def _hint(column: str, reader: Reader) -> str:
    close = get_close_matches(column.lower(), (*reader.required, *reader.optional), n=1)
    return f"rename {column} to {close[0]}, or delete it" if close else f"delete {column}"


def _unique(reader: Reader, table: Table, findings: RowFindings) -> list[Job]:
    """The sound jobs in file order, on the clock of the file; a name that comes again is bad."""
    found: list[Job] = []
    lines: dict[str, int] = {}
    for line, job in reader.jobs(table):
        if line in findings.bad_lines:
            continue
        before = lines.setdefault(job.name, line)
        if before != line:
            fix = "give every job its own name, or delete the second row"
            findings.add(line, "the row", f"the job {job.name!r} is in row {before}, too", fix)
            continue
        found.append(job)
    return found


def _refuse_nothing(table: Table, bad_rows: tuple[Problem, ...]) -> None:
    findings = table.findings
    if bad_rows:
        findings.refuse(f"nothing is left: all {len(bad_rows)} jobs are bad", "mend the rows told below")
    if table.left_out:
        findings.refuse(f"no row of {table.left_out} is a job on GPUs", "give a file with jobs on GPUs")
    findings.refuse("no jobs: the file holds a header only", "give a file with at least one job")


def _assembled(path: Path, table: Table, found: list[Job], bad_rows: tuple[Problem, ...]) -> Trace:
    found.sort(key=lambda job: job.arrival_s)
    first = found[0].arrival_s
    return Trace(
        name=_name(path),
        jobs=tuple(found) if first == 0.0 else tuple(_earlier(job, first) for job in found),
        starts_at=table.calendar(first) or NO_DATE,
        bad_rows=bad_rows,
        left_out=table.left_out,
    )


def _earlier(job: Job, by: float) -> Job:
    """The job on a clock that starts later; written out because `replace` takes three times as long."""
    return Job(
        name=job.name,
        arrival_s=job.arrival_s - by,
        runtime_s=job.runtime_s,
        gpus=job.gpus,
        department=job.department,
        user=job.user,
        tier=job.tier,
        kind=job.kind,
        data=job.data,
        gpu_memory=job.gpu_memory,
        is_preemptible=job.is_preemptible,
        deadline_s=None if job.deadline_s is None else job.deadline_s - by,
    )


def _name(path: Path) -> str:
    while path.suffix in _PACKINGS:
        path = path.with_suffix("")
    return path.name
