"""Runs other programs so that an interruption or a failure elsewhere ends them, children too."""

import os
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools import guard
from tools.toolchain.failures import SetupFailed

GRACE_SECONDS = 5.0
TAIL_LINES = 15


@dataclass(frozen=True)
class Command:
    """A program to run and what to say when it fails."""

    arguments: Sequence[str]
    purpose: str
    fix: str
    folder: Path | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def ignore(_line: str) -> None:
    """For output that nobody counts."""


class Commands:
    """Every program that set-up has started."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = dict(environment)
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._stopped = False

    def raise_if_stopped(self, purpose: str) -> None:
        """For a step that waits without running anything."""
        if self._stopped:
            raise SetupFailed(
                f"{purpose} was given up",
                why="it was interrupted or another step failed",
                fix="run: make setup",
            )

    def run(self, command: Command, on_line: Callable[[str], None] = ignore) -> str:
        """Run to the end; the last lines of output, or SetupFailed with them."""
        child = self._start(command)
        tail: deque[str] = deque(maxlen=TAIL_LINES)
        try:
            if child.stdout is not None:
                with child.stdout as lines:
                    for line in lines:
                        tail.append(line.rstrip())
                        on_line(line)
            code = child.wait()
        finally:
            with self._lock:
                self._running.discard(child)
        if code == 0:
            return "\n".join(tail)
        stopped = self._stopped
        why = "it was interrupted" if stopped else f"exit code {code}; its last lines:\n" + "\n".join(tail)
        raise SetupFailed(f"{command.purpose} failed", why=why, fix=command.fix)

    def _start(self, command: Command) -> subprocess.Popen[str]:
        with self._lock:
            self.raise_if_stopped(command.purpose)
            try:
                child = subprocess.Popen(
                    guard.guarded([_program(command), *command.arguments[1:]]),
                    cwd=command.folder,
                    env={**self._environment, **command.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    errors="replace",
                    process_group=0,
                )
            except OSError as error:
                raise SetupFailed(f"{command.purpose} could not start", why=str(error), fix=command.fix) from error
            self._running.add(child)
            return child

    def stop(self) -> None:
        """End whatever runs, children included, and start nothing more."""
        with self._lock:
            self._stopped = True
            running = list(self._running)
        for child in running:
            _signal(child, signal.SIGTERM)
        for child in running:
            try:
                child.wait(GRACE_SECONDS)
            except subprocess.TimeoutExpired:
                _signal(child, signal.SIGKILL)


def _program(command: Command) -> str:
    found = shutil.which(command.arguments[0])
    if found is None:
        raise FileNotFoundError(f"{command.arguments[0]} is not there or cannot be run")
    return found


def _signal(child: subprocess.Popen[str], signum: signal.Signals) -> None:
    try:
        os.killpg(child.pid, signum)
    except ProcessLookupError:
        return
