"""The whole input of a decision: what was known at one moment. Frozen; doubt is a value, never a zero.

Four truths keep four names here: *configured* (stack file), *applied* (Pulumi's state), *observed*
(cloud and cluster), and *planned*, which is a Decision and no part of a snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from contract.catalog import Billing, Catalog, PoolRow
from contract.units import GiB, Gpus, Money, Nodes, Percent
from contract.work import DataClass, Tier, WorkKind


@dataclass(frozen=True, slots=True)
class Unknown:
    """A reading that is not there or not to be believed; `why` is fit to be shown to a person."""

    why: str


class NodePhase(StrEnum):
    """Where a rented node stands, as the agent can tell. Legal changes: agent/core/phases.py.

    DRAINING is cordoned, by us or by a person; LEAVING is being ended by its cloud.
    """

    BOOTING = "booting"
    JOINED = "joined"
    GPU_READY = "gpu_ready"
    DRAINING = "draining"
    LEAVING = "leaving"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeView:
    """One node or cloud instance. `gpus` are allocatable now: 0 until the driver is up (R7.2).

    `instance_id` is the cloud's id; `since` is when the cloud launched it or, failing that, when the
    node joined. `reclaim_at`: its cloud gave notice that it takes the node back then (spot). `tasks`: whose pods hold
    its GPUs, with their tiers.
    """

    name: str
    pool: str
    phase: NodePhase
    since: datetime
    gpus: Gpus
    gpus_used: Gpus
    instance_id: str
    reclaim_at: datetime | None = None
    tasks: tuple[tuple[str, Tier], ...] = ()

    @property
    def has_joined(self) -> bool:
        """A node object stands in the cluster, so that it can be cordoned. Until then the name is the instance's."""
        return self.name != self.instance_id

    @property
    def is_empty(self) -> bool:
        """A node with GPUs and no work on them. A cordoned one counts too: it costs as much."""
        return self.phase in (NodePhase.GPU_READY, NodePhase.DRAINING) and self.gpus > 0 and self.gpus_used == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchFailure:
    """The cloud's own word that it could not deliver a node of a pool."""

    code: str
    message: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolState:
    """One rented pool, its three outer truths side by side.

    `held` says why no policy may touch it now: a change of it is still open.
    """

    pool: str
    stack: str
    configured: Nodes
    applied: Nodes | Unknown
    observed: tuple[NodeView, ...] | Unknown
    failure: LaunchFailure | None = None
    held: str = ""

    @property
    def standing(self) -> Nodes:
        """Machines that the cloud counts to the pool and is not ending; 0 when the reading is unknown."""
        nodes = self.nodes()
        return Nodes(len(nodes) - [node.phase for node in nodes].count(NodePhase.LEAVING) if nodes else 0)

    @property
    def rented(self) -> Nodes:
        """What may be paid for: the greater of what is configured and what stands."""
        return Nodes(max(self.configured, self.standing))

    @property
    def is_settled(self) -> bool:
        """Configured, applied and standing agree so far that a new size would mean what it says."""
        return self.unsettled_because() is None

    def unsettled_because(self) -> str | None:
        """Why the pool's size must not be changed now; None when it may."""
        if self.held:
            return self.held
        if isinstance(self.applied, Unknown):
            return f"its applied size is unknown: {self.applied.why}"
        if self.applied != self.configured:
            return f"configured {self.configured}, applied {self.applied}: an edit waits for 'pulumi up'"
        if self.standing > self.configured:
            return f"{self.standing} machines stand, {self.configured} are configured: leaving, or bought by hand"
        return None

    def nodes(self) -> tuple[NodeView, ...]:
        """The observed nodes; none when the reading is unknown (callers check that first)."""
        return () if isinstance(self.observed, Unknown) else self.observed


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """Where a run time comes from that nobody stated: from `seen` ended tasks, `of` what work."""

    seen: int
    of: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedTask:
    """One task waiting for GPUs: `gpus` in all, in `pods` of at most `gpus_per_pod`, whole or not at all.

    `wants` are node labels that it asks for, each with the values that will do. `runtime` is how long
    it will run once started, stated or `learned`; None when nobody can tell. `deadline`: when it must have ended.
    `paid_by`: the ways of paying that suit this task alone, besides what its kind and tier allow; none: any.
    """

    task: str
    department: str
    gpus: Gpus
    gpus_per_pod: Gpus
    gpu_memory: GiB
    preemptible: bool
    queued_since: datetime
    pods: int
    wants: tuple[tuple[str, tuple[str, ...]], ...] = ()
    tier: Tier = Tier.PRODUCTION
    kind: WorkKind = WorkKind.OTHER
    data: DataClass = DataClass.OPEN
    needs_low_latency: bool = False
    runtime: timedelta | None = None
    deadline: datetime | None = None
    user: str = ""
    learned: Learned | None = None
    paid_by: tuple[Billing, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTask:
    """A task that holds GPUs of the owned cluster. `nodes`: where, and how many on each.

    `ends_at` is stated or `learned`; None when nobody can tell.
    """

    task: str
    nodes: tuple[tuple[str, Gpus], ...]
    started_at: datetime
    ends_at: datetime | None = None
    learned: Learned | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNode:
    """A ready node of the owned cluster: allocatable GPUs and how many of them are free."""

    name: str
    gpus: Gpus
    free: Gpus


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalState:
    """The owned cluster: allocatable GPUs and those that pods hold; its nodes and what runs on them, if known."""

    gpus: Gpus
    gpus_used: Gpus
    nodes: tuple[LocalNode, ...] = ()
    running: tuple[RunningTask, ...] = ()


class OrderKind(StrEnum):
    """What a person may order by hand (R4.5)."""

    EMERGENCY = "emergency"
    SHRINK = "shrink"
    VACATE = "vacate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A person's order: who, why, from when, until when. It expires by itself.

    EMERGENCY: `nodes` more than stood when it was given (`base`), at once. SHRINK: rent at most `nodes`; VACATE: and
    move work that is not core off those above it.
    """

    number: int
    kind: OrderKind
    nodes: Nodes
    base: Nodes
    who: str
    why: str
    since: datetime
    until: datetime

    def is_active(self, now: datetime) -> bool:
        """Whether it holds now."""
        return self.since <= now < self.until


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What the agent knew at `taken_at`. Its `catalog` gives prices, quotas and shapes (I33).

    `blind_stacks` could not be read: their pools are missing from `pools`. `budget_left` is what may
    still be committed this month, running commitments taken off; None where no budget is set.
    """

    taken_at: datetime
    catalog: Catalog
    local_use: Percent | Unknown
    local: LocalState | Unknown
    queue: tuple[QueuedTask, ...] | Unknown
    pools: tuple[PoolState, ...]
    notes: tuple[str, ...] = ()
    blind_stacks: tuple[str, ...] = ()
    orders: tuple[Order, ...] = ()
    budget_left: Money | Unknown | None = None

    def row(self, pool: PoolState) -> PoolRow:
        """The catalogue row of a pool."""
        return self.catalog.pools[pool.pool]

    def pool(self, name: str) -> PoolState:
        """The state of one pool by name; KeyError when the snapshot has none."""
        found = self.find(name)
        if found is None:
            raise KeyError(name)
        return found

    def find(self, name: str) -> PoolState | None:
        """The state of one pool by name, if the snapshot has it."""
        return next((pool for pool in self.pools if pool.pool == name), None)

    def queued_tasks(self) -> int | Unknown:
        """How many tasks wait."""
        return self.queue if isinstance(self.queue, Unknown) else len(self.queue)

    def cloud_nodes(self) -> Nodes:
        """Rented nodes in all pools, whether they have come or not."""
        return Nodes(sum(pool.rented for pool in self.pools))


def is_overdue(node: NodeView, row: PoolRow, now: datetime) -> bool:
    """Whether a node has had its time to become GPU-ready and is not."""
    coming = node.phase in (NodePhase.BOOTING, NodePhase.JOINED) and node.gpus_used == 0
    return coming and now - node.since > row.boot.deadline
