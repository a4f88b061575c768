"""The end of runs, by whatever signal: nothing stays behind (I12)."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from tests.engine.workbench import Workbench

_WAIT_S = 10.0


def processes(home: Path) -> dict[int, str]:
    """Processes that run for this Pulumi home, by id, with their command line."""
    found = {}
    for entry in Path("/proc").iterdir():
        try:
            environment = (entry / "environ").read_bytes() if entry.name.isdigit() else b""
            if f"PULUMI_HOME={home}\0".encode() in environment:
                found[int(entry.name)] = (entry / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    return {pid: command for pid, command in found.items() if pid != os.getpid()}


def wait_for_plugins(home: Path) -> None:
    """Until a plugin of this home runs."""
    deadline = time.monotonic() + _WAIT_S
    while not any("sim.providers" in command for command in processes(home).values()):
        assert time.monotonic() < deadline, "no plugin was started"
        time.sleep(0.02)


def test_killed_cli_leaves_no_process_behind(built: Workbench) -> None:
    home = built.folder / "home"
    for _ in range(10):
        run = built.start("preview", "--stack", "burst-aws")
        wait_for_plugins(home)
        run.kill()
        run.communicate(timeout=_WAIT_S)
        deadline = time.monotonic() + _WAIT_S
        while left := processes(home):
            assert time.monotonic() < deadline, left
            time.sleep(0.02)


def test_interrupted_run_ends_without_a_trace_of_python(built: Workbench) -> None:
    run = built.start("preview", "--stack", "burst-aws")
    wait_for_plugins(built.folder / "home")
    os.killpg(run.pid, signal.SIGINT)

    output, _ = run.communicate(timeout=30)

    assert "Traceback" not in output
    assert "KeyboardInterrupt" not in output
