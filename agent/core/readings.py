"""What sensors hand over before it becomes a Snapshot: cluster, cloud and stack, each as it says itself.

Vocabulary of the sensing ports; assembling them into one picture is agent/sense/assemble.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.core.snapshot import LaunchFailure, Unknown
from contract.units import GiB, Gpus, Nodes, Percent
from contract.work import DataClass, Tier, WorkKind


@dataclass(frozen=True, slots=True, kw_only=True)
class ReclaimNotice:
    """A cloud takes a node back: `at` then, or `within` so long of now when the notice tells no time."""

    at: datetime | None
    within: timedelta

    def ends_at(self, seen: datetime) -> datetime:
        """When the node goes, at the latest, as somebody can tell who sees the notice at `seen`."""
        return self.at or seen + self.within


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNode:
    """A Kubernetes node. `instance_id` is cut out of its providerID; empty on premises."""

    name: str
    labels: Mapping[str, str]
    is_ready: bool
    is_cordoned: bool
    gpus: Gpus
    instance_id: str
    created_at: datetime
    reclaim: ReclaimNotice | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodWork:
    """What a pod says of its work, by label or annotation; `doubts`: values that mean nothing, and what they became."""

    tier: Tier = Tier.PRODUCTION
    kind: WorkKind = WorkKind.OTHER
    data: DataClass = DataClass.OPEN
    needs_low_latency: bool = False
    runtime: timedelta | None = None
    deadline: datetime | None = None
    user: str = ""
    doubts: tuple[str, ...] = ()


_UNSAID = PodWork()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPod:
    """A pod that asks for GPUs and has not ended. `node` None: it waits. `task` groups a gang.

    `started_at`: when its node took it up, once it has. `uid` is its own, `owner` that of its task.
    """

    name: str
    node: str | None
    gpus: Gpus
    task: str
    department: str
    gpu_memory: GiB
    preemptible: bool
    created_at: datetime
    wants: tuple[tuple[str, tuple[str, ...]], ...] = ()
    work: PodWork = _UNSAID
    started_at: datetime | None = None
    uid: str = ""
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReading:
    """One cluster at one moment."""

    cluster: str
    nodes: tuple[ClusterNode, ...]
    pods: tuple[ClusterPod, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudInstance:
    """A machine that the cloud counts to a pool, whether or not it is a node yet."""

    instance_id: str
    launched_at: datetime
    is_protected: bool
    is_leaving: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolReading:
    """A pool as its cloud sees it, with the last launch failure if any."""

    instances: tuple[CloudInstance, ...]
    failure: LaunchFailure | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolBinding:
    """How a pool is found in its cloud: from the outputs of its burst stack."""

    pool: str
    node_pool_id: str
    scaling_group: str
    applied: Nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class StackReading:
    """One burst stack: its file's sizes and its state's bindings."""

    stack: str
    configured: Mapping[str, Nodes]
    bindings: Mapping[str, PoolBinding] | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class UseReading:
    """Local GPU use, and what was dropped on the way to it (I44, I47)."""

    use: Percent | Unknown
    series: int
    dropped: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Readings:
    """All that one round of sensing gave. Keys: cluster name, pool name, stack name.

    `blind_stacks`: stacks that could not be read, with the reason.
    """

    taken_at: datetime
    use: UseReading
    clusters: Mapping[str, ClusterReading | Unknown]
    stacks: tuple[StackReading, ...]
    pools: Mapping[str, PoolReading | Unknown] = field(default_factory=dict)
    blind_stacks: Mapping[str, Unknown] = field(default_factory=dict)
