"""One writer a ledger: a second agent on the same file is refused before it can decide anything.

A lock of the operating system, so that it ends with its process, however that ends. It keeps apart
agents on one machine; agents on several machines need the lease that comes with leader election.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent.errors import AgentRunning, LedgerBroken


@contextmanager
def claimed(ledger: Path) -> Iterator[None]:
    """Be the ledger's only agent for as long as the block lasts. Raises AgentRunning, LedgerBroken."""
    path = ledger.with_name(f"{ledger.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        hint = "check that its folder can be written"
        raise LedgerBroken(str(error), target=f"ledger {ledger}", hint=hint) from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        owner = os.read(handle, 32).decode(errors="replace").strip() or "unknown"
        os.close(handle)
        hint = "let one agent work, or look only: 'spillway tick --dry-run', 'spillway status'"
        raise AgentRunning(f"process {owner} works on it", target=f"ledger {ledger}", hint=hint) from error
    try:
        os.ftruncate(handle, 0)
        os.write(handle, str(os.getpid()).encode())
        yield
    finally:
        os.close(handle)
