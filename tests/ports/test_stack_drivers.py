"""One suite over StackDriver: the real engine on the twin, and the fake that tests of the tick use."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from agent.act.pulumi_stack import PulumiSettings, PulumiStacks
from agent.core.config_change import ConfigChange
from agent.core.decision import PoolChange
from agent.core.guard import Accepted, Refused, guard
from agent.errors import (
    ApplyFailed,
    ConfigConflict,
    ExitCode,
    PendingOperations,
    PreviewRefused,
    PulumiTimeout,
    PulumiUnusable,
    StackLocked,
    StackMissing,
    StackUnreadable,
)
from agent.ports import StackDriver
from contract.units import Nodes
from sim.world.faults import Fault, FaultKind, Moment, Target
from tests.fakes.stacks import FakeStacks, stack_text
from tests.incidents.engine_bench import POOL, Driven, processes_of, wait_until

engine = pytest.mark.engine


class Rig(Protocol):
    """A stack with one interesting pool, and what can be seen of it from outside."""

    stack: str
    pool: str

    @property
    def driver(self) -> StackDriver:
        """The driver under test."""

    def candidate(self, size: int) -> tuple[str, str]:
        """The file as it is, and with another size."""

    def outside(self) -> object:
        """All that a preview must leave alone: file, state, cloud, locks."""


@dataclass
class FakeRig:
    """The fake."""

    stack: str = "burst-aws"
    pool: str = "eks-a100-od"
    driver: FakeStacks = field(default_factory=lambda: FakeStacks({"burst-aws": stack_text(eks_a100_od=0)}))

    def candidate(self, size: int) -> tuple[str, str]:
        return self.driver.files[self.stack], stack_text(eks_a100_od=size)

    def outside(self) -> object:
        return dict(self.driver.files), {stack: dict(sizes) for stack, sizes in self.driver.applied.items()}


@dataclass
class EngineRig:
    """The agent's driver, the real CLI, the program and the twin's plugins."""

    driven: Driven
    stack: str
    driver: StackDriver = field(init=False)

    def __post_init__(self) -> None:
        self.pool = POOL[self.stack]
        self.driver = self.driven.driver()

    def candidate(self, size: int) -> tuple[str, str]:
        return self.driven.candidate(self.stack, size)

    def outside(self) -> object:
        folder = self.driven.bench.folder
        state = folder / "state" / ".pulumi" / "stacks" / "spillway" / f"{self.stack}.json"
        files = {path.name: path.read_bytes() for path in self.driven.bench.stacks.rglob("*") if path.is_file()}
        return files, state.read_bytes(), self.driven.desired(self.stack), self.driven.locks(self.stack)


@pytest.fixture(params=["fake", pytest.param("burst-aws", marks=engine), pytest.param("burst-alicloud", marks=engine)])
def rig(request: pytest.FixtureRequest) -> Rig:
    """Any implementation."""
    if request.param == "fake":
        return FakeRig()
    return EngineRig(request.getfixturevalue("driven"), request.param)


def a_change(rig: Rig, before: int, after: int) -> ConfigChange:
    sizes = PoolChange(pool=rig.pool, stack=rig.stack, before=Nodes(before), after=Nodes(after))
    return ConfigChange(stack=rig.stack, changes=(sizes,))


# ---- every implementation ----


def test_a_preview_is_one_update_that_the_guard_accepts_and_touches_nothing(rig: Rig) -> None:
    before = rig.outside()
    text, candidate = rig.candidate(3)
    preview = rig.driver.preview(rig.stack, candidate)
    assert isinstance(guard(a_change(rig, 0, 3), preview), Accepted)
    assert isinstance(guard(a_change(rig, 0, 4), preview), Refused), "another size was decided"
    assert isinstance(guard(a_change(rig, 2, 3), preview), Refused), "the state holds another size"
    assert [(step.op, step.name) for step in preview.steps if step.op not in ("same", "read")] == [("update", rig.pool)]
    assert preview.is_complete
    assert rig.outside() == before
    assert rig.driver.read_file(rig.stack) == text


# The other cloud goes up and down through the same driver in tests/incidents/test_i14_selected_stack.py.
@pytest.mark.parametrize("rig", ["fake", pytest.param("burst-aws", marks=engine)], indirect=True)
def test_a_size_goes_up_and_down_again_and_the_bindings_follow(rig: Rig) -> None:
    first = rig.driver.bindings(rig.stack)[rig.pool]
    assert (first.pool, first.applied) == (rig.pool, 0)
    assert first.node_pool_id
    assert first.scaling_group
    for size in (3, 0):
        text, candidate = rig.candidate(size)
        rig.driver.replace_file(rig.stack, text, candidate)
        assert rig.driver.bindings(rig.stack)[rig.pool].applied != size, "a file alone applies nothing"
        told = rig.driver.apply(rig.stack, f"to {size}")
        assert told[rig.pool].applied == rig.driver.bindings(rig.stack)[rig.pool].applied == size
        assert rig.driver.read_file(rig.stack) == candidate
        assert told[rig.pool].scaling_group == first.scaling_group


def test_a_preview_of_no_change_is_refused_by_the_guard() -> None:
    rig = FakeRig()
    assert isinstance(guard(a_change(rig, 0, 3), rig.driver.preview(rig.stack, rig.candidate(0)[1])), Refused)


def test_a_file_that_changed_since_is_not_replaced(rig: Rig) -> None:
    before = rig.outside()
    text, candidate = rig.candidate(3)
    with pytest.raises(ConfigConflict) as caught:
        rig.driver.replace_file(rig.stack, text + "# by a person\n", candidate)
    assert caught.value.exit_code is ExitCode.STALE_INPUTS
    assert rig.outside() == before


def test_a_stack_without_a_file_is_missing(rig: Rig) -> None:
    for question in (rig.driver.read_file, rig.driver.bindings):
        with pytest.raises(StackMissing) as caught:
            question("burst-ghost")
        assert caught.value.exit_code is ExitCode.NO_STACK


def test_there_is_nothing_to_recover_on_a_sound_stack(rig: Rig) -> None:
    assert rig.driver.recover(rig.stack) == ()


# ---- the engine alone ----


@engine
def test_a_change_beside_the_size_is_refused_by_the_guard(driven: Driven) -> None:
    """I22: a label change on its way, and only the size was decided."""
    rig = EngineRig(driven, "burst-aws")
    _, candidate = rig.candidate(3)
    preview = rig.driver.preview("burst-aws", candidate.replace("department: platform", "department: research"))
    verdict = guard(a_change(rig, 0, 3), preview)
    assert isinstance(verdict, Refused)
    assert any("would also change" in why or "unexpected update" in why for why in verdict.why)


@engine
@pytest.mark.parametrize("call", ["preview", "apply"])
def test_a_wrong_passphrase_is_two_and_shows_nothing_secret(driven: Driven, call: str) -> None:
    rig = EngineRig(driven, "burst-aws")
    before = rig.outside()
    driver = driven.driver(PULUMI_CONFIG_PASSPHRASE="canary-4711")
    with pytest.raises(StackUnreadable) as caught:
        driver.preview("burst-aws", rig.candidate(3)[1]) if call == "preview" else driver.apply("burst-aws", "m")
    assert caught.value.exit_code is ExitCode.BAD_CALL
    assert "passphrase" in caught.value.hint
    assert "canary-4711" not in f"{caught.value} {caught.value.hint}"
    assert rig.outside() == before


@engine
def test_a_stack_that_was_never_made_is_missing_though_its_file_is_there(driven: Driven) -> None:
    ghost = driven.bench.stacks / "Pulumi.burst-ghost.yaml"
    text, candidate = driven.candidate("burst-aws", 3)
    ghost.write_text(text, encoding="utf-8")
    driver = driven.driver()
    try:
        for question in (
            lambda: driver.bindings("burst-ghost"),
            lambda: driver.preview("burst-ghost", candidate),
            lambda: driver.apply("burst-ghost", "m"),
        ):
            with pytest.raises(StackMissing) as caught:
                question()
            assert caught.value.exit_code is ExitCode.NO_STACK
            assert "pulumi stack init burst-ghost" in caught.value.hint
        assert ghost.read_text(encoding="utf-8") == text
    finally:
        ghost.unlink()


@engine
@pytest.mark.parametrize("cut", ["key", "salt"])
def test_a_truncated_candidate_is_refused_and_touches_nothing(driven: Driven, cut: str) -> None:
    rig = EngineRig(driven, "burst-aws")
    before = rig.outside()
    _, candidate = rig.candidate(3)
    marks = {"key": "spillway:desired", "salt": "encryptionsalt"}
    cut_off = candidate[: candidate.index(marks[cut]) + len(marks[cut]) - 4]
    with pytest.raises((StackUnreadable, PreviewRefused)) as caught:
        rig.driver.preview("burst-aws", cut_off)
    assert caught.value.exit_code in (ExitCode.BAD_CALL, ExitCode.UNEXPECTED_CHANGES)
    assert caught.value.hint
    assert "Traceback" not in str(caught.value)
    assert rig.outside() == before


@contextmanager
def damaged_state(driven: Driven) -> Iterator[Path]:
    """The state file of burst-aws, to be spoilt; whole again afterwards."""
    state = driven.bench.folder / "state" / ".pulumi" / "stacks" / "spillway" / "burst-aws.json"
    whole = state.read_bytes()
    try:
        yield state
    finally:
        state.write_bytes(whole)


@engine
def test_a_damaged_state_is_unreadable(driven: Driven) -> None:
    with damaged_state(driven) as state:
        state.write_bytes(state.read_bytes()[:2000])
        with pytest.raises(StackUnreadable) as caught:
            driven.driver().bindings("burst-aws")
    assert caught.value.exit_code is ExitCode.BAD_CALL


def write_lock(driven: Driven, *, pid: int, host: str | None = None) -> Path:
    """A lock as the engine writes one."""
    folder = driven.bench.folder / "state" / ".pulumi" / "locks" / "organization" / "spillway" / "burst-aws"
    folder.mkdir(parents=True, exist_ok=True)
    lock = folder / "0f0e0d0c-0000-4000-8000-000000000000.json"
    owner = {"pid": pid, "username": "somebody", "hostname": host or socket.gethostname()}
    lock.write_text(json.dumps({**owner, "timestamp": datetime.now(UTC).isoformat()}))
    return lock


@engine
def test_a_stack_that_somebody_alive_holds_is_locked_and_stays_so(driven: Driven) -> None:
    rig = EngineRig(driven, "burst-aws")
    lock = write_lock(driven, pid=os.getpid())
    held = lock.read_bytes()
    text, _ = rig.candidate(3)
    for call in (lambda: rig.driver.recover("burst-aws"), lambda: rig.driver.apply("burst-aws", "m")):
        with pytest.raises(StackLocked) as caught:
            call()
        assert caught.value.exit_code is ExitCode.LOCK_HELD
    assert lock.read_bytes() == held
    assert rig.driver.read_file("burst-aws") == text
    assert driven.desired("burst-aws") == 0


@engine
def test_creations_whose_end_nobody_knows_stop_everything(driven: Driven) -> None:
    """I10: going on could make a second pool."""
    with damaged_state(driven) as state:
        document = json.loads(state.read_bytes())
        latest = document["checkpoint"]["latest"]
        pool = next(item for item in latest["resources"] if item["urn"].endswith("::eks-l4-spot") and item["custom"])
        latest["pending_operations"] = [{"type": "creating", "resource": pool}]
        state.write_text(json.dumps(document))
        with pytest.raises(PendingOperations, match="eks-l4-spot") as caught:
            driven.driver().recover("burst-aws")
    assert caught.value.exit_code is ExitCode.UNEXPECTED_CHANGES
    assert "pulumi refresh" in caught.value.hint


@engine
def test_at_its_limit_a_command_is_ended_with_all_its_processes(driven: Driven) -> None:
    rig = EngineRig(driven, "burst-aws")
    before = rig.outside()
    with pytest.raises(PulumiTimeout) as caught:
        driven.driver(limit_s=0.4).preview("burst-aws", rig.candidate(3)[1])
    assert caught.value.exit_code is ExitCode.TIMEOUT
    assert "SPILLWAY_PULUMI_LIMIT" in caught.value.hint
    wait_until(lambda: not processes_of(driven.bench.folder), seconds=2.0)
    assert rig.outside() == before


@engine
def test_a_growth_that_the_cloud_refuses_says_its_code_and_which_pool(driven: Driven) -> None:
    stack, code = "burst-aws", "InsufficientInstanceCapacity"
    rig = EngineRig(driven, stack)
    faults = driven.bench.twin.world.ground.faults
    fault = Fault(name="sold out", kind=FaultKind.STOCK_OUT, target=Target(pool=rig.pool), moment=Moment.ORDER)
    faults.arm([fault])
    text, candidate = rig.candidate(3)
    rig.driver.replace_file(stack, text, candidate)
    with pytest.raises(ApplyFailed, match=code) as caught:
        rig.driver.apply(stack, "too many")
    faults.faults.remove(fault)
    assert caught.value.exit_code is ExitCode.RESOURCE
    assert caught.value.failed == (rig.pool,)
    assert rig.driver.bindings(stack)[rig.pool].applied == 0
    assert driven.locks(stack) == []


# ---- no engine at all ----


def settings(binary: Path, folder: Path, environment: Mapping[str, str]) -> PulumiSettings:
    return PulumiSettings(
        project_dir=folder,
        project="spillway",
        stacks_dir=folder,
        binary=binary,
        home=folder,
        backend_url=f"file://{folder}",
        environment=environment,
        limit_seconds=10.0,
    )


@pytest.mark.parametrize("script", [None, "echo v2.0.0", "echo no version", "exit 3"])
def test_a_cli_that_is_absent_old_or_broken_is_said_at_start(tmp_path: Path, script: str | None) -> None:
    binary = tmp_path / "bin" / "pulumi"
    if script:
        binary.parent.mkdir()
        binary.write_text(f"#!/bin/sh\n{script}\n")
        binary.chmod(0o755)
    with pytest.raises(PulumiUnusable) as caught:
        PulumiStacks(settings(binary, tmp_path, {"PATH": os.environ["PATH"]}))
    assert caught.value.exit_code is ExitCode.BAD_CALL
    assert "make setup" in caught.value.hint
