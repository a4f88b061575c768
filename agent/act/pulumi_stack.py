"""Pulumi through the Automation API: the only module that imports it. Satisfies ports.StackDriver.

Every call names its stack and nothing is ever "selected" (I14); outputs are read masked; the
candidate config is previewed from a temporary file beside the real one and never put in place here
before the guard has accepted it.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from subprocess import SubprocessError
from typing import Any

from pulumi import automation
from pulumi.automation import (
    CommandResult,
    EngineEvent,
    LocalWorkspace,
    OutputMap,
    PulumiCommand,
    Stack,
)
from pulumi.automation.events import StepEventMetadata

from agent.act.pulumi_command import CommandFailed, OnLine, SessionRunner
from agent.act.pulumi_errors import translate
from agent.act.pulumi_locks import is_owner_dead, locks_of
from agent.act.stack_files import read_stack_file, replace_stack_file
from agent.core.guard import QUIET, Preview, PreviewStep
from agent.core.readings import PoolBinding
from agent.errors import (
    ApplyFailed,
    PendingOperations,
    PreviewRefused,
    PulumiUnusable,
    SpillwayError,
    StackLocked,
    StackUnreadable,
    redact,
)
from contract.pool_resources import POOL_RESOURCES, PoolResource, at_path
from contract.units import Nodes

_FILE = "file://"


def ignore(_line: str) -> None:
    """Nobody listens."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PulumiSettings:
    """Where the project and its state are. `environment` is the whole environment of the CLI."""

    project_dir: Path
    project: str
    stacks_dir: Path
    binary: Path
    home: Path
    backend_url: str
    environment: Mapping[str, str] = field(repr=False)
    limit_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """Bindings read before, and the mark of the state that they were read from."""

    mark: str
    bindings: Mapping[str, PoolBinding]


class _SessionCommand(PulumiCommand):
    """The SDK's command on our runner, which alone decides about environment, limits and processes."""

    def __init__(self, runner: SessionRunner) -> None:
        """Check the CLI's version; raises the SDK's InvalidVersionError."""
        super().__init__(root=str(runner.binary.parent.parent))
        self._runner = runner

    def run(
        self,
        args: list[str],
        cwd: str,
        additional_env: Mapping[str, str],
        on_output: OnLine | None = None,
        on_error: OnLine | None = None,
    ) -> CommandResult:
        """Run to the end. Raises CommandFailed, PulumiTimeout."""
        environment = {**self._runner.environment, **additional_env, "PULUMI_AUTOMATION_API": "true"}
        runner = replace(self._runner, environment=environment)
        done = runner.run(["--non-interactive", *args], Path(cwd), on_output, on_error)
        return CommandResult(stdout=done.stdout, stderr=done.stderr, code=done.code)


class _NamedWorkspace(LocalWorkspace):
    """A workspace without a current stack: each command carries --stack."""

    def select_stack(self, stack_name: str) -> None:
        """Nothing to do: selecting would change what a person's CLI works on."""

    def stack_outputs(self, stack_name: str) -> OutputMap:
        """None: the state's resources are read instead, and secrets stay where they are."""
        return {}


