"""Which CLI is chosen, and what is said when there is none."""

import io
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.toolchain import assembly, go_build, places, pulumi_cli, stamps
from tools.toolchain.commands import Commands
from tools.toolchain.failures import SetupFailed
from tools.toolchain.places import Places
from tools.toolchain.progress import Progress
from tools.toolchain.pulumi_cli import Source, Surroundings
from tools.toolchain.versions import Version

Spoken = tuple[Progress, Callable[[], str]]


@pytest.fixture
def spoken() -> Spoken:
    stream = io.StringIO()
    return Progress(stream, colour=False), stream.getvalue


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    """A checkout with pins, an empty PATH, and no way out to the installer."""
    module = tmp_path / "checkout" / "tools" / "pulumi-cli"
    module.mkdir(parents=True)
    (module / "go.mod").write_text("require (\n\tgithub.com/pulumi/pulumi/pkg/v3 v3.274.1\n)\n")
    (module / "go.sum").write_text("sums\n")
    (tmp_path / "checkout" / "requirements.lock").write_text("pulumi==3.272.0 \\\n")
    (tmp_path / "bin").mkdir()
    spot = Places(tmp_path / "checkout", tmp_path / "cache")
    return Surroundings(spot, {"PATH": str(tmp_path / "bin"), "SPILLWAY_OFFLINE": "1"})


def put(path: Path, version: str) -> Path:
    """A stand-in for the CLI that prints a version."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho {version}\n")
    path.chmod(0o755)
    return path


def keep_build(around: Surroundings) -> Path:
    """What a finished build leaves in the cache."""
    facts = {"key": go_build.key(around.places), "version": "3.274.1"}
    stamps.write_facts(go_build.folder(around.places) / "built.json", facts)
    return put(go_build.binary(around.places), "v3.274.1")


def test_a_fitting_cli_on_path_is_used(around: Surroundings, tmp_path: Path, spoken: Spoken) -> None:
    pulumi = put(tmp_path / "bin" / "pulumi", "v3.280.0")
    keep_build(around)

    found = pulumi_cli.existing(around, spoken[0])

    assert found == pulumi_cli.Cli(pulumi, Version(3, 280, 0), Source.PATH, has_host=False)


def test_the_language_host_beside_a_linked_cli_is_seen(around: Surroundings, tmp_path: Path, spoken: Spoken) -> None:
    pulumi = put(tmp_path / "official" / "pulumi", "v3.280.0")
    put(tmp_path / "official" / "pulumi-language-python", "")
    (tmp_path / "bin" / "pulumi").symlink_to(pulumi)

    found = pulumi_cli.existing(around, spoken[0])

    assert found is not None
    assert found.has_host
    assert assembly.describe(around.places, found, "3.272.0").language_host == "bundled"


@pytest.mark.parametrize(
    ("prints", "reason"),
    [("v3.100.0", "older than the SDK, 3.272.0"), ("not a version", "did not print its version")],
)
def test_a_cli_that_does_not_fit_is_passed_over_and_named(
    around: Surroundings, tmp_path: Path, spoken: Spoken, prints: str, reason: str
) -> None:
    pulumi = put(tmp_path / "bin" / "pulumi", prints)
    built = keep_build(around)
    out, said = spoken

    found = pulumi_cli.existing(around, out)

    assert found is not None
    assert (found.source, found.pulumi) == (Source.BUILT, built)
    assert f"{pulumi} is not used: " in said()
    assert reason in said()


def test_our_own_folder_on_path_is_not_an_installed_pulumi(around: Surroundings, spoken: Spoken) -> None:
    put(around.places.bin / "pulumi", "v3.280.0")
    inside = Surroundings(around.places, {**around.environment, "PATH": str(around.places.bin)})

    assert pulumi_cli.existing(inside, spoken[0]) is None


def test_a_build_without_its_stamp_does_not_count(around: Surroundings, spoken: Spoken) -> None:
    keep_build(around)
    (go_build.folder(around.places) / "built.json").unlink()

    assert pulumi_cli.existing(around, spoken[0]) is None


def test_a_changed_pin_asks_for_another_build(around: Surroundings, spoken: Spoken) -> None:
    keep_build(around)
    (around.places.cli_module / "go.sum").write_text("other sums\n")

    assert pulumi_cli.existing(around, spoken[0]) is None


def test_without_go_and_pulumi_both_ways_are_named(around: Surroundings, spoken: Spoken) -> None:
    with pytest.raises(SetupFailed) as caught:
        pulumi_cli.obtain(around, Commands(os.environ), spoken[0])

    message = caught.value.render()
    assert "1. install Pulumi 3.272.0 or newer" in message
    assert "2. install Go 1.26 or newer" in message
    assert "make setup" in message


def test_the_cache_folder_follows_the_environment(tmp_path: Path) -> None:
    home = Path("~").expanduser()
    assert places.find(tmp_path, {}).cache == home / ".cache" / "spillway"
    assert places.find(tmp_path, {"XDG_CACHE_HOME": "/x"}).cache == Path("/x/spillway")
    both = {"XDG_CACHE_HOME": "/x", "SPILLWAY_CACHE": "/y"}
    assert places.find(tmp_path, both).cache == Path("/y")
