"""Rows of a Parquet file as texts, so that one set of rules reads both kinds of the generic format.

The only user of pyarrow, which is an extra: it is loaded here and only when a Parquet file comes.
Times with a zone become UTC texts with their offset; times without one stay without, and are refused
like those of a CSV file. The first job is row 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from itertools import chain
from pathlib import Path

from replay.traces.findings import RowFindings
from replay.traces.source import Cells


def text_rows(path: Path, findings: RowFindings) -> Iterator[tuple[int, Cells]]:
    """The names of the columns as row 0, then the rows, as if the table were a CSV file."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError:
        findings.refuse("reading Parquet needs pyarrow, which is not installed", "pip install 'spillway[parquet]'")
    try:
        with parquet.ParquetFile(path) as stored:
            names: Cells = list(stored.schema_arrow.names)
            rows = list(chain.from_iterable(_batch_rows(batch) for batch in stored.iter_batches()))
    except (ArrowException, OSError) as error:
        findings.refuse(f"the Parquet data is damaged: {error}", "write or fetch the file again")
    return enumerate(chain([names], rows))


def _batch_rows(batch: object) -> Iterator[Cells]:
    columns = [_texts(column) for column in batch.columns]  # type: ignore[attr-defined]
    return map(list, zip(*columns, strict=True))


def _texts(column: object) -> list[str]:
    import pyarrow

    kind = column.type  # type: ignore[attr-defined]
    if pyarrow.types.is_timestamp(kind):
        column = column.cast(pyarrow.timestamp("us", "UTC" if kind.tz else None), safe=False)  # type: ignore[attr-defined]
    return [_text(value) for value in column.to_pylist()]  # type: ignore[attr-defined]


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, timedelta):
        return repr(value.total_seconds())
    if isinstance(value, date):
        return value.isoformat()
    return str(value)
