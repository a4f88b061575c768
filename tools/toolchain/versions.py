"""Versions of the CLI and of the SDK, and whether the two fit."""

import re
from typing import NamedTuple

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")
_PINNED_SDK = re.compile(r"^pulumi==(\S+)", re.MULTILINE)
_CLI_REQUIREMENT = re.compile(r"^\s*github\.com/pulumi/pulumi/pkg/v3 (v\S+)", re.MULTILINE)


class Version(NamedTuple):
    """Major, minor and patch; what follows them does not matter here."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.patch}"


def parse(text: str) -> Version | None:
    """The first version in a text such as `v3.274.1` or `3.274.1-dev.0`."""
    found = _VERSION.search(text)
    return Version(*(int(part) for part in found.groups())) if found else None


def pinned_sdk(lock: str) -> Version:
    """The SDK that requirements.lock installs."""
    found = _PINNED_SDK.search(lock)
    version = parse(found.group(1)) if found else None
    if version is None:
        raise ValueError("requirements.lock pins no pulumi")
    return version


def pinned_cli(go_mod: str) -> Version:
    """The CLI that tools/pulumi-cli/go.mod builds."""
    found = _CLI_REQUIREMENT.search(go_mod)
    version = parse(found.group(1)) if found else None
    if version is None:
        raise ValueError("tools/pulumi-cli/go.mod requires no github.com/pulumi/pulumi/pkg/v3")
    return version


def objection(cli: Version, sdk: Version) -> str:
    """Why this CLI cannot serve this SDK; empty when it can.

    The SDK talks to the engine in the CLI: the same major, and an engine at least as new.
    """
    if cli.major != sdk.major:
        return f"it is of major version {cli.major}, the SDK {sdk} of {sdk.major}"
    if (cli.minor, cli.patch) < (sdk.minor, 0):
        return f"it is older than the SDK, {sdk}"
    return ""
