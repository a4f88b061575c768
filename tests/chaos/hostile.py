"""Doors to a world that fail as real ones do: before, after, half-way, and by killing the agent.

One random source a run, so that a seed gives the same night again. Nothing here knows the agent's rules.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from agent.core.ended_work import SeenWork
from agent.core.guard import Preview, PreviewStep
from agent.core.readings import PoolBinding, PoolReading
from agent.core.snapshot import PoolState, Snapshot, Unknown
from agent.errors import (
    ApplyFailed,
    CloudUnavailable,
    ConfigConflict,
    PulumiTimeout,
    SignalUnavailable,
    StackLocked,
)
from contract.units import Gpus, Nodes, Percent
from sim.world.group_spec import Group
from sim.world.nodes import Node, NodeEdit
from sim.world.refusals import CloudRefusal
from sim.world.world import World
from spillway.demo.rehearsal import group_spec, world_snapshot
from tests.fakes.stacks import sizes_of, stack_text

# The blind canary sees enough at first to rent nodes.
_BLIND_FROM_S = 4500.0
_ACK = "alicloud:cs/nodePool:NodePool"


class Killed(BaseException):
    """The agent process ends here, at once: nothing that follows runs, no except clause helps."""


@dataclass
class Night:
    """A world, its groups, and how hostile it is: the chance that any one call fails."""

    world: World
    random: Random
    hostility: float
    groups: dict[str, Group] = field(default_factory=dict)
    stack_of: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for row in self.world.ground.catalog.cloud_pools():
            self.groups[row.pool] = self.world.groups.create(group_spec(row))
            self.stack_of[row.pool] = f"burst-{row.provider}"

    def strikes(self) -> bool:
        """Whether the next call fails."""
        return self.random.random() < self.hostility

    def doubts(self) -> bool:
        """Whether the next reading fails: more seldom, since an agent that sees nothing does nothing."""
        return self.random.random() < self.hostility / 8


@dataclass
class HostileStacks:
    """A StackDriver on the world. State and cloud may part: then updates stay pending until a refresh."""

    night: Night
    files: dict[str, str] = field(default_factory=dict)
    state: dict[str, dict[str, int]] = field(default_factory=dict)
    pending: set[str] = field(default_factory=set)
    is_locked: bool = False

    def __post_init__(self) -> None:
        for pool, stack in self.night.stack_of.items():
            self.state.setdefault(stack, {})[pool] = 0
        for stack, pools in self.state.items():
            self.files[stack] = stack_text(**{pool.replace("-", "_"): 0 for pool in pools})

    def read_file(self, stack: str) -> str:
        return self.files[stack]

    def bindings(self, stack: str) -> Mapping[str, PoolBinding]:
        if self.night.strikes():
            raise PulumiTimeout("the state's store is away", target=stack, hint="wait")
        return {
            pool: PoolBinding(pool=pool, node_pool_id=pool, scaling_group=pool, applied=Nodes(size))
            for pool, size in self.state[stack].items()
        }

    def preview(self, stack: str, candidate: str) -> Preview:
        wanted, held = sizes_of(candidate), self.state[stack]
        steps = tuple(
            PreviewStep(
                op="update", urn=f"urn::{pool}", type=_ACK, paths=("desiredSize",), sizes=(held[pool], wanted[pool])
            )
            for pool in wanted
            if wanted[pool] != held[pool]
        )
        return Preview(stack=stack, steps=steps, counts=(("update", len(steps)),))

    def replace_file(self, stack: str, expected: str, candidate: str) -> None:
        if self.files[stack] != expected:
            raise ConfigConflict("its file changed", target=stack, hint="decide again")
        self._maybe_kill()
        self.files[stack] = candidate
        self._maybe_kill()

    def apply(self, stack: str, message: str) -> Mapping[str, PoolBinding]:
        if self.night.random.random() < self.night.hostility / 4:
            self.is_locked = True
            raise StackLocked("locked", target=stack, hint="wait")
        failed: list[str] = []
        for pool, size in sizes_of(self.files[stack]).items():
            if size != self.state[stack][pool]:
                failed += self._update(stack, pool, size)
        if failed:
            raise ApplyFailed("NoStock", target=stack, hint="wait", failed=tuple(failed))
        return self.bindings(stack)

    def recover(self, stack: str) -> tuple[str, ...]:
        if self.is_locked and self.night.strikes():
            raise StackLocked("locked by somebody alive", target=stack, hint="wait")
        self.is_locked = False
        for pool in self.pending & self.state[stack].keys():
            self.state[stack][pool] = int(self.night.groups[pool].desired)
            self.pending.discard(pool)
        return ()

    def _update(self, stack: str, pool: str, size: int) -> list[str]:
        """One resource's update, which may be lost before the cloud, in it, or on the way back."""
        self.pending.add(pool)
        self._maybe_kill()
        if self.night.strikes():
            raise PulumiTimeout("ended before the cloud was asked", target=stack, hint="wait")
        try:
            self.night.world.groups.set_desired(self.night.groups[pool].group_id, size)
        except CloudRefusal:
            self.pending.discard(pool)
            return [pool]
        self._maybe_kill()
        if self.night.strikes():
            raise PulumiTimeout("ended before the answer came", target=stack, hint="wait")
        self.state[stack][pool] = size
        self.pending.discard(pool)
        return []

    def _maybe_kill(self) -> None:
        if self.night.random.random() < self.night.hostility / 4:
            raise Killed


