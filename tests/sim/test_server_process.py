"""The twin as a process: start, port file, quiet end, death with its parent."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from sim.client import TwinAddress, TwinClient, TwinUnreachable, read_address
from sim.world.workload import HEADER

ROOT = Path(__file__).parents[2]
CATALOG = """
home_currency: CNY
pools:
  - pool: idc-a100
    site: idc
    cluster: idc-gpu
    provider: onprem
    region: idc
    zones: [hall-1]
    instance_types: [dgx-a100]
    gpu_model: A100
    gpus_per_node: 8
    gpu_memory_gib: 80
    quota_nodes: 1
    price_per_node_hour: 36.00 CNY
    price_date: 2026-11-01
    price_source: test
    billing: owned
    boot: {fastest: 0s, slowest: 0s, deadline: 0s}
    hosts: [training]
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with a catalogue and a workload."""
    (tmp_path / "catalog.yaml").write_text(CATALOG, encoding="utf-8")
    jobs = f"{','.join(HEADER)}\njob-1,0,600,8,research,true,80\n"
    (tmp_path / "jobs.csv").write_text(jobs, encoding="utf-8")
    return tmp_path


def command(site: Path, *more: str) -> list[str]:
    """The command line of a twin on this site."""
    arguments = ["--site", str(site), "--workload", str(site / "jobs.csv"), "--port-file", str(site / "port.json")]
    start = ["--start", "2026-11-30T08:00:00+08:00"]
    return [sys.executable, "-m", "sim.server", *arguments, *start, *more]


@contextmanager
def running(site: Path, *more: str) -> Iterator[tuple[subprocess.Popen[str], TwinAddress]]:
    """A twin process and its address."""
    process = subprocess.Popen(
        command(site, *more), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process, wait_for(site / "port.json")
        finally:
            process.kill()


def wait_for(port_file: Path) -> TwinAddress:
    """Wait until the twin answers."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        address = read_address(port_file)
        if address is not None:
            return address
        time.sleep(0.02)
    raise AssertionError("the twin did not come up")


def is_alive(pid: int) -> bool:
    """Whether a process runs (a zombie does not)."""
    try:
        return ") Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_twin_answers_and_ends_quietly(site: Path, end: signal.Signals) -> None:
    with running(site, "--speed", "60") as (process, address):
        with TwinClient(address.url) as client:
            assert client.clock().speed == 60.0
            assert client.status()["jobs"]["running"] == 1
        assert address.pid == process.pid
        assert set(address.tokens) == {"idc-gpu"}
        process.send_signal(end)
        assert process.wait(10) in (0, -end)
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.read() + process.stderr.read() == ""


def test_port_file_is_private_and_whole(site: Path) -> None:
    with running(site):
        path = site / "port.json"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert set(json.loads(path.read_text(encoding="utf-8"))) == {"url", "port", "pid", "token", "tokens"}
        assert sorted(child.name for child in site.iterdir()) == ["catalog.yaml", "jobs.csv", "port.json"]


def test_shutdown_over_http_ends_the_process(site: Path) -> None:
    with running(site) as (process, address):
        with TwinClient(address.url) as client:
            client.shutdown()
        assert process.wait(10) == 0
        with pytest.raises(TwinUnreachable):
            TwinClient(address.url).clock()


def test_twin_dies_with_its_parent(site: Path) -> None:
    child = command(site, "--die-with-parent")
    script = f"import subprocess, time; subprocess.Popen({child!r}, cwd={str(ROOT)!r}); time.sleep(60)"
    with subprocess.Popen([sys.executable, "-c", script]) as parent:
        pid = wait_for(site / "port.json").pid
        parent.kill()
    deadline = time.monotonic() + 10
    while is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not is_alive(pid)


@pytest.mark.parametrize(
    ("name", "text", "word"),
    [
        ("catalog.yaml", "pools: [", "catalog.yaml"),
        ("jobs.csv", "job\n", "header"),
        ("faults.yaml", "faults: [{kind: earthquake}]", "not one of"),
    ],
)
def test_bad_input_ends_with_2_and_names_the_file(site: Path, name: str, text: str, word: str) -> None:
    (site / name).write_text(text, encoding="utf-8")
    more = ["--faults", str(site / name)] if name == "faults.yaml" else []
    done = subprocess.run(command(site, *more), cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert not (site / "port.json").exists()


def test_start_without_a_time_zone_is_a_wrong_call(site: Path) -> None:
    wrong = [part.removesuffix("+08:00") for part in command(site)]
    done = subprocess.run(wrong, cwd=ROOT, capture_output=True, text=True, timeout=20, check=False)
    assert done.returncode == 2
    assert "time zone" in done.stderr


def test_environment_is_not_needed(site: Path) -> None:
    done = subprocess.run(
        [*command(site)[:3], "--help"], cwd=ROOT, env={"PATH": os.defpath}, capture_output=True, check=False
    )
    assert done.returncode == 0
