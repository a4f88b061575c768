"""One built-out project for all tests of the agent's own Pulumi driver, whichever folder they stand in.

Building it costs some seconds of engine, so that it is made once a session and each test leaves it as it
found it: sizes at zero, no lock, no mishap.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.act.pulumi_stack import PulumiSettings, PulumiStacks, bindings_of
from sim.cloud.alicloud_kinds import NODE_POOL
from sim.cloud.aws_kinds import NODE_GROUP
from sim.cloud.mishaps import Mishap
from sim.world.group_spec import Group
from tests.engine.workbench import ROOT, Workbench, workbench

STACKS = ("burst-aws", "burst-alicloud")
POOL = {"burst-aws": "eks-a100-od", "burst-alicloud": "ack-a100-od"}
KIND = {"burst-aws": NODE_GROUP, "burst-alicloud": NODE_POOL}
_BENCH = pytest.StashKey[Workbench]()


def built_bench(config: pytest.Config, factory: pytest.TempPathFactory) -> Workbench:
    """Foundation and both burst stacks, up, with no node; the same one for the whole session."""
    if _BENCH not in config.stash:
        closing = ExitStack()
        config.add_cleanup(closing.close)
        bench = closing.enter_context(workbench(factory.mktemp("bench")))
        for stack in ("foundation", *STACKS):
            assert bench.pulumi("stack", "init", stack, "--no-select").code == 0
            done = bench.up(stack)
            assert done.code == 0, done.output
        config.stash[_BENCH] = bench
    return config.stash[_BENCH]


@dataclass(frozen=True)
class Driven:
    """The bench, and the agent's driver on it."""

    bench: Workbench

    def driver(self, *, limit_s: float = 60.0, **environment: str) -> PulumiStacks:
        """A fresh driver, as a fresh agent would have it."""
        own: Mapping[str, str] = {**self.bench.environment(), **environment}
        return PulumiStacks(
            PulumiSettings(
                project_dir=self.bench.folder,
                project="spillway",
                stacks_dir=self.bench.stacks,
                binary=ROOT / ".spillway" / "bin" / "pulumi",
                home=self.bench.folder / "home",
                backend_url=own["PULUMI_BACKEND_URL"],
                environment=own,
                limit_seconds=limit_s,
            )
        )

    def group(self, stack: str) -> Group:
        """The cloud's own group behind a stack's pool."""
        return next(item for item in self.bench.twin.world.groups.groups() if item.row.pool == POOL[stack])

    def desired(self, stack: str) -> int:
        """The size that the cloud itself strives for."""
        return self.group(stack).desired

    def applied(self, stack: str) -> int:
        """The size that Pulumi's state holds, read from its file."""
        path = self.bench.folder / "state" / ".pulumi" / "stacks" / "spillway" / f"{stack}.json"
        latest = json.loads(path.read_text(encoding="utf-8"))["checkpoint"]["latest"]
        return int(bindings_of(latest, stack)[POOL[stack]].applied)

    def candidate(self, stack: str, size: int) -> tuple[str, str]:
        """The stack's file as it is, and with another size of its pool."""
        text = (self.bench.stacks / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
        line = next(line for line in text.splitlines() if line.strip().startswith(f"{POOL[stack]}:"))
        return text, text.replace(line, f"    {POOL[stack]}: {size}")

    def write(self, stack: str, size: int) -> None:
        """Put another size into the file, as the agent's edit would."""
        (self.bench.stacks / f"Pulumi.{stack}.yaml").write_text(self.candidate(stack, size)[1], encoding="utf-8")

    def slow_down(self, stack: str, seconds: float) -> None:
        """The cloud does the next update of a pool at once, and answers late."""
        self.bench.control.mishaps.ordered.append(Mishap(operation="update", kind=KIND[stack], hold_s=seconds))

    def locks(self, stack: str) -> list[Path]:
        """The lock files of a stack."""
        folder = self.bench.folder / "state" / ".pulumi" / "locks" / "organization" / "spillway" / stack
        return sorted(folder.glob("*.json"))

    def lock_owner(self, stack: str) -> int:
        """The process that holds a stack's only lock."""
        [lock] = self.locks(stack)
        return int(json.loads(lock.read_text(encoding="utf-8"))["pid"])

    def set_back(self) -> None:
        """Zero nodes, no lock, no mishap."""
        self.bench.control.mishaps.ordered.clear()
        for stack in STACKS:
            for lock in self.locks(stack):
                lock.unlink()
            _, zero = self.candidate(stack, 0)
            (self.bench.stacks / f"Pulumi.{stack}.yaml").write_text(zero, encoding="utf-8")
            if self.desired(stack) or self.applied(stack):
                drifted = ("--refresh",) if self.desired(stack) != self.applied(stack) else ()
                assert self.bench.up(stack, *drifted).code == 0


def wait_until(is_so: Callable[[], bool], *, seconds: float = 60.0) -> None:
    """A bounded poll for what another process does."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.03)


@dataclass(frozen=True)
class Seen:
    """A living process."""

    command: str
    parent: int


def processes_of(folder: Path) -> dict[int, Seen]:
    """Living processes that have this folder in their environment or command line, but ourselves."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            stat = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            command = (entry / "cmdline").read_bytes()
            environment = (entry / "environ").read_bytes()
        except OSError:
            continue
        own = int(entry.name) == os.getpid()
        if stat[0] != "Z" and not own and str(folder).encode() in command + environment:
            shown = command.replace(b"\0", b" ").decode(errors="replace")
            found[int(entry.name)] = Seen(shown, int(stat[1]))
    return found
