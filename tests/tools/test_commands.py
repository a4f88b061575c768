"""Programs that set-up runs: their failure is told, their children do not outlive an interruption."""

import os
import sys
import threading
import time
from pathlib import Path

import pytest

from tests.tools.conftest import eventually
from tools.toolchain.commands import Command, Commands
from tools.toolchain.failures import SetupFailed

PARENT = """
import pathlib, subprocess, sys
child = subprocess.Popen(["sleep", "300"])
pathlib.Path(sys.argv[1]).write_text(str(child.pid))
child.wait()
"""


def python(text: str, *arguments: str) -> Command:
    return Command([sys.executable, "-c", text, *arguments], "the step", "do this")


def test_the_lines_are_handed_over_as_they_come() -> None:
    seen: list[str] = []

    Commands(os.environ).run(python("print('a'); print('b')"), seen.append)

    assert seen == ["a\n", "b\n"]


def test_a_failure_carries_the_last_lines_and_the_next_step() -> None:
    with pytest.raises(SetupFailed) as caught:
        Commands(os.environ).run(python("print('no space left'); raise SystemExit(3)"))

    assert caught.value.render().splitlines() == [
        "error: the step failed",
        "  why: exit code 3; its last lines:",
        "       no space left",
        "  next: do this",
    ]


def test_a_program_that_is_not_there_is_a_failure_of_its_step() -> None:
    with pytest.raises(SetupFailed, match="the step could not start"):
        Commands(os.environ).run(Command(["/nowhere/go"], "the step", "do this"))


def test_stopping_ends_the_program_and_its_children(tmp_path: Path) -> None:
    commands = Commands(os.environ)
    note = tmp_path / "pid"
    failures: list[SetupFailed] = []

    def step() -> None:
        try:
            commands.run(python(PARENT, str(note)))
        except SetupFailed as failure:
            failures.append(failure)

    thread = threading.Thread(target=step)
    thread.start()
    assert eventually(lambda: note.exists() and note.read_text() != "", 10)
    commands.stop()
    thread.join(10)

    assert [failure.why for failure in failures] == ["it was interrupted"]
    assert eventually(lambda: _is_gone(int(note.read_text())), 5)


def test_nothing_starts_after_a_stop() -> None:
    commands = Commands(os.environ)
    commands.stop()
    began = time.monotonic()

    with pytest.raises(SetupFailed, match="given up"):
        commands.run(python("import time; time.sleep(60)"))

    assert time.monotonic() - began < 5


def _is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2]
    except FileNotFoundError:
        return True
    return state.startswith("Z")
