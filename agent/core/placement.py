"""Which rented pools take the waiting tasks, and why the others lost (R6.2, first cut).

Tasks go first into capacity that is there or on its way, then to new nodes of the cheapest pool per
GPU-hour that fits. A gang lies in one pool, whole or not at all. Slots are kept as counts by free
GPUs, so that the time grows with tasks and nodes, not with their product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agent.core.costing import gpu_cost, node_cost
from agent.core.decision import Alternative, Reason, ReasonCode
from agent.core.snapshot import NodePhase, PoolState, QueuedTask, Snapshot, is_overdue
from contract.catalog import PoolRow
from contract.units import Money, Nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A pool that may grow by up to `room` nodes now; `closed` says why it may not."""

    state: PoolState
    row: PoolRow
    room: Nodes
    gpu_hour: Money
    closed: Reason | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """New nodes by pool, in the order chosen; tasks that nothing can take; why other offers lost."""

    new_nodes: tuple[tuple[str, Nodes], ...]
    covered: int
    homeless: int
    alternatives: tuple[Alternative, ...]

    @property
    def nodes(self) -> Nodes:
        """New nodes in all."""
        return Nodes(sum(count for _, count in self.new_nodes))


@dataclass(slots=True)
class _Ground:
    """A pool while being filled: slots by free GPUs, new nodes so far."""

    offer: Offer
    slots: Counter[int]
    new: int = 0
    limits: set[ReasonCode] = field(default_factory=set)


def offers(snapshot: Snapshot, closed: dict[str, Reason]) -> tuple[Offer, ...]:
    """All rented pools, cheapest GPU-hour first (ties by name), with their room up to the quota."""
    made = []
    for state in snapshot.pools:
        row = snapshot.row(state)
        made.append(
            Offer(
                state=state,
                row=row,
                room=Nodes(max(0, row.quota - state.rented)),
                gpu_hour=gpu_cost(snapshot.catalog, row),
                closed=closed.get(state.pool),
            )
        )
    return tuple(sorted(made, key=lambda offer: (offer.gpu_hour.amount, offer.row.pool)))


def place(snapshot: Snapshot, tasks: Iterable[QueuedTask], market: Sequence[Offer], most: Nodes) -> Placement:
    """Place tasks in queue order and buy at most `most` new nodes. Pure; ties always fall alike."""
    grounds = [_Ground(offer, _coming_slots(snapshot, offer.state)) for offer in market]
    left, covered, homeless = int(most), 0, 0
    for task in tasks:
        if any(_fits(task, ground.offer.row) and _take(task, ground.slots) for ground in grounds):
            covered += 1
            continue
        bought = next((used for ground in grounds if (used := _buy(task, ground, left))), 0)
        left -= bought
        homeless += not bought
    chosen = tuple((ground.offer.row.pool, Nodes(ground.new)) for ground in grounds if ground.new)
    return Placement(
        new_nodes=chosen,
        covered=covered,
        homeless=homeless,
        alternatives=tuple(_lost(snapshot, ground, grounds) for ground in grounds if not ground.new),
    )


def _coming_slots(snapshot: Snapshot, state: PoolState) -> Counter[int]:
    """Free GPUs of ready nodes, and whole nodes for all that is rented, not there yet and not overdue (I32)."""
    row = snapshot.row(state)
    slots: Counter[int] = Counter()
    arrived = 0
    for node in state.nodes():
        if node.phase is NodePhase.GPU_READY:
            arrived += 1
            slots[node.gpus - node.gpus_used] += 1
        elif node.phase is NodePhase.DRAINING or is_overdue(node, row, snapshot.taken_at):
            arrived += 1
    slots[row.gpus_per_node] += max(0, state.rented - arrived)
    return slots


def _fits(task: QueuedTask, row: PoolRow) -> bool:
    own = row.node_labels()
    return (
        task.gpus_per_pod <= row.gpus_per_node
        and task.gpu_memory <= row.gpu_memory
        and (task.preemptible or not row.is_preemptible)
        and all(own.get(label) in values for label, values in task.wants)
    )


def _take(task: QueuedTask, slots: Counter[int]) -> bool:
    """Put all pods into free slots, smallest sufficient first; all or nothing."""
    used: list[tuple[int, int]] = []
    for _ in range(task.pods):
        size = min(
            (free for free, count in slots.items() if count > 0 and free >= task.gpus_per_pod),
            default=None,
        )
        if size is None:
            for before, after in reversed(used):
                slots[after] -= 1
                slots[before] += 1
            return False
        slots[size] -= 1
        slots[size - task.gpus_per_pod] += 1
        used.append((size, size - task.gpus_per_pod))
    return True


def _buy(task: QueuedTask, ground: _Ground, left: int) -> int:
    """Nodes newly bought in this pool so that the task fits; 0 when it cannot be."""
    offer = ground.offer
    if offer.closed or not _fits(task, offer.row):
        return 0
    per_node = offer.row.gpus_per_node // task.gpus_per_pod
    free = sum(count * (size // task.gpus_per_pod) for size, count in ground.slots.items() if count > 0)
    nodes = -(-max(0, task.pods - free) // per_node)
    if nodes > offer.room - ground.new:
        ground.limits.add(ReasonCode.QUOTA)
        return 0
    if nodes > left:
        ground.limits.add(ReasonCode.STEP_LIMIT)
        return 0
    ground.slots[offer.row.gpus_per_node] += nodes
    if not _take(task, ground.slots):
        raise AssertionError("a gang must fit into the nodes counted for it")
    ground.new += nodes
    return nodes


def _lost(snapshot: Snapshot, ground: _Ground, grounds: Sequence[_Ground]) -> Alternative:
    offer = ground.offer
    nodes = max((other.new for other in grounds), default=0) or 1
    return Alternative(
        what=f"{offer.row.pool} +{nodes}",
        cost_per_hour=node_cost(snapshot.catalog, offer.row) * nodes,
        lost_because=_why_lost(offer, ground, grounds),
    )


def _why_lost(offer: Offer, ground: _Ground, grounds: Sequence[_Ground]) -> Reason:
    if offer.closed:
        return offer.closed
    if ReasonCode.QUOTA in ground.limits or offer.room == 0:
        return Reason(
            code=ReasonCode.QUOTA,
            text=f"its quota of {offer.row.quota} leaves room for {offer.room}",
        )
    if ReasonCode.STEP_LIMIT in ground.limits:
        return Reason(code=ReasonCode.STEP_LIMIT, text="the rest of the queue is beyond this step")
    winner = next((other.offer for other in grounds if other.new), None)
    if winner and winner.gpu_hour <= offer.gpu_hour:
        text = f"{offer.gpu_hour} per GPU-hour against {winner.gpu_hour} of {winner.row.pool}"
        return Reason(code=ReasonCode.DEARER, text=text)
    text = (
        f"none of the waiting tasks fits {offer.row.gpus_per_node} x {offer.row.gpu_model} {offer.row.gpu_memory} GiB"
    )
    if offer.row.is_preemptible:
        text += ", spot"
    return Reason(code=ReasonCode.TOO_SMALL, text=text)
