"""Puts the toolchain together in .spillway: the CLI, our language host, and what the agent reads.

The engine looks for a language host beside the real path of its own executable and warns about one
that it finds elsewhere. So the built CLI is linked into the checkout, where the host knows its
interpreter.
"""

import os
import select
import shlex
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tools.toolchain import go_build, stamps
from tools.toolchain.commands import Commands
from tools.toolchain.failures import SetupFailed, no_toolchain
from tools.toolchain.places import Places
from tools.toolchain.progress import Progress
from tools.toolchain.pulumi_cli import HOST, Cli, Surroundings

TOPIC = "toolchain"
_ANSWER_SECONDS = 20.0


@dataclass(frozen=True)
class Toolchain:
    """What a run needs to know; the content of .spillway/toolchain.json."""

    pulumi: Path
    path_prefix: tuple[Path, ...]
    python: Path
    version: str
    sdk: str
    source: str
    language_host: str
    pulumi_home: Path
    backend_url: str

    def to_facts(self) -> dict[str, object]:
        return {
            "pulumi": str(self.pulumi),
            "path_prefix": [str(path) for path in self.path_prefix],
            "python": str(self.python),
            "version": self.version,
            "sdk": self.sdk,
            "source": self.source,
            "language_host": self.language_host,
            "pulumi_home": str(self.pulumi_home),
            "backend_url": self.backend_url,
        }

    def shell_lines(self) -> list[str]:
        """Exports for a person who wants to use `pulumi` by hand."""
        prefix = os.pathsep.join(shlex.quote(str(path)) for path in self.path_prefix)
        return [
            f'export PATH={prefix}{os.pathsep}"$PATH"',
            f"export PULUMI_HOME={shlex.quote(str(self.pulumi_home))}",
            f"export PULUMI_BACKEND_URL={shlex.quote(self.backend_url)}",
            "export PULUMI_SKIP_UPDATE_CHECK=true",
        ]


def describe(places: Places, cli: Cli, sdk: str) -> Toolchain:
    """The toolchain for a CLI, with our host where it brought none."""
    pulumi = cli.pulumi if cli.has_host else places.bin / "pulumi"
    return Toolchain(
        pulumi=pulumi,
        path_prefix=(pulumi.parent, places.venv / "bin"),
        python=places.python,
        version=str(cli.version),
        sdk=sdk,
        source=cli.source.value,
        language_host="bundled" if cli.has_host else "own",
        pulumi_home=places.work / "pulumi-home",
        backend_url=f"file://{places.work / 'state'}",
    )


def launcher(places: Places) -> str:
    """The script that the engine starts as the language host."""
    command = [str(places.python), "-I", "-m", "tools.language_host"]
    command += ["--executor", str(places.bin / go_build.EXECUTOR)]
    return f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n'


def assemble(around: Surroundings, cli: Cli, commands: Commands, progress: Progress) -> Toolchain:
    """Write what is not there yet; the same again changes nothing."""
    places = around.places
    chain = describe(places, cli, str(around.sdk))
    if not cli.has_host:
        _install_host(around, cli, commands, progress)
    for folder in (chain.pulumi_home, places.work / "state"):
        folder.mkdir(parents=True, exist_ok=True)
    if stamps.read_facts(places.toolchain_file) != chain.to_facts():
        stamps.write_facts(places.toolchain_file, chain.to_facts())
    return chain


def _install_host(around: Surroundings, cli: Cli, commands: Commands, progress: Progress) -> None:
    places = around.places
    if not go_build.executor(places).exists():
        go = around.which("go")
        if go is None:
            raise no_toolchain(str(around.sdk), offline=around.offline)
        go_build.fetch_executor(go, places, commands, progress)
    if not _is_same(cli.pulumi, places.bin / "pulumi"):
        go_build.copy_or_link(cli.pulumi.resolve(), places.bin / "pulumi")
    executor = places.bin / go_build.EXECUTOR
    if not _is_same(go_build.executor(places), executor):
        shutil.copy2(go_build.executor(places), executor)
    host = places.bin / HOST
    if not host.exists() or host.read_text(encoding="utf-8") != launcher(places):
        stamps.write(host, launcher(places), mode=0o755)


def _is_same(source: Path, target: Path) -> bool:
    if not target.exists():
        return False
    ours, theirs = target.stat(), source.stat()
    return (ours.st_size, int(ours.st_mtime)) == (theirs.st_size, int(theirs.st_mtime))


def _first_line(child: subprocess.Popen[bytes]) -> bytes:
    if child.stdout is None:
        return b""
    ready, _, _ = select.select([child.stdout], [], [], _ANSWER_SECONDS)
    return child.stdout.readline() if ready else b""


def prove_host(places: Places) -> float:
    """Start our language host as the engine does; the seconds that it took to answer."""
    began = time.monotonic()
    child = subprocess.Popen(
        [str(places.bin / HOST), "127.0.0.1:1"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        first = _first_line(child)
        took = time.monotonic() - began
    finally:
        child.send_signal(signal.SIGTERM)
        _, errors = child.communicate(timeout=_ANSWER_SECONDS)
    if not first.strip().isdigit():
        raise SetupFailed(
            "the Python language host does not answer",
            why=errors.decode(errors="replace").strip() or f"it printed {first!r}, not a port",
            fix="remove .venv and run: make setup",
        )
    return took
