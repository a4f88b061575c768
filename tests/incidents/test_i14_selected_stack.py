"""I14 (pulumi/pulumi#8186): every command names its stack; what a person has selected is neither used nor changed."""

from __future__ import annotations

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent.act.pulumi_stack import PulumiSettings, PulumiStacks
from agent.errors import SpillwayError
from tests.incidents.engine_bench import POOL, STACKS, Driven

engine = pytest.mark.engine
CALLS = ("bindings", "preview", "apply", "recover")
# Notes each call with its arguments and home, then answers what the driver can go on with.
_STUB = f"""#!{sys.executable} -IS
import json, os, sys
arguments = sys.argv[1:]
if arguments == ["version"]:
    print("v3.274.1")
    sys.exit()
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps([arguments, os.environ.get("PULUMI_HOME"), os.getcwd()]) + "\\n")
if "export" in arguments:
    pending = [{{"type": "updating", "resource": {{"urn": "urn::a"}}}}]
    print(json.dumps({{"deployment": {{"resources": [], "pending_operations": pending}}}}))
elif "history" in arguments:
    at = "2026-11-30T08:00:00.000Z"
    update = {{"kind": "update", "result": "succeeded", "message": "", "environment": {{}}, "config": {{}}}}
    print(json.dumps([update | {{"version": 1, "startTime": at, "endTime": at}}]))
"""
Call = tuple[list[str], str, str]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[PulumiStacks, Path]:
    """A driver on a CLI that only notes how it is called, and the notes."""
    folder = tmp_path_factory.mktemp("recorded")
    binary = folder / "bin" / "pulumi"
    binary.parent.mkdir()
    binary.write_text(_STUB)
    binary.chmod(0o755)
    (folder / "Pulumi.yaml").write_text("name: spillway\nruntime: python\n")
    calls = folder / "calls"
    stacks = PulumiStacks(
        PulumiSettings(
            project_dir=folder,
            project="spillway",
            stacks_dir=folder,
            binary=binary,
            home=folder / "own-home",
            backend_url=f"file://{folder}",
            environment={"CALLS": str(calls)},
            limit_seconds=20.0,
        )
    )
    return stacks, calls


def call(stacks: PulumiStacks, name: str, stack: str) -> None:
    """One call of the driver; what the stub's poor answers lead to does not matter here."""
    with suppress(SpillwayError):
        if name == "preview":
            stacks.preview(stack, "config: {}\n")
        elif name == "apply":
            stacks.apply(stack, "message")
        else:
            getattr(stacks, name)(stack)


def made(calls: Path) -> list[Call]:
    """The commands noted so far; the notes begin anew."""
    lines = calls.read_text().splitlines() if calls.exists() else []
    calls.unlink(missing_ok=True)
    return [(arguments, home, folder) for arguments, home, folder in map(json.loads, lines)]


def stack_named(arguments: list[str]) -> str:
    """The one stack that a command names."""
    assert arguments.count("--stack") == 1, arguments
    return arguments[arguments.index("--stack") + 1]


@pytest.mark.parametrize("name", CALLS)
def test_every_command_of_every_call_names_its_stack_and_none_selects(
    recorded: tuple[PulumiStacks, Path], name: str
) -> None:
    stacks, calls = recorded
    call(stacks, name, "burst-aws")
    commands = made(calls)
    assert commands
    for arguments, home, folder in commands:
        assert stack_named(arguments) == "burst-aws"
        assert "select" not in arguments
        assert "init" not in arguments
        assert Path(home).name == "own-home"
        assert Path(folder) == calls.parent


stack_names = st.sampled_from(["burst-aws", "burst-alicloud", "foundation"])


@settings(deadline=None, max_examples=8, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(CALLS), stack_names), min_size=2, max_size=5))
def test_whatever_runs_beside_it_a_call_reaches_its_own_stack(
    recorded: tuple[PulumiStacks, Path], asked: list[tuple[str, str]]
) -> None:
    """One driver, all calls at once: as many commands for each stack as when its calls run alone."""
    stacks, calls = recorded
    made(calls)
    alone: dict[str, int] = {}
    for name, stack in asked:
        call(stacks, name, stack)
        for arguments, _, _ in made(calls):
            assert stack_named(arguments) == stack
            alone[stack] = alone.get(stack, 0) + 1
    with ThreadPoolExecutor(len(asked)) as pool:
        list(pool.map(lambda item: call(stacks, *item), asked))
    together: dict[str, int] = {}
    for arguments, _, _ in made(calls):
        assert "select" not in arguments
        together[stack_named(arguments)] = together.get(stack_named(arguments), 0) + 1
    assert together == alone


@engine
def test_two_workers_beside_a_person_touch_their_own_stack_each(driven: Driven) -> None:
    bench = driven.bench
    assert bench.pulumi("stack", "select", "foundation").code == 0
    foundation = bench.folder / "state" / ".pulumi" / "stacks" / "spillway" / "foundation.json"
    before = foundation.read_bytes()
    selected = {path: path.read_bytes() for path in (bench.folder / "home" / "workspaces").glob("*.json")}
    assert selected
    begun = threading.Barrier(3)

    def work(stack: str, size: int) -> None:
        stacks = driven.driver()
        text, candidate = driven.candidate(stack, size)
        begun.wait(20)
        preview = stacks.preview(stack, candidate)
        assert [step.name for step in preview.steps if step.op == "update"] == [POOL[stack]]
        stacks.replace_file(stack, text, candidate)
        assert stacks.apply(stack, "at the same moment")[POOL[stack]].applied == size

    sizes = dict(zip(STACKS, (2, 3), strict=True))
    seen = set()
    with ThreadPoolExecutor(2) as pool:
        workers = [pool.submit(work, stack, size) for stack, size in sizes.items()]
        begun.wait(20)
        while not all(worker.done() for worker in workers):
            seen.add(bench.pulumi("stack", "--show-name").output.strip())
        for worker in workers:
            worker.result()

    assert seen == {"foundation"}
    assert {stack: driven.desired(stack) for stack in STACKS} == sizes
    assert {stack: driven.applied(stack) for stack in STACKS} == sizes
    assert foundation.read_bytes() == before
    assert {path: path.read_bytes() for path in selected} == selected