class PulumiStacks:
    """A StackDriver on a local project and the real engine."""

    def __init__(self, settings: PulumiSettings, on_progress: OnLine = ignore) -> None:
        """Find the CLI and check its version. `on_progress` gets a line for each step of an apply.

        Raises PulumiUnusable.
        """
        self._settings = settings
        self._on_progress = on_progress
        environment = {
            **settings.environment,
            "PULUMI_HOME": str(settings.home),
            "PULUMI_BACKEND_URL": settings.backend_url,
            "PULUMI_SKIP_UPDATE_CHECK": "true",
        }
        self._runner = SessionRunner(
            binary=settings.binary, environment=environment, limit_seconds=settings.limit_seconds
        )
        try:
            command = _SessionCommand(self._runner)
        except (automation.InvalidVersionError, OSError, ValueError, SubprocessError) as error:
            hint = "run 'make setup', or put a newer pulumi first on PATH"
            raise PulumiUnusable(str(error), target=str(settings.binary), hint=hint) from error
        self._known: dict[str, _Known] = {}
        self._workspace = _NamedWorkspace(work_dir=str(settings.project_dir), pulumi_command=command)

    def read_file(self, stack: str) -> str:
        return read_stack_file(self._file(stack), stack)

    def replace_file(self, stack: str, expected: str, candidate: str) -> None:
        replace_stack_file(self._file(stack), stack, expected, candidate)

    def bindings(self, stack: str) -> Mapping[str, PoolBinding]:
        mark = self._state_mark(stack)
        known = self._known.get(stack)
        if known and mark and known.mark == mark:
            return known.bindings
        with _translated(stack, StackUnreadable):
            bindings = bindings_of(self._deployment(stack), stack)
        self._known[stack] = _Known(mark=mark, bindings=bindings)
        return bindings

    def preview(self, stack: str, candidate: str) -> Preview:
        events: list[EngineEvent] = []
        with self._candidate_file(stack, candidate) as path, _translated(stack, PreviewRefused):
            try:
                self._stack(stack).preview(config_file=str(path), on_event=events.append, color="never", diff=True)
            except RuntimeError as error:
                hint = "read the lines above; run 'pulumi preview' by hand"
                raise PreviewRefused(redact(str(error)), target=f"stack {stack}", hint=hint) from error
        return _preview(stack, events)

    def apply(self, stack: str, message: str) -> Mapping[str, PoolBinding]:
        events: list[EngineEvent] = []

        def on_event(event: EngineEvent) -> None:
            events.append(event)
            if line := _progress(stack, event):
                self._on_progress(line)

        with _translated(stack, ApplyFailed, events):
            self._stack(stack).up(message=message, on_event=on_event, color="never", show_secrets=False)
        return self.bindings(stack)

    def recover(self, stack: str) -> tuple[str, ...]:
        done = list(self._release_dead_locks(stack))
        with _translated(stack, StackUnreadable):
            creating, others = _pending(self._deployment(stack))
            if creating:
                hint = f"see whether they exist in the cloud, then 'pulumi refresh --stack {stack}' and answer for each"
                what = f"an interrupted update left creations in the open: {', '.join(creating)}"
                raise PendingOperations(what, target=f"stack {stack}", hint=hint)
            if others:
                # The state holds the past of these; the cloud alone knows whether it took the new size.
                self._stack(stack).refresh(color="never", show_secrets=False)
                done.append(f"asked the cloud about {', '.join(others)}, cut short in an update")
        return tuple(done)

    def _state_mark(self, stack: str) -> str:
        """Changes whenever the stack's state does, by whomever; empty where that cannot be told cheaply."""
        if not self._settings.backend_url.startswith(_FILE):
            return ""
        folder = Path(self._settings.backend_url.removeprefix(_FILE)) / ".pulumi" / "stacks"
        try:
            found = (folder / self._settings.project / f"{stack}.json").stat()
        except OSError:
            return ""
        return f"{found.st_mtime_ns} {found.st_size} {found.st_ino}"

    def _release_dead_locks(self, stack: str) -> Iterator[str]:
        backend = self._settings.backend_url
        if not backend.startswith(_FILE):
            return
        for lock in locks_of(Path(backend.removeprefix(_FILE)), self._settings.project, stack):
            if not is_owner_dead(lock):
                hint = "wait for it to end; a lock is only released when its owner is proven dead"
                raise StackLocked(f"locked by {lock.owner()}", target=f"stack {stack}", hint=hint)
            lock.path.unlink(missing_ok=True)
            yield f"released the lock of {stack}: {lock.owner()} is dead"

    def _stack(self, stack: str) -> Stack:
        return Stack.select(stack, self._workspace)

    def _deployment(self, stack: str) -> Mapping[str, Any]:
        """The stack's state, secrets encrypted as they are stored."""
        args = ["--non-interactive", "stack", "export", "--stack", stack]
        exported: Mapping[str, Any] = json.loads(self._runner.run(args, self._settings.project_dir).stdout)
        return exported.get("deployment") or {}

    def _file(self, stack: str) -> Path:
        return self._settings.stacks_dir / f"Pulumi.{stack}.yaml"

    @contextmanager
    def _candidate_file(self, stack: str, candidate: str) -> Iterator[Path]:
        with tempfile.TemporaryDirectory(prefix="spillway-candidate-") as folder:
            path = Path(folder) / f"Pulumi.{stack}.yaml"
            path.write_text(candidate, encoding="utf-8", newline="")
            yield path


@contextmanager
def _translated(stack: str, fallback: type[SpillwayError], events: Sequence[EngineEvent] = ()) -> Iterator[None]:
    """CommandFailed as our error; the engine's own diagnostics, where there are any, say more than its text."""
    try:
        yield
    except CommandFailed as error:
        translated = translate(error.finished, stack, fallback, _diagnostics(events))
        if isinstance(translated, ApplyFailed):
            translated.failed = _failed_names(events)
        raise translated from error


