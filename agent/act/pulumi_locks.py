"""Locks of Pulumi's self-managed backend: who holds one, and releasing one whose owner is proven dead.

`pulumi cancel` would delete every lock of a stack and ask nobody; here exactly one file goes, and
only when its process cannot be alive (I08).
"""

from __future__ import annotations

import json
import os
import socket
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Lock:
    """One lock file, as Pulumi wrote it."""

    path: Path
    pid: int
    host: str
    taken_at: datetime

    def owner(self) -> str:
        """The owner in words."""
        return f"process {self.pid} on {self.host} since {self.taken_at.isoformat(timespec='seconds')}"


def locks_of(backend: Path, project: str, stack: str) -> tuple[Lock, ...]:
    """The locks of one stack in a file backend; a lock that cannot be read counts as held by nobody known."""
    folder = backend / ".pulumi" / "locks" / "organization" / project / stack
    return tuple(_read(path) for path in sorted(folder.glob("*.json")))


def is_owner_dead(lock: Lock) -> bool:
    """Proven dead: same host, and no such process; or another program that began after the lock was taken."""
    if lock.host != socket.gethostname() or lock.pid <= 0:
        return False
    started = _started_at(lock.pid)
    if started is None:
        return True
    # A running pulumi of that number is taken for the owner, whatever the clocks say.
    # Two seconds of slack: the machine's boot time is given in whole seconds.
    return not _is_pulumi(lock.pid) and (started - lock.taken_at).total_seconds() > 2.0


def _is_pulumi(pid: int) -> bool:
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False
    return b"pulumi" in command


def _read(path: Path) -> Lock:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        taken_at = datetime.fromisoformat(str(content["timestamp"]))
        return Lock(path=path, pid=int(content["pid"]), host=str(content["hostname"]), taken_at=taken_at)
    except (OSError, ValueError, KeyError, TypeError):
        return Lock(path=path, pid=0, host="an unknown host", taken_at=datetime.fromtimestamp(0, UTC))


def _started_at(pid: int) -> datetime | None:
    """When a process of this machine began; None when there is none (a zombie counts as none)."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
        machine = Path("/proc/stat").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[0] == "Z":
        return None
    booted = next(int(line.split()[1]) for line in machine.splitlines() if line.startswith("btime "))
    return datetime.fromtimestamp(booted + int(fields[19]) / os.sysconf("SC_CLK_TCK"), UTC)
