"""A small Pulumi: stack files and state in memory, previews by comparing them, failures as fields."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from agent.core.config_change import desired_sizes
from agent.core.guard import Preview, PreviewStep
from agent.core.readings import PoolBinding
from agent.errors import ApplyFailed, ConfigConflict, SpillwayError, StackMissing
from contract.units import Nodes
from contract.yaml_document import parse_document

_ACK = "alicloud:cs/nodePool:NodePool"


def stack_text(**sizes: int) -> str:
    """A burst stack's file with these sizes; `_` in a name stands for `-`."""
    lines = [f"    {pool.replace('_', '-')}: {size}  # nodes" for pool, size in sizes.items()]
    return "\n".join(["config:", "  spillway:layer: burst", "  spillway:desired:", *lines, ""])


@dataclass
class FakeStacks:
    """Satisfies ports.StackDriver. `log` holds the calls that change something, in order."""

    files: dict[str, str]
    applied: dict[str, dict[str, int]] = field(default_factory=dict)
    surprises: tuple[PreviewStep, ...] = ()
    preview_error: SpillwayError | None = None
    apply_error: SpillwayError | None = None
    applies_before_error: bool = False
    sold_out: frozenset[str] = frozenset()
    recover_error: SpillwayError | None = None
    recovered: tuple[str, ...] = ()
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for stack, text in self.files.items():
            self.applied.setdefault(stack, sizes_of(text))

    def read_file(self, stack: str) -> str:
        if stack not in self.files:
            raise StackMissing("its file does not exist", target=stack, hint="create it")
        return self.files[stack]

    def bindings(self, stack: str) -> Mapping[str, PoolBinding]:
        self.read_file(stack)
        return {
            pool: PoolBinding(pool=pool, node_pool_id=f"np-{pool}", scaling_group=f"asg-{pool}", applied=Nodes(size))
            for pool, size in self.applied[stack].items()
        }

    def preview(self, stack: str, candidate: str) -> Preview:
        if self.preview_error:
            raise self.preview_error
        wanted = sizes_of(candidate)
        changed = [pool for pool, size in wanted.items() if self.applied[stack].get(pool) != size]
        steps = [
            PreviewStep(
                op="update",
                urn=f"urn::{pool}",
                type=_ACK,
                paths=("desiredSize",),
                sizes=(self.applied[stack].get(pool, 0), wanted[pool]),
            )
            for pool in changed
        ]
        counts = {"update": len(changed)}
        for step in self.surprises:
            counts[step.op] = counts.get(step.op, 0) + 1
        return Preview(stack=stack, steps=(*steps, *self.surprises), counts=tuple(counts.items()))

    def replace_file(self, stack: str, expected: str, candidate: str) -> None:
        if self.files[stack] != expected:
            raise ConfigConflict("its file changed", target=stack, hint="decide again")
        self.files[stack] = candidate
        self.log.append(f"file {stack}")

    def apply(self, stack: str, message: str) -> Mapping[str, PoolBinding]:
        wanted = sizes_of(self.files[stack])
        failed = tuple(pool for pool in wanted if pool in self.sold_out and wanted[pool] > self.applied[stack][pool])
        if failed:
            done = {pool: size for pool, size in wanted.items() if pool not in failed}
            self.applied[stack] = {**self.applied[stack], **done}
            raise ApplyFailed("OperationDenied.NoStock", target=stack, hint="see the cloud", failed=failed)
        if self.apply_error is None or self.applies_before_error:
            self.applied[stack] = sizes_of(self.files[stack])
        self.log.append(f"up {stack}")
        if self.apply_error:
            raise self.apply_error
        return self.bindings(stack)

    def recover(self, stack: str) -> tuple[str, ...]:
        if self.recover_error:
            raise self.recover_error
        return self.recovered


def refused(what: str = "OperationDenied.NoStock") -> ApplyFailed:
    """What an apply raises when the cloud says no."""
    return ApplyFailed(what, target="stack", hint="see the cloud")


def sizes_of(text: str) -> dict[str, int]:
    return {pool: int(size) for pool, size in desired_sizes(*parse_document(text, "f")).items()}
