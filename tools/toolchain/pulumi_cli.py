"""Which Pulumi CLI to use: one on PATH, one from the official installer, or one built here."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from tools.toolchain import go_build, installer, versions
from tools.toolchain.commands import Commands
from tools.toolchain.failures import SetupFailed, no_toolchain
from tools.toolchain.places import Places
from tools.toolchain.progress import Progress
from tools.toolchain.versions import Version

TOPIC = "pulumi"
HOST = "pulumi-language-python"
_ASK_SECONDS = 20


class Source(StrEnum):
    """Where a CLI came from."""

    PATH = "path"
    INSTALLER = "installer"
    BUILT = "built"


@dataclass(frozen=True)
class Cli:
    """A CLI that works, and whether it brought a Python language host along."""

    pulumi: Path
    version: Version
    source: Source
    has_host: bool


@dataclass(frozen=True)
class Surroundings:
    """What the choice depends on outside the checkout."""

    places: Places
    environment: Mapping[str, str]

    @property
    def offline(self) -> bool:
        return self.environment.get("SPILLWAY_OFFLINE", "") not in ("", "0")

    @property
    def search_path(self) -> str:
        """PATH without our own folder, which a caller may have put in front."""
        folders = self.environment.get("PATH", os.defpath).split(os.pathsep)
        return os.pathsep.join(part for part in folders if Path(part) != self.places.bin)

    def which(self, name: str) -> Path | None:
        found = shutil.which(name, path=self.search_path)
        return Path(found) if found else None

    @property
    def sdk(self) -> Version:
        return versions.pinned_sdk(self.places.lock.read_text(encoding="utf-8"))


def existing(around: Surroundings, progress: Progress) -> Cli | None:
    """The CLI that needs no work: on PATH, or in the cache from an earlier set-up."""
    return on_path(around, progress) or _from_installer(around) or _from_build(around)


def obtain(around: Surroundings, commands: Commands, progress: Progress) -> Cli:
    """Bring a CLI: the installer when its site answers, else a build."""
    if not around.offline:
        pin = go_build.pinned_version(around.places)
        if installer.fetch(around.places.cache, pin, commands, progress):
            cli = _from_installer(around)
            if cli:
                return cli
    go = around.which("go")
    if go is None:
        raise no_toolchain(str(around.sdk), offline=around.offline)
    go_build.build(go, around.places, commands, progress)
    cli = _from_build(around)
    if cli is None:
        raise SetupFailed(
            "the Pulumi CLI was built but does not run",
            why=f"{go_build.binary(around.places)} did not print a version",
            fix="remove that folder and run: make setup",
        )
    return cli


def on_path(around: Surroundings, progress: Progress) -> Cli | None:
    """The CLI on PATH if it fits the SDK; says why when it does not."""
    found = around.which("pulumi")
    if found is None:
        return None
    version = ask_version(found)
    reason = versions.objection(version, around.sdk) if version else "it did not print its version"
    if version is None or reason:
        progress.say(TOPIC, f"{found} is not used: {reason}")
        return None
    beside = found.resolve().parent / HOST
    return Cli(found, version, Source.PATH, beside.exists() or around.which(HOST) is not None)


def _from_installer(around: Surroundings) -> Cli | None:
    pulumi = installer.binary(around.places.cache, go_build.pinned_version(around.places))
    version = ask_version(pulumi) if pulumi.exists() else None
    if version is None or versions.objection(version, around.sdk):
        return None
    return Cli(pulumi, version, Source.INSTALLER, pulumi.with_name(HOST).exists())


def _from_build(around: Surroundings) -> Cli | None:
    if not go_build.is_built(around.places):
        return None
    pulumi = go_build.binary(around.places)
    version = ask_version(pulumi)
    return Cli(pulumi, version, Source.BUILT, has_host=False) if version else None


def ask_version(pulumi: Path) -> Version | None:
    """What a CLI says about itself; nothing when it does not run."""
    try:
        answer = subprocess.run(
            [str(pulumi), "version"],
            env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_ASK_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return versions.parse(answer.stdout)
