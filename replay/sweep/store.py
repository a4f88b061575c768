"""What a sweep has done so far, one JSON line a cell in DIR/results.jsonl; it survives any break.

A line counts when it is whole; a torn or foreign one is as good as absent and its cell is run again. One sweep at a
time writes a folder: a lock of the operating system, which ends with its process however that ends.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from agent.core.codec import CodecError, from_json, to_json
from replay.headline import Headline
from replay.sweep.cells import Cell

RESULTS, LOCK = "results.jsonl", "sweep.lock"


class SweepRunning(RuntimeError):
    """Another sweep works on this folder."""


class Store:
    """The results of a folder; made by `opened`."""

    def __init__(self, folder: Path, stream: BinaryIO) -> None:
        self.folder = str(folder)
        self._stream = stream
        self._kept = _read(stream)

    def find(self, cell: Cell) -> Headline | None:
        """The figures of the cell, if it was done before."""
        return self._kept.get(cell.identity)

    def keep(self, cell: Cell, headline: Headline) -> None:
        """On disk when this returns, so that no later break loses it. Raises OSError."""
        line = {
            "id": cell.identity,
            "trace": cell.trace,
            "policy": cell.entrant.name,
            "seed": cell.seed,
            "world": cell.setting.world.value,
            "estimates": cell.setting.truth.estimates.value,
            "headline": to_json(headline),
        }
        self._stream.write(json.dumps(line, ensure_ascii=False).encode() + b"\n")
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._kept[cell.identity] = headline


@contextmanager
def opened(folder: Path) -> Iterator[Store]:
    """The folder's store for as long as the block lasts. Raises SweepRunning, OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    lock = _claimed(folder / LOCK)
    try:
        with (folder / RESULTS).open("a+b") as stream:
            yield Store(folder, stream)
    finally:
        os.close(lock)


def _claimed(path: Path) -> int:
    """The lock held, our process number in it; a file left by a process that ended is taken over."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        raise SweepRunning(f"process {owner} sweeps into it") from error
    os.ftruncate(handle, 0)
    os.write(handle, str(os.getpid()).encode())
    return handle


def _read(stream: BinaryIO) -> dict[str, Headline]:
    """All whole lines; what was torn at the end is cut off, so that the next line starts a line."""
    stream.seek(0)
    data = stream.read()
    whole = data.rfind(b"\n") + 1
    if whole < len(data):
        stream.truncate(whole)
    kept = {}
    for line in data[:whole].splitlines():
        if (found := _line(line)) is not None:
            kept[found[0]] = found[1]
    return kept


def _line(line: bytes) -> tuple[str, Headline] | None:
    try:
        stored = json.loads(line)
        return str(stored["id"]), from_json(Headline, stored["headline"])
    except (ValueError, KeyError, TypeError, CodecError):
        return None
