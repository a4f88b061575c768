"""The virtual environment: the pins of requirements.lock and this project, editable.

uv does it in seconds when it is on PATH; pip always works.
"""

import platform
import shutil
import sys
from pathlib import Path

from tools.toolchain import locks, stamps
from tools.toolchain.commands import Command, Commands
from tools.toolchain.failures import SetupFailed
from tools.toolchain.places import Places
from tools.toolchain.progress import Progress

TOPIC = "python"
_FIX = "check the network and the package index that pip uses, then run: make setup"
_FIX_VENV = "install the venv module (on Debian: apt install python3-venv), then run: make setup"


def stamp(places: Places) -> Path:
    return places.venv / "spillway-setup.json"


def wanted(places: Places) -> dict[str, object]:
    """What the environment is made from; a difference means that it must be made again."""
    lock = places.lock.read_bytes()
    project = stamps.installed_parts(places.project.read_text(encoding="utf-8"))
    return {
        "inputs": stamps.digest([lock, project]),
        "python": platform.python_version(),
        "root": str(places.root),
    }


def is_ready(places: Places) -> bool:
    return places.python.exists() and stamps.read_facts(stamp(places)) == wanted(places)


def ensure(places: Places, commands: Commands, progress: Progress) -> None:
    """Make the environment, or go on where an interruption left it."""
    with locks.held(places.work / "setup.lock", TOPIC, commands, progress):
        if is_ready(places):
            progress.say(TOPIC, "environment is up to date")
            return
        goal = wanted(places)
        _ensure_interpreter(places, goal, commands, progress)
        stamp(places).unlink(missing_ok=True)
        _install(places, commands, progress)
        stamps.write_facts(stamp(places), goal)


def _ensure_interpreter(places: Places, goal: dict[str, object], commands: Commands, progress: Progress) -> None:
    before = stamps.read_facts(stamp(places))
    same_place = all(before.get(key, goal[key]) == goal[key] for key in ("python", "root"))
    if same_place and _has_pip(places, commands):
        return
    with progress.during(TOPIC, f"creating {places.venv.name}"):
        arguments = [sys.executable, "-m", "venv", "--clear", str(places.venv)]
        commands.run(Command(arguments, "creating the virtual environment", _FIX_VENV))


def _has_pip(places: Places, commands: Commands) -> bool:
    if not places.python.exists():
        return False
    try:
        report = commands.run(Command([str(places.python), "-m", "pip", "--version"], "asking pip", _FIX))
    except SetupFailed:
        return False
    return f"(python {sys.version_info.major}.{sys.version_info.minor})" in report


def _install(places: Places, commands: Commands, progress: Progress) -> None:
    uv = shutil.which("uv")
    if uv:
        install = [uv, "pip", "install", "--quiet", "--python", str(places.python)]
        label = "installing requirements.lock with uv"
    else:
        # Compiling 5,000 unused modules of the provider SDKs would double the time.
        pip = [str(places.python), "-m", "pip", "install", "--quiet", "--no-input"]
        install = [*pip, "--no-compile", "--disable-pip-version-check"]
        label = "installing requirements.lock with pip"
    locked = [*install, "--require-hashes", "-r", str(places.lock)]
    project = [*install, "--no-deps", "--no-build-isolation", "-e", str(places.root)]
    with progress.during(TOPIC, label):
        commands.run(Command(locked, "installing the pinned packages", _FIX, places.root))
        commands.run(Command(project, "installing the project itself", _FIX, places.root))