@dataclass
class HostileSensor:
    """A Sensor on the world; what the stacks say is theirs, and readings fail now and then."""

    night: Night
    stacks: HostileStacks
    is_blind: bool = False

    def forget(self) -> None:
        """Nothing is kept."""

    def work(self) -> SeenWork:
        return SeenWork()

    def snapshot(self) -> Snapshot:
        seen = world_snapshot(self.night.world, self.night.groups)
        if self.is_blind and self.night.world.now_s > _BLIND_FROM_S:
            seen = replace(seen, local_use=Percent(0.0))
        if self.night.doubts():
            seen = replace(seen, local_use=Unknown("NaN"))
        if self.night.doubts():
            seen = replace(seen, queue=Unknown("503"))
        return replace(seen, pools=tuple(self._pool(pool) for pool in seen.pools))

    def _pool(self, pool: PoolState) -> PoolState:
        stack = self.night.stack_of[pool.pool]
        if self.is_blind and self.night.world.now_s > _BLIND_FROM_S:
            idle = tuple(replace(node, gpus_used=Gpus(0)) for node in pool.nodes())
            pool = replace(pool, observed=idle)
        return replace(
            pool,
            stack=stack,
            configured=Nodes(sizes_of(self.stacks.files[stack])[pool.pool]),
            applied=Nodes(self.stacks.state[stack][pool.pool]),
            observed=Unknown("throttled") if self.night.doubts() else pool.observed,
        )


@dataclass
class HostileCloud:
    """A CloudReader's hands on the world."""

    night: Night

    def read_pools(self, bindings: Sequence[PoolBinding]) -> Mapping[str, PoolReading]:
        raise NotImplementedError("the sensor reads the world itself")

    def set_protection(self, binding: PoolBinding, instance_ids: Sequence[str], *, protected: bool) -> None:
        if self.night.strikes():
            raise CloudUnavailable("throttled", target=binding.pool, hint="wait")
        group = self.night.groups[binding.pool]
        present = [node.instance_id for node in group.standing() if node.instance_id in instance_ids]
        self.night.world.groups.set_protection(group.group_id, present, on=protected)

    def hold_still(self, binding: PoolBinding) -> None:
        self.night.world.groups.suspend(self.night.groups[binding.pool].group_id, ["AZRebalance"])


@dataclass
class HostileGate:
    """A NodeGate on the world."""

    night: Night
    is_blind: bool = False

    def cordon(self, node: str) -> None:
        self._set(node, cordoned=True)

    def uncordon(self, node: str) -> None:
        self._set(node, cordoned=False)

    def busy_gpus(self, node: str) -> int:
        found = self._node(node)
        return found.machine.gpus - found.free if found and not self.is_blind else 0

    def evict(self, node: str, tasks: Collection[str]) -> tuple[str, ...]:
        raise NotImplementedError("no order to vacate is given at night")

    def _set(self, name: str, *, cordoned: bool) -> None:
        if self.night.strikes():
            raise SignalUnavailable("503", target=name, hint="wait")
        node = self._node(name)
        if node is not None:
            edit = NodeEdit(
                labels=node.labels, annotations=node.annotations, taints=tuple(node.taints), is_unschedulable=cordoned
            )
            self.night.world.edit_node(node, edit)

    def _node(self, name: str) -> Node | None:
        return next((node for node in self.night.world.fleet.nodes.values() if node.name == name), None)
