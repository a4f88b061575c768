"""A tiny Pulumi project with a file backend of its own, run by the real CLI of the toolchain."""

import json
import os
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MARK = "SPILLWAY_TEST_MARK"


@dataclass(frozen=True)
class TinyProject:
    """A project folder and the environment that every command in it shares."""

    folder: Path
    pulumi: str
    virtualenv: Path
    environment: dict[str, str]

    def settings(self, virtualenv: str) -> None:
        """Write Pulumi.yaml."""
        (self.folder / "Pulumi.yaml").write_text(
            "name: tiny\n"
            "main: program\n"
            "stackConfigDir: stacks\n"
            "runtime:\n"
            "  name: python\n"
            f"  options: {{toolchain: pip, virtualenv: {json.dumps(virtualenv)}}}\n",
            encoding="utf-8",
        )

    def program(self, text: str) -> None:
        """Replace the program."""
        (self.folder / "program" / "__main__.py").write_text(text, encoding="utf-8")

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the CLI to its end."""
        with self.start(*arguments) as child:
            output, _ = child.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, child.returncode, output)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Run the CLI, output and errors together."""
        return subprocess.Popen(
            [self.pulumi, *arguments, "--non-interactive"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            process_group=0,
        )

    def up(self) -> subprocess.CompletedProcess[str]:
        return self.run("up", "--yes", "--skip-preview")

    def processes(self) -> dict[int, str]:
        """Everything that descends from this project's CLI: process id and command line."""
        wanted = f"{MARK}={self.environment[MARK]}".encode()
        entries = [entry for entry in Path("/proc").glob("[0-9]*") if _has(entry, wanted)]
        return {int(entry.name): _command(entry) for entry in entries}

    def process(self, part: str) -> int:
        """The process with that text in its command line."""
        (found,) = (pid for pid, command in self.processes().items() if f" {part} " in command)
        return found


def eventually(condition: Callable[[], bool], seconds: float) -> bool:
    """Whether the condition came true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def tiny(tmp_path: Path) -> Iterator[TinyProject]:
    """A project with the stack `dev`; whatever it leaves running is ended and fails the test."""
    project = _project(tmp_path)
    created = project.run("stack", "init", "dev")
    assert created.returncode == 0, created.stdout
    yield project
    leftovers = project.processes()
    for pid in leftovers:
        os.kill(pid, signal.SIGKILL)
    assert leftovers == {}


def _project(folder: Path) -> TinyProject:
    record = ROOT / ".spillway" / "toolchain.json"
    if not record.exists():
        pytest.fail(f"no toolchain: {record} is not there; run: make setup")
    chain = json.loads(record.read_text(encoding="utf-8"))
    for name in ("program", "state", "home", "stacks"):
        (folder / name).mkdir()
    prefix = os.pathsep.join(chain["path_prefix"])
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([prefix, os.environ["PATH"]]),
        "PULUMI_BACKEND_URL": f"file://{folder / 'state'}",
        "PULUMI_HOME": str(folder / "home"),
        "PULUMI_CONFIG_PASSPHRASE": "tiny",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        MARK: uuid.uuid4().hex,
    }
    virtualenv = Path(chain["python"]).parent.parent
    project = TinyProject(folder, chain["pulumi"], virtualenv, environment)
    project.settings(str(virtualenv))
    return project


def _has(entry: Path, wanted: bytes) -> bool:
    try:
        return wanted in (entry / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _command(entry: Path) -> str:
    try:
        return (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
    except OSError:
        return ""
