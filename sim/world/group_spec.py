"""What a node group (EKS) or a node pool (ACK) is: its description, its state, its activities.

Plain values; the rules by which a group lives stand in scaling_groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from contract import labels as names
from contract.catalog import PoolRow, Provider
from sim.world.agenda import Event
from sim.world.nodes import Node, Phase, Taint


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSpec:
    """What a caller of a cloud asks for. `cluster` is the cloud's own name or id of the cluster.

    Which catalogue row prices the nodes, and which Kubernetes face shows them, follows from the
    label spillway.dev/pool; GPUs follow from the instance type.
    """

    provider: Provider
    cluster: str
    name: str
    region: str
    zones: tuple[str, ...]
    instance_types: tuple[str, ...]
    is_spot: bool
    minimum: int
    maximum: int
    desired: int
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()

    @property
    def pool(self) -> str:
        """The catalogue row that the nodes belong to, by their label."""
        return self.labels.get(names.POOL, "")


class ActivityKind(StrEnum):
    """What a scaling group tried."""

    LAUNCH = "launch"
    TERMINATE = "terminate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """One try of a scaling group; `code` is empty when it went well."""

    activity_id: str
    group_id: str
    kind: ActivityKind
    at_s: float
    instance_id: str = ""
    code: str = ""
    message: str = ""

    @property
    def is_failed(self) -> bool:
        """Whether the cloud refused."""
        return bool(self.code)


@dataclass(slots=True, eq=False, kw_only=True)
class Group:
    """A living group. `group_id`: "cluster:nodegroup" on EKS, "np…" on ACK; both ids are stable."""

    group_id: str
    scaling_group_id: str
    spec: GroupSpec
    row: PoolRow
    created_s: float
    nodes: list[Node] = field(default_factory=list)
    activities: list[Activity] = field(default_factory=list)
    suspended: set[str] = field(default_factory=set)
    is_deleting: bool = False
    launches: int = 0
    retry: Event | None = None
    retry_delay_s: float = 0.0

    @property
    def desired(self) -> int:
        """The size that the group strives for."""
        return 0 if self.is_deleting else self.spec.desired

    def standing(self) -> tuple[Node, ...]:
        """Nodes that count against `desired`: all but those whose end has begun."""
        return tuple(node for node in self.nodes if not node.is_leaving)

    def present(self) -> tuple[Node, ...]:
        """Nodes that exist, those on their way out included."""
        return tuple(node for node in self.nodes if node.phase is not Phase.GONE)
