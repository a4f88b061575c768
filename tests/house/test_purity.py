"""The core takes no clock, environment, chance, log or I/O; only the doors read the environment."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CORE = sorted((ROOT / "agent" / "core").rglob("*.py"))
IMPURE = {
    "os",
    "sys",
    "time",
    "random",
    "logging",
    "pathlib",
    "subprocess",
    "socket",
    "threading",
    "asyncio",
    "secrets",
}
OWN = {"agent", "contract"}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
    return names


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.stem)
def test_the_core_imports_nothing_that_is_not_pure(path: Path) -> None:
    tops = {name.partition(".")[0] for name in imported(path)}
    assert not tops & IMPURE
    inner = {name for name in imported(path) if name.partition(".")[0] == "agent"}
    assert all(name.startswith("agent.core") for name in inner)


@pytest.mark.parametrize("path", CORE, ids=lambda path: path.stem)
def test_the_core_never_asks_for_the_time(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not any(call in text for call in (".now(", ".today(", "utcnow", "open("))
