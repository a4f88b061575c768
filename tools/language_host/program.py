"""One run of a Pulumi program: which interpreter, which arguments, which end.

It starts the SDK's executor as a child in a process group of its own, so that whatever the program
starts can be ended with it. Standard output and error are inherited: the engine reads them from the
host.
"""

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools import guard

EXIT_ALREADY_SHOWN = 32
GRACE_SECONDS = 1.0


class InterpreterMissing(Exception):
    """Pulumi.yaml names a virtual environment that has no interpreter."""


@dataclass(frozen=True)
class Outcome:
    """How a program ended, in the terms that the engine asks for."""

    error: str = ""
    bail: bool = False


@dataclass(frozen=True)
class Invocation:
    """A command line and its environment."""

    command: Sequence[str]
    environment: Mapping[str, str]


def interpreter(virtualenv: str, root: Path) -> str:
    """The interpreter of the project: that of its virtual environment, else the one running now."""
    if not virtualenv:
        return sys.executable
    folder = root / virtualenv
    python = folder / "bin" / "python"
    if not python.exists():
        raise InterpreterMissing(
            f"Pulumi.yaml sets virtualenv to {virtualenv!r}, but there is no {python}. Run: python3 tools/setup.py"
        )
    return str(python)


def environment(python: str, overlay: Mapping[str, str]) -> dict[str, str]:
    """The host's environment as seen from inside the program's virtual environment."""
    folder = str(Path(python).parent)
    path = os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])
    inherited = {key: value for key, value in os.environ.items() if key != "PYTHONHOME"}
    return {**inherited, "PATH": path, "VIRTUAL_ENV": str(Path(folder).parent), **overlay}


class Programs:
    """The programs that are running; ends them all when asked."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._closed = False

    def run(self, invocation: Invocation) -> Outcome:
        """Run to the end and say how it ended."""
        try:
            child = self._start(invocation)
        except OSError as error:
            return Outcome(error=_start_failure(error))
        if child is None:
            return Outcome(bail=True)
        code = child.wait()
        with self._lock:
            self._running.discard(child)
            if self._closed:
                return Outcome(bail=True)
        return outcome(code)

    def _start(self, invocation: Invocation) -> subprocess.Popen[bytes] | None:
        with self._lock:
            if self._closed:
                return None
            child = subprocess.Popen(
                guard.guarded(invocation.command),
                env=invocation.environment,
                stdin=subprocess.DEVNULL,
                process_group=0,
            )
            self._running.add(child)
            return child

    def close(self) -> None:
        """Ask every running program to end, then end it; refuse new ones."""
        with self._lock:
            self._closed = True
            running = list(self._running)
        for child in running:
            _signal_group(child.pid, signal.SIGTERM)
        for child in running:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(GRACE_SECONDS)
            _signal_group(child.pid, signal.SIGKILL)


def outcome(code: int) -> Outcome:
    """What an exit code of the executor means for the engine."""
    if code == 0:
        return Outcome()
    if code == EXIT_ALREADY_SHOWN:
        return Outcome(bail=True)
    if code < 0:
        return Outcome(error=f"Program was ended by signal {signal.Signals(-code).name}")
    return Outcome(error=f"Program exited with non-zero exit code: {code}")


def _start_failure(error: OSError) -> str:
    if error.errno == errno.E2BIG:
        return (
            "Program could not be started: the stack's config is larger than one environment "
            "variable may be (128 KiB). Move large values out of the stack file."
        )
    return f"Program could not be started: {error}"


def _signal_group(group: int, signum: signal.Signals) -> None:
    try:
        os.killpg(group, signum)
    except ProcessLookupError:
        return
