"""What set-up says: a sign of life on long steps, no colour codes where none are wanted."""

import io
import time
from pathlib import Path

import pytest

from tests.tools.conftest import eventually
from tools.toolchain import locks
from tools.toolchain.commands import Commands
from tools.toolchain.failures import SetupFailed
from tools.toolchain.progress import Progress


def test_a_long_step_says_that_it_lives_and_how_far_it_is() -> None:
    stream = io.StringIO()
    out = Progress(stream, colour=False, heartbeat=0.01)

    with out.during("pulumi", "building", lambda: "12 packages compiled"):
        assert eventually(lambda: "building: 0 s, 12 packages compiled" in stream.getvalue(), 5)

    lines = stream.getvalue().splitlines()
    assert lines[0].endswith("building ...")
    assert "building: done in" in lines[-1]


def test_a_step_that_fails_is_not_called_done() -> None:
    stream = io.StringIO()

    def fail() -> None:
        with Progress(stream, colour=False).during("pulumi", "building"):
            raise SetupFailed("no", why="no", fix="no")

    with pytest.raises(SetupFailed):
        fail()
    assert "done" not in stream.getvalue()


def test_plain_output_has_no_escape_codes() -> None:
    stream = io.StringIO()
    Progress(stream, colour=False).say("python", "ready")
    assert "\x1b" not in stream.getvalue()


def test_a_second_set_up_waits_and_gives_up_when_interrupted(tmp_path: Path) -> None:
    stream = io.StringIO()
    out = Progress(stream, colour=False)
    commands = Commands({})
    lock = tmp_path / "build.lock"

    def second() -> None:
        with locks.held(lock, "pulumi", commands, out):
            pass

    with locks.held(lock, "pulumi", commands, out):
        commands.stop()
        began = time.monotonic()
        with pytest.raises(SetupFailed, match="waiting for another set-up"):
            second()
    assert time.monotonic() - began < 5
    assert "waiting for another set-up" in stream.getvalue()
