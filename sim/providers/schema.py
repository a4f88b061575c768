"""What a resource type takes and gives, as extracted from the SDK; cached outside the checkout.

The cache's name holds the SDK's version and a hash of the extractor and of the types asked for, so
that it never serves another SDK's types.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any

from sim.providers import known_types

# "string", "integer", "number", "boolean", "any", {"array": T}, {"map": T} or {"ref": name}.
Shape = Any


class ExtractionFailed(Exception):
    """The SDK could not be read."""


@dataclass(frozen=True, slots=True)
class ObjectType:
    """Inputs of a resource or of a nested object."""

    inputs: Mapping[str, Shape]
    required: tuple[str, ...]
    outputs: tuple[str, ...] = ()


class Schema:
    """All known types of one provider."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._content = content

    def resource(self, token: str) -> ObjectType | None:
        """A resource type; None when the twin does not act it out."""
        found = self._content["resources"].get(token)
        return _object(found) if found else None

    def nested(self, name: str) -> ObjectType:
        """A nested object's type."""
        return _object(self._content["types"][name])

    @cached_property
    def provider(self) -> ObjectType:
        """The provider's own configuration."""
        return _object(self._content["provider"])

    @property
    def tokens(self) -> tuple[str, ...]:
        """The resource types that the twin acts out."""
        return tuple(self._content["resources"])


def sdk_version(provider: str) -> str:
    """The version of the installed SDK, which the plugin reports as its own."""
    return metadata.version(f"pulumi-{provider}")


def load_schema(provider: str) -> Schema:
    """The provider's schema, from the cache or, the first time, from the SDK."""
    tokens = known_types.types_of(provider)
    path = cache_file(provider, tokens)
    if not path.is_file():
        _extract(provider, path, tokens)
    return Schema(json.loads(path.read_text(encoding="utf-8")))


def cache_file(provider: str, tokens: tuple[str, ...]) -> Path:
    """Where the extracted types of this SDK are kept."""
    extractor = Path(__file__).with_name("extract.py").read_bytes()
    digest = hashlib.sha256(extractor + "\n".join(tokens).encode()).hexdigest()[:12]
    given = os.environ.get("XDG_CACHE_HOME") or ""
    home = Path(given) if given.startswith("/") else Path.home() / ".cache"
    return home / "spillway" / "twin" / f"{provider}-{sdk_version(provider)}-{digest}.json"


def _extract(provider: str, path: Path, tokens: tuple[str, ...]) -> None:
    command = [sys.executable, "-I", "-m", "sim.providers.extract", provider, str(path), *tokens]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ExtractionFailed(f"cannot read the types of pulumi-{provider}: {done.stderr.strip()[-2000:]}")


def _object(found: Mapping[str, Any]) -> ObjectType:
    return ObjectType(found["inputs"], tuple(found["required"]), tuple(found.get("outputs", ())))
