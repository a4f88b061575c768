"""Starting and stopping the twin's server as a process of its own, and finding a running one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from agent.errors import BadSettings, SpillwayError
from sim.client import TwinAddress, read_address

PORT_FILE = "twin.json"
_START_LIMIT_S = 30.0
_STOP_LIMIT_S = 10.0


class TwinFailed(SpillwayError):
    """The twin's server did not start, or ended by itself."""

    code = "twin_failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinPlan:
    """What to run: the site's stacks, a trace, the virtual start and how fast time passes ('virtual', '60')."""

    home: Path
    stacks: Path
    workload: Path
    start: datetime
    speed: str
    seed: int
    faults: Path | None = None

    def arguments(self) -> list[str]:
        """The server's command line."""
        faults = ["--faults", str(self.faults)] if self.faults else []
        return [
            *("--site", str(self.stacks), "--workload", str(self.workload), "--start", self.start.isoformat()),
            *("--speed", self.speed, "--seed", str(self.seed), "--port-file", str(self.home / PORT_FILE), *faults),
        ]


@dataclass(frozen=True, slots=True)
class Twin:
    """A running twin."""

    address: TwinAddress
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """End it and wait; harmless when it has ended."""
        end_process(self.process.pid, self.process)


def start_twin(plan: TwinPlan, *, die_with_parent: bool) -> Twin:
    """Start the server and wait until it answers. Raises TwinFailed with the server's own words."""
    plan.home.mkdir(parents=True, exist_ok=True)
    port_file = plan.home / PORT_FILE
    port_file.unlink(missing_ok=True)
    log = plan.home / "twin.log"
    more = ["--die-with-parent"] if die_with_parent else []
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "sim", *plan.arguments(), *more],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=file,
            cwd=Path(__file__).resolve().parents[1],
            start_new_session=True,
        )
    deadline = time.monotonic() + _START_LIMIT_S
    while (address := read_address(port_file)) is None:
        if process.poll() is not None or time.monotonic() > deadline:
            end_process(process.pid, process)
            said = log.read_text(encoding="utf-8", errors="replace").strip() or "it said nothing"
            raise TwinFailed(f"did not start: {said}", target="twin", hint=f"see {log}; mend what it names")
        time.sleep(0.02)
    return Twin(address, process)


def running_twin(home: Path) -> TwinAddress | None:
    """The twin whose port file is there and whose process lives."""
    address = read_address(home / PORT_FILE)
    return address if address and is_twin(address.pid) else None


def is_twin(pid: int) -> bool:
    """Whether the process is a twin's server (the number may have been given to another process)."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"sim" in command and b"--port-file" in command


def end_process(pid: int, process: subprocess.Popen[bytes] | None = None) -> None:
    """SIGTERM, then SIGKILL after a while. Raises BadSettings when it is not ours to end."""
    try:
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + _STOP_LIMIT_S
        while time.monotonic() < deadline:
            if process.poll() is not None if process else not is_twin(pid):
                return
            time.sleep(0.02)
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    except PermissionError as error:
        hint = "end it as the user who started it"
        raise BadSettings(f"may not be ended: {error}", target=f"process {pid}", hint=hint) from error
