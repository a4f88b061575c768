"""A real Pulumi project on a twin: CLI, language host, plugins and a control plane in a thread.

One Workbench is one project folder with its own stacks, state, home and twin; nothing of it touches
the checkout.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sim.cloud.control import Control
from sim.providers.install import install_plugins
from sim.world.twin import Twin
from tests.engine.twin_thread import twin_thread

ROOT = Path(__file__).resolve().parents[2]
_TIMEOUT_S = 120
_PROJECT = """\
name: spillway
main: {root}/infra
stackConfigDir: stacks
runtime:
  name: python
  options:
    toolchain: pip
    virtualenv: {prefix}
"""


@dataclass(frozen=True)
class Run:
    """How one call of the CLI ended."""

    code: int
    output: str
    events: list[dict[str, Any]]

    @property
    def operations(self) -> dict[str, list[str]]:
        """Names of the resources by operation, from the engine's own events."""
        found: dict[str, list[str]] = {}
        for event in self.events:
            metadata = event.get("resourcePreEvent", {}).get("metadata")
            if metadata and metadata["op"] not in ("same", "read"):
                found.setdefault(metadata["op"], []).append(metadata["urn"].rpartition("::")[2])
        return found

    @property
    def diagnostics(self) -> str:
        """All error and warning texts."""
        texts = [
            event["diagnosticEvent"]["message"]
            for event in self.events
            if event.get("diagnosticEvent", {}).get("severity") in ("error", "warning", "info#err")
        ]
        return re.sub(r"<\{%.*?%\}>", "", "\n".join(texts))


@dataclass
class Workbench:
    """One project folder and its twin."""

    folder: Path
    twin: Twin
    control: Control
    url: str
    runs: int = field(default=0)

    @property
    def stacks(self) -> Path:
        """Where the stack files and the catalogue are."""
        return self.folder / "stacks"

    def environment(self) -> dict[str, str]:
        """What the CLI and its children see."""
        path = f"{ROOT / '.spillway' / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return {
            "HOME": os.environ["HOME"],
            "PATH": path,
            "PULUMI_HOME": str(self.folder / "home"),
            "PULUMI_BACKEND_URL": f"file://{self.folder / 'state'}",
            "PULUMI_CONFIG_PASSPHRASE": "engine test",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_DEBUG_COMMANDS": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "SPILLWAY_TWIN_URL": self.url,
            "SPILLWAY_TWIN_TOKEN": self.twin.token,
        }

    def start(self, *arguments: str, log: Path | None = None) -> subprocess.Popen[str]:
        """Start the CLI in a session of its own."""
        events = ["--event-log", str(log)] if log else []
        return subprocess.Popen(
            ["pulumi", *arguments, *events, "--non-interactive", "--color", "never"],
            cwd=self.folder,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def pulumi(self, *arguments: str) -> Run:
        """Run the CLI to its end."""
        self.runs += 1
        verbs = ("up", "preview", "refresh", "destroy")
        log = self.folder / f"events-{self.runs}.json" if arguments[0] in verbs else None
        process = self.start(*arguments, log=log)
        output, _ = process.communicate(timeout=_TIMEOUT_S)
        lines = log.read_text().splitlines() if log and log.exists() else []
        return Run(process.returncode, output, [json.loads(line) for line in lines])

    def up(self, stack: str, *more: str) -> Run:
        """`pulumi up` without a preview."""
        return self.pulumi("up", "--stack", stack, "--yes", "--skip-preview", *more)

    def set_desired(self, stack: str, pool: str, nodes: object) -> None:
        """Edit the machine-edited key as the agent does: one line, nothing else."""
        path = self.stacks / f"Pulumi.{stack}.yaml"
        text, count = re.subn(rf"(?m)^(\s+{pool}:) .*$", rf"\1 {nodes}", path.read_text())
        assert count == 1
        path.write_text(text)

    def outputs(self, stack: str) -> dict[str, Any]:
        """All outputs of a stack."""
        return dict(json.loads(self.pulumi("stack", "output", "--stack", stack, "--json").output))


@contextmanager
def workbench(folder: Path) -> Iterator[Workbench]:
    """A fresh project on a fresh twin; both end with the block."""
    shutil.copytree(ROOT / "stacks", folder / "stacks")
    (folder / "Pulumi.yaml").write_text(_PROJECT.format(root=ROOT, prefix=sys.prefix))
    (folder / "state").mkdir()
    install_plugins(folder / "home")
    with twin_thread(folder / "stacks" / "catalog.yaml") as served:
        yield Workbench(folder, served.twin, served.control, served.url)
