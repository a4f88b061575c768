"""On a real terminal and in a pipe: codes of colour only where they are wanted, no noise when the reader goes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CATALOG = str(ROOT / "stacks" / "catalog.yaml")
SPILLWAY = (sys.executable, "-m", "spillway.main")


def environment(**more: str) -> Mapping[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "CI", "FORCE_COLOR")}
    return {**kept, "PYTHONPATH": str(ROOT), "TERM": "xterm-256color", **more}


def on_a_terminal(folder: Path, *arguments: str, **more: str) -> tuple[int, str]:
    """Run with a terminal for output and errors, and give what it showed."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*SPILLWAY, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=slave,
        stderr=slave,
        cwd=folder,
        env=environment(**more),
    )
    os.close(slave)
    shown = b""
    with os.fdopen(master, "rb", buffering=0) as reader:
        while True:
            try:
                some = reader.read(4096)
            except OSError:
                break
            if not some:
                break
            shown += some
    return process.wait(), shown.decode()


def test_codes_come_on_a_terminal_and_never_under_no_color(tmp_path: Path) -> None:
    arguments = ("catalog", "show", "--file", CATALOG)
    code, shown = on_a_terminal(tmp_path, *arguments)
    plain_code, plain = on_a_terminal(tmp_path, *arguments, NO_COLOR="1")
    assert code == plain_code == 0
    assert "\x1b[" in shown
    assert "\x1b" not in plain


def test_an_error_under_no_color_has_no_codes(tmp_path: Path) -> None:
    code, shown = on_a_terminal(tmp_path, "bogus", NO_COLOR="1")
    assert code == 2
    assert shown.startswith("error bad_call: ")
    assert "\x1b" not in shown


def test_a_pipe_gets_no_codes(tmp_path: Path) -> None:
    arguments = [*SPILLWAY, "catalog", "show", "--file", CATALOG]
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=tmp_path, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "ack-a100-spot" in done.stdout


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path, output: str) -> None:
    """`spillway catalog show | head -1`."""
    process = subprocess.Popen(
        [*SPILLWAY, "catalog", "show", "--file", CATALOG, "--output", output],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env=environment(),
    )
    assert process.stdout
    assert process.stderr
    process.stdout.close()
    errors = process.stderr.read()
    process.stderr.close()
    assert (process.wait(), errors) == (0, "")


def test_the_exit_code_reaches_the_shell(tmp_path: Path) -> None:
    done = subprocess.run(
        [*SPILLWAY, "status", "-o", "json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment(),
        check=False,
    )
    assert done.returncode == 2
    assert '"code": "bad_settings"' in done.stdout