def _diagnostics(events: Sequence[EngineEvent]) -> tuple[str, ...]:
    found = (event.diagnostic_event for event in events if event.diagnostic_event)
    return tuple(diagnostic.message.strip() for diagnostic in found if diagnostic.severity == "error")


def _failed_names(events: Sequence[EngineEvent]) -> tuple[str, ...]:
    """Logical names of the resources whose step failed."""
    failed = (event.res_op_failed_event for event in events if event.res_op_failed_event)
    return tuple(dict.fromkeys(event.metadata.urn.rpartition("::")[2] for event in failed))


def _progress(stack: str, event: EngineEvent) -> str | None:
    """A line for a step that begins or fails; steps that change nothing are passed over."""
    if event.resource_pre_event:
        metadata, words = event.resource_pre_event.metadata, "begins"
    elif event.res_op_failed_event:
        metadata, words = event.res_op_failed_event.metadata, "failed"
    else:
        return None
    op = _op(metadata.op)
    name = metadata.urn.rpartition("::")[2]
    return None if op in QUIET else f"{stack}: {op} of {name} {words}"


def _preview(stack: str, events: list[EngineEvent]) -> Preview:
    steps, counts, diagnostics = [], {}, []
    is_complete = False
    for event in events:
        if event.resource_pre_event:
            metadata = event.resource_pre_event.metadata
            paths = tuple(metadata.detailed_diff or {}) or tuple(metadata.diffs or ())
            step = PreviewStep(
                op=_op(metadata.op), urn=metadata.urn, type=metadata.type, paths=paths, sizes=_sizes(metadata)
            )
            steps.append(step)
        elif event.summary_event:
            is_complete = True
            counts = {_op(op): count for op, count in event.summary_event.resource_changes.items()}
        elif event.diagnostic_event and event.diagnostic_event.severity in ("warning", "error"):
            diagnostics.append(redact(event.diagnostic_event.message.strip()))
    return Preview(
        stack=stack,
        steps=tuple(steps),
        counts=tuple(sorted(counts.items())),
        diagnostics=tuple(diagnostics),
        is_complete=is_complete,
    )


def _sizes(metadata: StepEventMetadata) -> tuple[int, int] | None:
    """A pool's size in the state and in the new inputs; None for anything else."""
    pool = POOL_RESOURCES.get(metadata.type)
    if pool is None or metadata.old is None or metadata.new is None:
        return None
    old, new = at_path(metadata.old.outputs, pool.size), at_path(metadata.new.inputs, pool.size)
    return (int(str(old)), int(str(new))) if str(old).isdigit() and str(new).isdigit() else None


def _op(op: object) -> str:
    """The SDK gives known operations as an enum and others as text."""
    return str(op.value) if isinstance(op, Enum) else str(op)


def bindings_of(deployment: Mapping[str, Any], stack: str) -> dict[str, PoolBinding]:
    """The pools among a state's resources. Raises StackUnreadable for one that lacks what a pool must have."""
    found = {}
    for resource in deployment.get("resources") or ():
        pool = POOL_RESOURCES.get(str(resource.get("type")))
        if pool and not resource.get("delete"):
            name = str(resource["urn"]).rpartition("::")[2]
            found[name] = _binding(name, pool, resource.get("outputs") or {}, stack)
    return found


def _binding(name: str, pool: PoolResource, outputs: Mapping[str, Any], stack: str) -> PoolBinding:
    size, node_pool, group = (at_path(outputs, path) for path in (pool.size, pool.node_pool_id, pool.scaling_group))
    if not str(size).isdigit() or not node_pool:
        what = f"its state has no size or no id for pool {name}"
        hint = "bring the stack up by hand until 'pulumi preview' shows no change"
        raise StackUnreadable(what, target=f"stack {stack}", hint=hint)
    return PoolBinding(
        pool=name, node_pool_id=str(node_pool), scaling_group=str(group or ""), applied=Nodes(int(str(size)))
    )


def _pending(deployment: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the resources whose creation, and whose other operations, were begun and not seen to end."""
    creating: list[str] = []
    others: list[str] = []
    for operation in deployment.get("pending_operations") or ():
        name = str(operation["resource"]["urn"]).rpartition("::")[2]
        (creating if operation.get("type") == "creating" else others).append(name)
    return tuple(creating), tuple(others)
