"""Puts the twin's plugins into a Pulumi home, where the engine finds them without a warning.

The home must be the twin's own: a run against a real cloud uses another one and never meets them.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sim.providers.known_types import PACKAGES
from sim.providers.schema import load_schema, sdk_version


def install_plugins(pulumi_home: Path, python: str = sys.executable) -> tuple[Path, ...]:
    """Write a launcher of each plugin under `pulumi_home`, and read the SDKs' types ahead."""
    written = []
    for provider in PACKAGES:
        load_schema(provider)
        folder = pulumi_home / "plugins" / f"resource-{provider}-v{sdk_version(provider)}"
        folder.mkdir(parents=True, exist_ok=True)
        launcher = folder / f"pulumi-resource-{provider}"
        launcher.write_text(f'#!/bin/sh\nexec "{python}" -I -m sim.providers {provider} "$@"\n', encoding="utf-8")
        launcher.chmod(0o755)
        written.append(launcher)
    return tuple(written)
