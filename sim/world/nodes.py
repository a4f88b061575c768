"""One node, its life and its GPUs. Legal phases are one table; an illegal step is refused here.

Idle and busy are derived from the pods on a node, never stored. Must not know why a node moves,
what it costs or how Kubernetes shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from contract.catalog import PoolRow
from contract.labels import TaintEffect
from sim.world.hardware import Machine

if TYPE_CHECKING:
    from sim.world.workload import Pod


class Phase(StrEnum):
    """Where a node stands between the order and the end."""

    ORDERED = "ordered"
    BOOTING = "booting"
    JOINED = "joined"
    GPU_READY = "gpu_ready"
    DRAINING = "draining"
    FAILED = "failed"
    GONE = "gone"


LEGAL: Mapping[Phase, frozenset[Phase]] = {
    Phase.ORDERED: frozenset({Phase.BOOTING, Phase.FAILED, Phase.DRAINING, Phase.GONE}),
    Phase.BOOTING: frozenset({Phase.JOINED, Phase.FAILED, Phase.DRAINING, Phase.GONE}),
    Phase.JOINED: frozenset({Phase.GPU_READY, Phase.FAILED, Phase.DRAINING, Phase.GONE}),
    Phase.GPU_READY: frozenset({Phase.FAILED, Phase.DRAINING, Phase.GONE}),
    Phase.FAILED: frozenset({Phase.DRAINING, Phase.GONE}),
    Phase.DRAINING: frozenset({Phase.GONE}),
    Phase.GONE: frozenset(),
}
LEAVING = frozenset({Phase.DRAINING, Phase.GONE})


class LossCause(StrEnum):
    """Why a job lost its place."""

    SCALE_IN = "scale_in"
    SPOT = "spot"
    EVICTED = "evicted"
    NODE_FAILED = "node_failed"
    NODE_DELETED = "node_deleted"


class IllegalMove(Exception):
    """A step that the table of phases does not allow: an error of the twin, never of its user."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A node's taint in Kubernetes' spelling."""

    key: str
    value: str
    effect: TaintEffect


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEdit:
    """What a client of the Kubernetes API may change of a node, as a whole."""

    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    taints: tuple[Taint, ...]
    is_unschedulable: bool


@dataclass(slots=True, eq=False, kw_only=True)
class Node:
    """One machine. `name` is its Kubernetes name, `instance_id` the cloud's."""

    name: str
    instance_id: str
    provider_id: str
    address: str
    row: PoolRow
    machine: Machine
    zone: str
    group_id: str | None
    is_spot: bool
    ordered_s: float
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)
    taints: list[Taint] = field(default_factory=list)
    is_unschedulable: bool = False
    is_protected: bool = False
    has_object: bool = False
    reclaim_s: float | None = None
    loss_cause: LossCause | None = None
    phase: Phase = Phase.ORDERED
    entered_s: dict[Phase, float] = field(default_factory=dict)
    owners: list[Pod | None] = field(default_factory=list)
    free: int = 0

    def __post_init__(self) -> None:
        self.owners = [None] * self.machine.gpus
        self.free = self.machine.gpus
        self.entered_s[self.phase] = self.ordered_s

    @property
    def cluster(self) -> str:
        """The catalogue's name of the cluster that the node joins."""
        return self.row.cluster

    @property
    def is_local(self) -> bool:
        """Whether the machine is owned."""
        return not self.row.is_cloud

    @property
    def is_leaving(self) -> bool:
        """Whether its end has begun."""
        return self.phase in LEAVING

    @property
    def is_busy(self) -> bool:
        """Whether a pod holds a GPU of it."""
        return self.free < self.machine.gpus

    @property
    def takes_pods(self) -> bool:
        """Whether a new pod may be bound to it, taints and room apart."""
        return self.phase is Phase.GPU_READY and not self.is_unschedulable and self.has_object

    def move(self, to: Phase, now_s: float) -> None:
        """Take one step of life."""
        if to not in LEGAL[self.phase]:
            raise IllegalMove(f"{self.name}: {self.phase} to {to}")
        self.phase = to
        self.entered_s[to] = now_s

    def give(self, pod: Pod) -> tuple[int, ...]:
        """Give a pod the GPUs that it asks for, lowest index first."""
        indexes = [index for index, owner in enumerate(self.owners) if owner is None][: pod.gpus]
        if len(indexes) < pod.gpus:
            raise IllegalMove(f"{self.name} has {self.free} GPUs free, {pod.name} asks {pod.gpus}")
        for index in indexes:
            self.owners[index] = pod
        self.free -= pod.gpus
        return tuple(indexes)

    def take_back(self, pod: Pod) -> None:
        """Free the GPUs of a pod."""
        for index in pod.gpu_indexes:
            if self.owners[index] is not pod:
                raise IllegalMove(f"GPU {index} of {self.name} is not {pod.name}'s")
            self.owners[index] = None
        self.free += len(pod.gpu_indexes)

    def pods(self) -> tuple[Pod, ...]:
        """The pods that hold its GPUs, each once."""
        return tuple(dict.fromkeys(owner for owner in self.owners if owner is not None))


def repels(taints: Iterable[Taint], tolerated: Iterable[str]) -> bool:
    """Whether a taint keeps away a pod that tolerates only the keys given."""
    keys = frozenset(tolerated)
    hard = (TaintEffect.NO_SCHEDULE, TaintEffect.NO_EXECUTE)
    return any(taint.effect in hard and taint.key not in keys for taint in taints)
