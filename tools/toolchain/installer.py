"""The official installer of Pulumi, where its site can be reached; silent where it cannot."""

import shutil
import urllib.error
import urllib.request
from pathlib import Path

from tools.toolchain import locks
from tools.toolchain.commands import Command, Commands
from tools.toolchain.failures import SetupFailed
from tools.toolchain.progress import Progress
from tools.toolchain.versions import Version

SCRIPT_URL = "https://get.pulumi.com"
TOPIC = "pulumi"
CONNECT_SECONDS = 5.0
_FIX = "set-up tries the next way by itself"


def folder(cache: Path, version: Version) -> Path:
    return cache / "pulumi-official" / str(version)


def binary(cache: Path, version: Version) -> Path:
    return folder(cache, version) / "bin" / "pulumi"


def fetch(cache: Path, version: Version, commands: Commands, progress: Progress, url: str = SCRIPT_URL) -> bool:
    """Install that version into the cache; False when the site or the script fails."""
    script = _download(url)
    if script is None:
        progress.say(TOPIC, "the official installer cannot be reached; trying the next way")
        return False
    goal = folder(cache, version)
    with locks.held(goal.with_name(f"{goal.name}.lock"), TOPIC, commands, progress):
        if binary(cache, version).exists():
            return True
        staging = goal.with_name(f"{goal.name}.partial")
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        path = staging / "install.sh"
        path.write_bytes(script)
        options = ["--version", str(version), "--install-root", str(staging), "--no-edit-path"]
        try:
            with progress.during(TOPIC, f"official installer, {version}"):
                commands.run(Command(["sh", str(path), *options], "the official installer", _FIX))
        except SetupFailed as failure:
            progress.say(TOPIC, f"{failure.what} ({failure.why.splitlines()[0]}); trying the next way")
            shutil.rmtree(staging, ignore_errors=True)
            return False
        staging.replace(goal)
    return binary(cache, version).exists()


def _download(url: str) -> bytes | None:
    try:
        with urllib.request.urlopen(url, timeout=CONNECT_SECONDS) as answer:  # noqa: S310
            body: bytes = answer.read()
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return None
    return body if body.startswith(b"#!") else None
