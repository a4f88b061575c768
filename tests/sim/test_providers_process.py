"""A plugin as a process: starts fast, prints one line, ends quietly, outlives nobody."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from sim.providers.install import install_plugins
from sim.providers.known_types import types_of
from sim.providers.schema import cache_file, load_schema, sdk_version
from tests.engine.workbench import ROOT

plugins = pytest.mark.parametrize("provider", ["aws", "alicloud"])


def start(launcher: Path) -> subprocess.Popen[str]:
    environment = {**os.environ, "SPILLWAY_PYTHON": sys.executable}
    return subprocess.Popen(
        [str(launcher), "127.0.0.1:1"], env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@plugins
def test_it_prints_its_port_and_ends_quietly(provider: str) -> None:
    load_schema(provider)
    process = start(ROOT / "sim" / "bin" / f"pulumi-resource-{provider}")
    assert process.stdout
    port = int(process.stdout.readline())
    process.send_signal(signal.SIGINT)

    output, errors = process.communicate(timeout=10)

    assert 1024 < port < 65536
    assert (process.returncode, output, errors) == (0, "", "")


def test_start_costs_at_most_half_a_second_of_processor() -> None:
    load_schema("aws")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = start(ROOT / "sim" / "bin" / "pulumi-resource-aws")
    assert process.stdout
    process.stdout.readline()
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=10)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)

    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.5


def test_it_dies_with_the_engine_that_started_it() -> None:
    launcher = ROOT / "sim" / "bin" / "pulumi-resource-aws"
    script = f"import subprocess, time; p = subprocess.Popen(['{launcher}', 'x']); print(p.pid); time.sleep(60)"
    parent = subprocess.Popen(
        [sys.executable, "-uc", script],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "SPILLWAY_PYTHON": sys.executable},
    )
    assert parent.stdout
    lines = {parent.stdout.readline().strip(), parent.stdout.readline().strip()}
    parent.kill()
    parent.wait()
    parent.stdout.close()

    deadline = time.monotonic() + 5
    while alive := [line for line in lines if Path(f"/proc/{line}").exists() and not is_zombie(line)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.02)


def is_zombie(pid: str) -> bool:
    """Dead, and only not yet collected."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def test_install_puts_a_launcher_where_the_engine_looks(tmp_path: Path) -> None:
    written = install_plugins(tmp_path)

    for provider, launcher in zip(("aws", "alicloud"), written, strict=True):
        folder = f"resource-{provider}-v{sdk_version(provider)}"
        assert launcher == tmp_path / "plugins" / folder / f"pulumi-resource-{provider}"
        assert os.access(launcher, os.X_OK)
        assert cache_file(provider, types_of(provider)).is_file()


def test_types_are_read_from_the_sdk_when_the_cache_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    schema = load_schema("aws")

    group = schema.resource("aws:eks/nodeGroup:NodeGroup")
    assert group
    assert set(group.required) == {"clusterName", "nodeRoleArn", "scalingConfig", "subnetIds"}
    assert "resources" in group.outputs
    assert [file.parent for file in tmp_path.rglob("*.json")] == [tmp_path / "spillway" / "twin"]
