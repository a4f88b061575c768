"""What every part of the world stands on: the agenda, chance, the catalogue, faults, the journal.

Parts share this and nothing else; it holds no rule of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from contract.catalog import Catalog
from sim.world.agenda import Agenda
from sim.world.draws import Draws
from sim.world.faults import FaultPlan

if TYPE_CHECKING:
    from sim.world.nodes import Node
    from sim.world.workload import Pod


class Verb(StrEnum):
    """What happened to an object, in the words of a Kubernetes watch."""

    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(slots=True)
class Journal:
    """Tells those who asked about each change of a node or a pod, at once and in order."""

    node_readers: list[Callable[[Verb, Node], None]] = field(default_factory=list)
    pod_readers: list[Callable[[Verb, Pod], None]] = field(default_factory=list)

    def node(self, verb: Verb, node: Node) -> None:
        """A node object changed."""
        for reader in self.node_readers:
            reader(verb, node)

    def pod(self, verb: Verb, pod: Pod) -> None:
        """A pod object changed."""
        for reader in self.pod_readers:
            reader(verb, pod)


@dataclass(frozen=True, slots=True)
class Ground:
    """Shared by all parts of one world."""

    catalog: Catalog
    origin: datetime
    agenda: Agenda
    draws: Draws
    faults: FaultPlan
    journal: Journal

    @property
    def now_s(self) -> float:
        """Virtual seconds since the origin."""
        return self.agenda.now_s

    def time(self, at_s: float) -> datetime:
        """Virtual seconds as an aware datetime."""
        return self.origin.astimezone(UTC) + timedelta(seconds=at_s)

    def stamp(self, at_s: float) -> str:
        """Virtual seconds as Kubernetes writes a time: RFC 3339, whole seconds, Z."""
        return self.time(at_s).strftime("%Y-%m-%dT%H:%M:%SZ")
