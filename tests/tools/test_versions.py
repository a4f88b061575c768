"""Versions of CLI and SDK: reading them, and which pairs fit."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.toolchain import versions
from tools.toolchain.versions import Version

ROOT = Path(__file__).resolve().parents[2]
SDK = Version(3, 272, 0)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("v3.274.1", Version(3, 274, 1)),
        ("3.274.1-dev.0+abc", Version(3, 274, 1)),
        ("v3.274.1\n", Version(3, 274, 1)),
        ("", None),
        ("unknown", None),
        ("v3.274", None),
    ],
)
def test_a_version_is_read_from_what_a_cli_prints(text: str, version: Version | None) -> None:
    assert versions.parse(text) == version


@given(st.tuples(*[st.integers(0, 9999)] * 3))
def test_a_version_survives_being_printed(parts: tuple[int, int, int]) -> None:
    assert versions.parse(str(Version(*parts))) == Version(*parts)


@pytest.mark.parametrize("cli", [Version(3, 272, 0), Version(3, 274, 1), Version(3, 1000, 0)])
def test_an_engine_at_least_as_new_as_the_sdk_fits(cli: Version) -> None:
    assert versions.objection(cli, SDK) == ""


def test_the_patch_of_the_sdk_does_not_matter() -> None:
    assert versions.objection(Version(3, 272, 0), Version(3, 272, 5)) == ""


@pytest.mark.parametrize(
    ("cli", "words"), [(Version(3, 271, 9), "older than the SDK, 3.272.0"), (Version(4, 0, 0), "major")]
)
def test_a_cli_that_does_not_fit_is_told_why(cli: Version, words: str) -> None:
    assert words in versions.objection(cli, SDK)


def test_the_pins_of_this_repository_fit_each_other() -> None:
    sdk = versions.pinned_sdk((ROOT / "requirements.lock").read_text())
    cli = versions.pinned_cli((ROOT / "tools" / "pulumi-cli" / "go.mod").read_text())

    assert versions.objection(cli, sdk) == ""


def test_a_lock_without_pulumi_is_refused() -> None:
    with pytest.raises(ValueError, match="pins no pulumi"):
        versions.pinned_sdk("pulumi-aws==7.51.1\n")
