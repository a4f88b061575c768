"""Where a gang fits: nodes of one cluster, one GPU model and one kind of billing form a bay.

As Kueue does, a gang is placed whole within one flavour, never half here and half there. Owned bays
come first; a job that may be interrupted then tries spot before on-demand, each in the order of the
catalogue; any other job never sees a spot bay. Within a bay the fullest
node that fits is taken, so that others fall empty. Must not bind: it only finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from contract.catalog import Catalog, GpuModel
from contract.labels import BURST_TAINT, GPU_RESOURCE, PREEMPTIBLE_TAINT
from sim.world.nodes import Node, Phase, repels
from sim.world.workload import Job

_Key = tuple[str, GpuModel, int, bool]


@dataclass(slots=True)
class Bay:
    """GPU-ready nodes that are alike for a gang."""

    is_local: bool
    is_spot: bool
    gpu_memory_gib: int
    rank: int
    nodes: list[Node] = field(default_factory=list)


class Bays:
    """All bays, in the order in which they are tried."""

    def __init__(self, catalog: Catalog) -> None:
        self._rank = {pool: number for number, pool in enumerate(catalog.pools)}
        self._bays: dict[_Key, Bay] = {}
        self._ordered: dict[bool, tuple[Bay, ...]] = {True: (), False: ()}

    def follow(self, node: Node, before: Phase) -> None:
        """Keep up with a node's step of life."""
        if node.phase is Phase.GPU_READY:
            self.add(node)
        elif before is Phase.GPU_READY:
            self._bays[_key(node)].nodes.remove(node)

    def add(self, node: Node) -> None:
        """A node became GPU-ready."""
        key = _key(node)
        if key not in self._bays:
            rank = self._rank[node.row.pool]
            self._bays[key] = Bay(node.is_local, node.is_spot, node.machine.gpu_memory_gib, rank)
            self._sort()
        self._bays[key].nodes.append(node)

    def find(self, job: Job) -> list[Node] | None:
        """A node for each pod of the job, in the order of its pod sizes; None when it must wait."""
        tolerated = tolerated_keys(job.is_preemptible)
        for bay in self._ordered[job.is_preemptible]:
            if bay.gpu_memory_gib < job.gpu_memory_gib:
                continue
            open_nodes = [
                node for node in bay.nodes if node.free and node.takes_pods and not repels(node.taints, tolerated)
            ]
            if (places := _pack(job.pod_sizes(), open_nodes)) is not None:
                return places
        return None

    def _sort(self) -> None:
        for is_preemptible in (True, False):
            bays = (bay for bay in self._bays.values() if is_preemptible or not bay.is_spot)
            self._ordered[is_preemptible] = tuple(sorted(bays, key=_preference))


def _preference(bay: Bay) -> tuple[bool, bool, int]:
    return not bay.is_local, not bay.is_spot, bay.rank


def _key(node: Node) -> _Key:
    return node.cluster, node.machine.gpu_model, node.machine.gpu_memory_gib, node.is_spot


def tolerated_keys(is_preemptible: bool) -> tuple[str, ...]:
    """Keys of the taints that a job's pods tolerate."""
    keys = (BURST_TAINT, GPU_RESOURCE)
    return (*keys, PREEMPTIBLE_TAINT) if is_preemptible else keys


def _pack(sizes: Sequence[int], nodes: Sequence[Node]) -> list[Node] | None:
    free = [node.free for node in nodes]
    if sum(free) < sum(sizes):
        return None
    places = []
    for size in sizes:
        fitting = [(room, at) for at, room in enumerate(free) if room >= size]
        if not fitting:
            return None
        _, at = min(fitting)
        free[at] -= size
        places.append(nodes[at])
    return places
