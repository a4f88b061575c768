"""A pool while tasks are put into it: free GPUs of what is there or coming, new nodes and their units.

Free places are kept as a count by free GPUs, so that the time grows with sizes, not with nodes. Working
memory of placement.py; knows no policy.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.core.decision import Reason, ReasonCode
from agent.core.eligibility import Host
from agent.core.market import Offer
from agent.core.policies.floors import doomed
from agent.core.ranking import longest_of_class
from agent.core.snapshot import NodePhase, Snapshot, is_overdue


@dataclass(slots=True, eq=False)
class Ground:
    """`slots[n]`: how many nodes have n GPUs free; `free`: GPUs of all. `new`: nodes bought; `units`: as bought."""

    index: int
    offer: Offer
    host: Host
    slots: list[int]
    free: int
    units: list[int] = field(default_factory=list)
    new: int = 0
    limit: Reason | None = None

    def take(self, per_pod: int, pods: int) -> bool:
        """Put all pods into free places, tightest nodes first; all or nothing."""
        if self._places(per_pod) < pods:
            return False
        self.free -= per_pod * pods
        slots = self.slots
        for size in range(per_pod, len(slots)):
            fit = size // per_pod
            whole = min(slots[size], pods // fit)
            slots[size] -= whole
            slots[size - fit * per_pod] += whole
            pods -= whole * fit
            if 0 < pods < fit and slots[size]:
                slots[size] -= 1
                slots[size - pods * per_pod] += 1
                return True
        return True

    def nodes_for(self, per_pod: int, pods: int) -> int:
        """New nodes that the pods need besides the free places."""
        return -(-max(0, pods - self._places(per_pod)) // (self.host.row.gpus_per_node // per_pod))

    def has_room(self, nodes: int, gpus: int) -> bool:
        """Whether the quota leaves so many nodes; if not, keeps why."""
        row, room = self.host.row, self.offer.room - self.new
        if nodes <= room:
            return True
        if nodes > 1 and room > 0:
            text = f"a gang of {gpus} GPUs needs {nodes} nodes at once, its quota of {row.quota} leaves room for {room}"
            self.refuse(ReasonCode.GANG, text)
        else:
            self.refuse(ReasonCode.QUOTA, f"its quota of {row.quota} leaves room for {room}")
        return False

    def refuse(self, code: ReasonCode, text: str) -> None:
        """Keep the first thing that limited the pool."""
        self.limit = self.limit or Reason(code=code, text=text)

    def buy(self, nodes: int, per_pod: int, pods: int) -> None:
        """Add the nodes as one unit and put the pods there."""
        self.units.append(nodes)
        self.new += nodes
        self.slots[self.host.row.gpus_per_node] += nodes
        self.free += nodes * self.host.row.gpus_per_node
        if not self.take(per_pod, pods):
            raise AssertionError("a gang must fit into the nodes counted for it")

    def _places(self, per_pod: int) -> int:
        if self.free < per_pod:
            return 0
        return sum(self.slots[size] * (size // per_pod) for size in range(per_pod, len(self.slots)))


def ends_before(ground: Ground, runtime: timedelta | None, now: datetime) -> bool:
    """Whether work of that runtime class is surely done before the pool's hours end, a boot before it included."""
    end, boot = ground.offer.closes_at, ground.host.row.boot.slowest
    return end is None or (runtime is not None and now + boot + longest_of_class(runtime) <= end)


def ground_of(snapshot: Snapshot, index: int, offer: Offer) -> Ground:
    """The pool with the free GPUs of its ready nodes, and whole nodes for what is rented and still to come.

    Nodes that are cordoned, overdue (I32) or taken back by their cloud (R7.5) are there and take nothing.
    """
    row, state = offer.row, offer.state
    arrived, free = 0, []
    for node in state.nodes():
        gone = node.phase is NodePhase.DRAINING or doomed(node) or is_overdue(node, row, snapshot.taken_at)
        arrived += gone or node.phase is NodePhase.GPU_READY
        if not gone and node.phase is NodePhase.GPU_READY:
            free.append(max(0, node.gpus - node.gpus_used))
    slots = [0] * (max(row.gpus_per_node, *free) + 1 if free else row.gpus_per_node + 1)
    for size in free:
        slots[size] += 1
    slots[row.gpus_per_node] += max(0, state.rented - arrived)
    total = sum(size * count for size, count in enumerate(slots))
    return Ground(index=index, offer=offer, host=Host(row, row.node_labels()), slots=slots, free=total)
