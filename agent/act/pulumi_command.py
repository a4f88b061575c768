"""How the Pulumi CLI is run: in a session of its own, with a time limit, leaving no process behind.

The SDK's own runner has no limit and shares our process group, so that a Ctrl-C would reach the
engine twice. Here the first interrupt is ours, and after the CLI has ended its whole session is
reaped: the engine puts each plugin into a process group of its own, so that a group would not do.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from agent.act import leash
from agent.errors import PulumiTimeout

_LEASH = str(Path(leash.__file__).resolve())

OnLine = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A command that ended by itself."""

    code: int
    stdout: str
    stderr: str


class CommandFailed(Exception):
    """The CLI ended with an exit code other than 0. For this room alone; adapters translate it."""

    def __init__(self, finished: Finished) -> None:
        self.finished = finished
        super().__init__(f"pulumi ended with {finished.code}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRunner:
    """Runs a binary whose processes cannot outlive it, hang for ever, or see another environment.

    At the limit the engine is interrupted once to stop and once more to abort, each with `grace_seconds`.
    """

    binary: Path
    environment: Mapping[str, str] = field(repr=False)
    limit_seconds: float
    grace_seconds: float = 20.0

    def run(
        self,
        args: Sequence[str],
        cwd: Path,
        on_output: OnLine | None = None,
        on_error: OnLine | None = None,
    ) -> Finished:
        """Run to the end or to the limit. Raises CommandFailed, PulumiTimeout."""
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", _LEASH, str(os.getpid()), str(self.binary), *args],
            cwd=cwd,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            stdout, stderr, in_time = self._collect(process, on_output, on_error)
        finally:
            _reap_session(process)
        if not in_time:
            what = f"ended after {self.limit_seconds:.0f} s"
            hint = "see how far it came with 'pulumi stack'; raise SPILLWAY_PULUMI_LIMIT if the cloud is slow"
            raise PulumiTimeout(what, target=" ".join(["pulumi", *args[:1]]), hint=hint)
        finished = Finished(code=process.returncode, stdout=stdout, stderr=stderr)
        if finished.code != 0:
            raise CommandFailed(finished)
        return finished

    def _collect(
        self, process: subprocess.Popen[str], on_output: OnLine | None, on_error: OnLine | None
    ) -> tuple[str, str, bool]:
        out: list[str] = []
        err: list[str] = []
        readers = (
            threading.Thread(target=_read, args=(process.stdout, out, on_output)),
            threading.Thread(target=_read, args=(process.stderr, err, on_error)),
        )
        for reader in readers:
            reader.start()
        in_time = self._wait(process)
        # Before the last lines are read: whoever is left may hold our end of the pipe open.
        _reap_session(process)
        for reader in readers:
            reader.join()
        return "\n".join(out), "\n".join(err), in_time

    def _wait(self, process: subprocess.Popen[str]) -> bool:
        """Whether it ended in time; else interrupt as the engine expects: once to stop, once more to abort."""
        if _ends_within(process, self.limit_seconds):
            return True
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            if _ends_within(process, self.grace_seconds):
                break
        return False


def _ends_within(process: subprocess.Popen[str], seconds: float) -> bool:
    """Wait for the end without polling: a wait with a limit would sleep up to 50 ms past it."""
    handle = os.pidfd_open(process.pid)
    try:
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        return bool(waiting.poll(seconds * 1000))
    finally:
        os.close(handle)


def _reap_session(process: subprocess.Popen[str]) -> None:
    """End whatever is left of the child's session: engine, language host, providers (I12)."""
    # Twice: one that is being started while we look has its parent's session and is seen the next time.
    for _ in range(2):
        for member in _session(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL)
    process.wait()


def _session(leader: int) -> list[int]:
    """Processes that live in a session."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            if int(fields[3]) == leader and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def _read(stream: IO[str] | None, lines: list[str], on_line: OnLine | None) -> None:
    if stream is None:
        return
    for line in stream:
        lines.append(line.rstrip())
        if on_line:
            on_line(lines[-1])
    stream.close()
