"""Builds the Pulumi CLI from tools/pulumi-cli, pinned by its go.sum, into the cache.

A kept build is named by the hash of go.mod and go.sum. An interrupted one costs little: Go keeps
the packages that it has compiled.
"""

import json
import platform
import shutil
import sys
from pathlib import Path

from tools.toolchain import locks, stamps, versions
from tools.toolchain.commands import Command, Commands
from tools.toolchain.places import Places
from tools.toolchain.progress import Progress
from tools.toolchain.versions import Version

TOPIC = "pulumi"
PACKAGE = "github.com/pulumi/pulumi/pkg/v3/cmd/pulumi"
SDK_MODULE = "github.com/pulumi/pulumi/sdk/v3"
VERSION_VARIABLE = f"{SDK_MODULE}/go/common/version.Version"
EXECUTOR = "pulumi-language-python-exec"
_FIX = "check the network and that `go version` is 1.26 or newer, then run: make setup (it resumes)"


def pinned_version(places: Places) -> Version:
    return versions.pinned_cli((places.cli_module / "go.mod").read_text(encoding="utf-8"))


def key(places: Places) -> str:
    """Names a build by its inputs and its platform."""
    inputs = [(places.cli_module / name).read_bytes() for name in ("go.mod", "go.sum")]
    return stamps.digest([*inputs, sys.platform, platform.machine()])


def folder(places: Places) -> Path:
    return places.cache / "pulumi-cli" / key(places)


def binary(places: Places) -> Path:
    return folder(places) / "bin" / "pulumi"


def executor(places: Places) -> Path:
    return folder(places) / "bin" / EXECUTOR


def is_built(places: Places) -> bool:
    return stamps.read_facts(folder(places) / "built.json").get("key") == key(places)


def build(go: Path, places: Places, commands: Commands, progress: Progress) -> None:
    """Build and keep; a second set-up waits for the first and uses its result."""
    with locks.held(folder(places).with_suffix(".lock"), TOPIC, commands, progress):
        if is_built(places):
            return
        fetch_executor(go, places, commands, progress)
        _compile(go, places, commands, progress)
        facts = {"key": key(places), "version": str(pinned_version(places))}
        stamps.write_facts(folder(places) / "built.json", facts)


def fetch_executor(go: Path, places: Places, commands: Commands, progress: Progress) -> None:
    """The SDK's script that runs a program; it ships in the zip of the SDK's Go module."""
    if executor(places).exists():
        return
    module = f"{SDK_MODULE}@v{pinned_version(places)}"
    arguments = [str(go), "mod", "download", "-json", SDK_MODULE]
    with progress.during(TOPIC, f"fetching {module}"):
        answer = commands.run(Command(arguments, f"downloading {module}", _FIX, places.cli_module, _go_environment()))
    source = Path(str(json.loads(answer)["Dir"])) / "python" / "cmd" / EXECUTOR
    stamps.write(executor(places), source.read_text(encoding="utf-8"), mode=0o755)


def _compile(go: Path, places: Places, commands: Commands, progress: Progress) -> None:
    goal = binary(places)
    goal.parent.mkdir(parents=True, exist_ok=True)
    partial = goal.with_name("pulumi.partial")
    partial.unlink(missing_ok=True)
    flags = f"-s -w -X {VERSION_VARIABLE}=v{pinned_version(places)}"
    arguments = [str(go), "build", "-v", "-trimpath", "-buildvcs=false", "-mod=readonly"]
    arguments += ["-ldflags", flags, "-o", str(partial), PACKAGE]
    counter = _Counter()
    title = f"building the CLI {pinned_version(places)} from Go modules (about 4 minutes, once)"
    with progress.during(TOPIC, title, counter.text):
        commands.run(
            Command(arguments, "building the CLI", _FIX, places.cli_module, _go_environment()),
            counter.note,
        )
    partial.replace(goal)


def _go_environment() -> dict[str, str]:
    return {"CGO_ENABLED": "0", "GOWORK": "off"}


class _Counter:
    """Counts what `go build -v` reports."""

    def __init__(self) -> None:
        self._downloaded = 0
        self._compiled = 0

    def note(self, line: str) -> None:
        if line.startswith("go: downloading"):
            self._downloaded += 1
        elif line and not line.startswith(("go:", "#", " ", "\t")):
            self._compiled += 1

    def text(self) -> str:
        parts = [f"{self._downloaded} modules downloaded"] if self._downloaded else []
        return ", ".join([*parts, f"{self._compiled} packages compiled"])


def copy_or_link(source: Path, target: Path) -> None:
    """The same file under a second name; a copy where the two are on different file systems."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        partial.hardlink_to(source)
    except OSError:
        shutil.copy2(source, partial)
    partial.replace(target)
