"""The build of the CLI against a stand-in for Go: what it asks for, what it keeps, what it resumes."""

import io
import json
import os
from pathlib import Path

import pytest

from tools.toolchain import assembly, go_build, pulumi_cli
from tools.toolchain.commands import Commands
from tools.toolchain.failures import SetupFailed
from tools.toolchain.places import Places
from tools.toolchain.progress import Progress
from tools.toolchain.pulumi_cli import Surroundings

GO = """#!/bin/sh
echo "$@" >> '{calls}'
case "$1" in
  mod) printf '{{"Dir": "%s"}}' '{sdk}' ;;
  build)
    {build}
    while [ "$1" != -o ]; do shift; done
    printf '#!/bin/sh\\necho v3.274.1\\n' > "$2"; chmod +x "$2" ;;
esac
"""


class Site:
    """A checkout, a cache, and a stand-in for Go whose calls are kept."""

    def __init__(self, folder: Path) -> None:
        self.calls_file = folder / "calls"
        self.places = Places(folder / "checkout", folder / "cache")
        self.places.cli_module.mkdir(parents=True)
        requirement = "require (\n\tgithub.com/pulumi/pulumi/pkg/v3 v3.274.1\n)\n"
        (self.places.cli_module / "go.mod").write_text(requirement)
        (self.places.cli_module / "go.sum").write_text("sums\n")
        self.places.lock.write_text("pulumi==3.272.0 \\\n")
        self.sdk = folder / "sdk"
        (self.sdk / "python" / "cmd").mkdir(parents=True)
        (self.sdk / "python" / "cmd" / go_build.EXECUTOR).write_text("#!/usr/bin/env python\n")
        self.go = folder / "bin" / "go"
        self.go.parent.mkdir()
        self.make_go("echo cmd/pulumi")
        environment = {"PATH": f"{self.go.parent}:/usr/bin:/bin", "SPILLWAY_OFFLINE": "1"}
        self.around = Surroundings(self.places, environment)

    def make_go(self, build: str) -> None:
        text = GO.format(calls=self.calls_file, sdk=self.sdk, build=build)
        self.go.write_text(text)
        self.go.chmod(0o755)

    def obtain(self) -> pulumi_cli.Cli:
        out = Progress(io.StringIO(), colour=False)
        return pulumi_cli.obtain(self.around, Commands(os.environ), out)

    def builds(self) -> list[str]:
        lines = self.calls_file.read_text().splitlines() if self.calls_file.exists() else []
        return [line for line in lines if line.startswith("build")]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_the_build_is_pinned_and_carries_its_version(site: Site) -> None:
    cli = site.obtain()

    (call,) = site.builds()
    assert "-mod=readonly" in call
    assert "version.Version=v3.274.1" in call
    assert cli.source is pulumi_cli.Source.BUILT
    assert os.access(go_build.executor(site.places), os.X_OK)


def test_a_second_set_up_builds_nothing(site: Site) -> None:
    site.obtain()
    out = Progress(io.StringIO(), colour=False)

    assert pulumi_cli.existing(site.around, out) is not None
    site.obtain()

    assert len(site.builds()) == 1


def test_a_failed_build_leaves_nothing_that_looks_finished(site: Site) -> None:
    site.make_go("echo '# broken package'; exit 1")
    with pytest.raises(SetupFailed, match="building the CLI failed"):
        site.obtain()
    assert not go_build.binary(site.places).exists()

    site.make_go("echo cmd/pulumi")
    site.obtain()

    assert go_build.is_built(site.places)


def test_the_toolchain_is_put_together_once(site: Site) -> None:
    commands = Commands(os.environ)
    out = Progress(io.StringIO(), colour=False)
    cli = site.obtain()

    first = assembly.assemble(site.around, cli, commands, out)
    written = {path: path.stat().st_mtime_ns for path in site.places.work.rglob("*")}
    second = assembly.assemble(site.around, cli, commands, out)

    assert first == second
    assert written == {path: path.stat().st_mtime_ns for path in site.places.work.rglob("*")}
    record = json.loads(site.places.toolchain_file.read_text())
    assert record["pulumi"] == str(site.places.bin / "pulumi")
    assert record["path_prefix"][0] == str(site.places.bin)
    assert record["language_host"] == "own"
    assert (site.places.bin / "pulumi").samefile(go_build.binary(site.places))
    assert os.access(site.places.bin / "pulumi-language-python", os.X_OK)
