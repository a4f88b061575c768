"""One agent a ledger and a project: a second one on this machine is refused before it can decide anything.

A lock of the operating system, so that it ends with its process, however that ends. It keeps apart
agents on one machine; agents on several machines need the lease that comes with leader election.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from agent.errors import AgentRunning, LedgerBroken


@contextmanager
def claimed(files: Sequence[Path]) -> Iterator[None]:
    """Be the only agent on these files for as long as the block lasts. Raises AgentRunning, LedgerBroken."""
    with ExitStack() as stack:
        for file in files:
            stack.callback(os.close, _claim(file))
        yield


def _claim(file: Path) -> int:
    path = file.with_name(f"{file.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
            os.close(handle)
            hint = "let one agent work, or look only: 'spillway tick --dry-run', 'spillway status'"
            raise AgentRunning(f"process {owner} works on it", target=str(file), hint=hint) from error
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
    except OSError as error:
        raise LedgerBroken(str(error), target=str(path), hint="check that its folder can be written") from error
    return handle
