"""The life of a stack of each layer, from nothing to nothing, with the real engine."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field

import pytest

from tests.engine.workbench import Run, Workbench, workbench

CANARY = "canary4711"
KEY = "spillway:alicloud.link.bgp_key"


@dataclass
class Life:
    """What happened at each step, for the tests to look at."""

    runs: dict[str, Run] = field(default_factory=dict)
    stack_file: dict[str, list[str]] = field(default_factory=dict)
    made_by_preview: int = 0
    keys_in_cloud: list[str] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    left_after_refusal: int = 0
    left_at_the_end: int = 0


@pytest.fixture(scope="module")
def life(tmp_path_factory: pytest.TempPathFactory) -> Life:
    """Both layers built and taken down again, in the order that people use."""
    seen = Life()
    with workbench(tmp_path_factory.mktemp("life")) as bench:
        build(bench, seen)
        take_down(bench, seen)
    return seen


def build(bench: Workbench, seen: Life) -> None:
    for stack in ("foundation", "burst-alicloud"):
        bench.pulumi("stack", "init", stack)
    path = bench.stacks / "Pulumi.foundation.yaml"
    seen.runs["preview"] = bench.pulumi("preview", "--stack", "foundation")
    seen.made_by_preview = len(list(bench.control.store))
    seen.stack_file["before"] = path.read_text().splitlines()
    set_secret(bench)
    seen.stack_file["after"] = path.read_text().splitlines()
    seen.runs["up"] = bench.up("foundation")
    seen.runs["burst up"] = bench.up("burst-alicloud")
    groups = bench.control.store.of_kind("alicloud:vpc/bgpGroup:BgpGroup")
    seen.keys_in_cloud = [group.inputs["authKey"] for group in groups]
    seen.files = {str(file): file.read_bytes() for file in (bench.folder / "state").rglob("*") if file.is_file()}


def take_down(bench: Workbench, seen: Life) -> None:
    seen.runs["refused"] = bench.pulumi("destroy", "--stack", "foundation", "--yes")
    seen.left_after_refusal = len(list(bench.control.store))
    seen.runs["burst destroy"] = bench.pulumi("destroy", "--stack", "burst-alicloud", "--yes")
    bench.pulumi("state", "unprotect", "--stack", "foundation", "--all", "--yes")
    seen.runs["destroy"] = bench.pulumi("destroy", "--stack", "foundation", "--yes")
    seen.left_at_the_end = len(list(bench.control.store))


def set_secret(bench: Workbench) -> None:
    """Through standard input: an argument would stand in the list of processes."""
    subprocess.run(
        ["pulumi", "config", "set", "--secret", "--path", KEY, "--stack", "foundation"],
        input=CANARY,
        cwd=bench.folder,
        env=bench.environment(),
        text=True,
        check=True,
        capture_output=True,
    )


@pytest.mark.parametrize("step", ["preview", "up", "burst up", "burst destroy", "destroy"])
def test_every_step_goes_through(life: Life, step: str) -> None:
    assert life.runs[step].code == 0, life.runs[step].output


def test_preview_leaves_computed_values_unknown_and_makes_nothing(life: Life) -> None:
    assert "ackClusterId  : [unknown]" in life.runs["preview"].output
    assert 'eksClusterName: "cloud-gpu-b"' in life.runs["preview"].output
    assert life.made_by_preview == 0


def test_bgp_key_reaches_the_cloud_and_stands_in_no_file(life: Life) -> None:
    assert life.keys_in_cloud == [CANARY]
    assert not any(CANARY in run.output for run in life.runs.values())
    assert [name for name, content in life.files.items() if CANARY.encode() in content] == []


def test_setting_a_secret_keeps_every_other_line_of_the_stack_file(life: Life) -> None:
    before, after = life.stack_file["before"], life.stack_file["after"]
    added = [line for line in after if line not in before]

    assert [line.partition(":")[0].strip() for line in added] == ["bgp_key", "secure"]
    assert [line for line in after if line in before] == before


def test_protected_foundation_is_not_destroyed_by_accident(life: Life) -> None:
    assert life.runs["refused"].code != 0
    assert "protected" in life.runs["refused"].output
    assert life.left_after_refusal > 40


def test_nothing_is_left_at_the_end(life: Life) -> None:
    assert life.left_at_the_end == 0
