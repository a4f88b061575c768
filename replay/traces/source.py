"""Opens a trace file, whatever it is packed in, and gives its lines or rows as text.

The places where a file as a whole can be unusable are here: absent, empty, not text, packed and
torn. One row is one line: a cell that holds a line break is almost always a quote never closed,
which would swallow the rest of the file in silence. Must not know any column.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from replay.traces.findings import RowFindings

GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"
_UTF8_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")
_AS_UTF8 = "save the file as UTF-8"

Cells = list[str]


def text_rows(path: Path, findings: RowFindings) -> Iterator[tuple[int, Cells]]:
    """The rows of a CSV file with their line numbers, the header first; blank lines are left out."""
    reader = csv.reader(_lines(path, findings), strict=True)
    before = 0
    while True:
        try:
            cells = next(reader, None)
        except csv.Error as error:
            if reader.line_num > before + 1 or "unexpected end" in str(error):
                _refuse_open_quote(findings, before + 1)
            cells = []
            findings.add(reader.line_num, "the row", f"is not CSV: {error}", "mend its quotes and commas")
        if cells is None:
            return
        if reader.line_num > before + 1:
            _refuse_open_quote(findings, before + 1)
        before = reader.line_num
        if cells:
            yield before, cells


def head(path: Path, findings: RowFindings) -> bytes:
    """The first bytes, which tell how a file is packed; refuses a file that is not there or is empty."""
    try:
        with path.open("rb") as stream:
            start = stream.read(4)
    except FileNotFoundError:
        findings.refuse("the file does not exist", f"check the path {path}")
    except OSError as error:
        findings.refuse(f"cannot be read: {error.strerror}", f"give a readable file instead of {path}")
    if not start:
        findings.refuse("the file is empty", "give a file with a header and at least one job")
    return start


def _lines(path: Path, findings: RowFindings) -> Iterator[str]:
    start = head(path, findings)
    is_packed = start.startswith(GZIP_MAGIC)
    if path.suffix == ".gz" and not is_packed:
        findings.refuse("is named .gz but is not gzip", "rename it to .csv, or pack it with gzip")
    with path.open("rb") as plain:
        if not is_packed:
            yield from _decoded(plain, findings)
            return
        with gzip.GzipFile(fileobj=plain) as unpacked:
            yield from _decoded(_whole(unpacked, findings), findings)


def _whole(unpacked: Iterable[bytes], findings: RowFindings) -> Iterator[bytes]:
    """The lines of a gzip stream that ends where it should."""
    try:
        yield from unpacked
    except (EOFError, OSError, zlib.error) as error:
        findings.refuse(f"the gzip data is damaged: {error}", "fetch the file again; `gzip -t` checks it")


def _decoded(lines: Iterable[bytes] | BinaryIO, findings: RowFindings) -> Iterator[str]:
    for number, line in enumerate(lines, start=1):
        if number == 1:
            yield _first_line(line, findings)
            continue
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            findings.add(number, "the row", "is not UTF-8 text", _AS_UTF8)
            yield line.decode("utf-8", errors="replace")


def _first_line(line: bytes, findings: RowFindings) -> str:
    """The header, without the mark that some programs put before it; anything but text is refused here."""
    if line.startswith(_UTF16_BOMS):
        findings.refuse("is UTF-16", _AS_UTF8, row=1)
    try:
        text = line.removeprefix(_UTF8_BOM).decode("utf-8")
    except UnicodeDecodeError:
        findings.refuse("the header is not UTF-8 text", f"give a CSV or Parquet table; if it is one, {_AS_UTF8}", row=1)
    if "\0" in text:
        findings.refuse("is binary data, not a table", "give a CSV table (plain or .gz) or a Parquet file", row=1)
    return text


def _refuse_open_quote(findings: RowFindings, line: int) -> None:
    findings.refuse(
        "a quote is opened and not closed in this row", "close or delete the quote; one row is one line", row=line
    )
