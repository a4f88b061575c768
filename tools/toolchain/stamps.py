"""Stamps and file writes that an interruption cannot leave half-done."""

import hashlib
import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

Facts = Mapping[str, object]


def digest(parts: Iterable[bytes | str]) -> str:
    """A short name for inputs; the boundaries between parts count."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "big"))
        total.update(data)
    return total.hexdigest()[:16]


def installed_parts(pyproject: str) -> str:
    """The tables of pyproject.toml that an installed environment depends on, as stable text."""
    tables = tomllib.loads(pyproject)
    hatch = tables.get("tool", {}).get("hatch", {})
    chosen = {"project": tables.get("project"), "build": tables.get("build-system"), "hatch": hatch}
    return json.dumps(chosen, sort_keys=True)


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Replace a file in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as stream:
        stream.write(text)
        stream.flush()
        os.fchmod(stream.fileno(), mode)
        os.fsync(stream.fileno())
    temporary.replace(path)


def write_facts(path: Path, facts: Facts) -> None:
    write(path, json.dumps(facts, indent=2, sort_keys=True) + "\n")


def read_facts(path: Path) -> dict[str, object]:
    """What a stamp says; nothing when it is absent or damaged, so that the step runs again."""
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
