"""R4.5: a person ordered to rent at most so many nodes. What has no work goes at once.

Idle ones go first, then those that have not come yet; reserved ones last. Nodes with work stay, and how many is
said; only an order to vacate moves work too, never that of the core tier, and nothing that nobody can name. Such
nodes are cordoned and their pods evicted: the work starts again at home if there is room, else it waits in the
queue (paused), for the order keeps anything from being rented for it. Once empty they go like the others. Of gangs
as few are touched as will do. When the order ends, what was cordoned for it and still stands takes work again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode, Vacated
from agent.core.drain import shrink_by
from agent.core.memory import Memory
from agent.core.policies.floors import active, by_return, ceiling, show_order
from agent.core.policy import Policy
from agent.core.snapshot import NodePhase, NodeView, Order, OrderKind, Snapshot
from contract.work import Tier

NAME = "forced_shrink"
_OFF = Proposal(
    policy=NAME, action=Action.HOLD, reason=Reason(code=ReasonCode.OFF, text="no order to shrink is in force")
)
_COMING = (NodePhase.BOOTING, NodePhase.JOINED)
_WORKING = (NodePhase.GPU_READY, NodePhase.DRAINING)


def propose(snapshot: Snapshot, _policy: Policy, memory: Memory) -> Proposal:
    """Shrink to what the strictest order in force allows, else vacate where one says so, else hold."""
    order = ceiling(snapshot) if snapshot.orders else None
    if order is None:
        return _release(snapshot, memory) or _OFF
    rented = snapshot.cloud_nodes()
    evidence = (
        Evidence(
            name="rented nodes", seen=str(rented), wanted=f"more than {order.nodes}, by order", met=rented > order.nodes
        ),
    )
    going = _without_work(snapshot, memory)[: _above(order, snapshot, memory)]
    reason = _reason(order, rented, len(going))
    if going:
        return Proposal(
            policy=NAME, action=Action.SHRINK, reason=reason, evidence=evidence, changes=shrink_by(snapshot, going)
        )
    if moved := to_vacate(snapshot, memory):
        return Proposal(
            policy=NAME, action=Action.VACATE, reason=_why_vacate(order, moved), evidence=evidence, vacates=moved
        )
    return _release(snapshot, memory) or Proposal(policy=NAME, action=Action.HOLD, reason=reason, evidence=evidence)


def _above(order: Order, snapshot: Snapshot, memory: Memory) -> int:
    """How many nodes more must go for an order than are on their way already.

    What stands above a pool's configured size is leaving; what has no work, or is being emptied, in a pool that
    must not be changed just now goes as soon as it may.
    """
    free = {node.instance_id for node in _free(snapshot, memory)}
    nodes = [node for state in snapshot.pools for node in state.nodes()[: state.configured]]
    waiting = sum(_is_going(node, memory) for node in nodes if node.instance_id not in free)
    return max(0, sum(state.configured for state in snapshot.pools) - order.nodes - waiting)


def _is_going(node: NodeView, memory: Memory) -> bool:
    return node.is_empty or node.phase in _COMING or node.instance_id in memory.vacating


def _reason(order: Order, rented: int, going: int) -> Reason:
    if rented <= order.nodes:
        text = f"{show_order(order)} allows {order.nodes} nodes, {rented} are rented"
        return Reason(code=ReasonCode.NOTHING_TO_DO, text=text)
    stay = rented - going - order.nodes
    text = f"{show_order(order)} allows {order.nodes} nodes, {rented} are rented: {going} without work go"
    if stay:
        text += f", {stay} above it stay, for they have work or cannot be changed now"
    return Reason(code=ReasonCode.TRIGGERED if going else ReasonCode.NO_IDLE_NODE, text=text)


def _why_vacate(order: Order, moved: Sequence[Vacated]) -> Reason:
    tasks = sorted({task for node in moved for task in node.tasks})
    text = f"{show_order(order)} moves work that is not core off {len(moved)} nodes, home or to the queue: "
    text += ", ".join(tasks)
    return Reason(code=ReasonCode.TRIGGERED, text=text)


def _free(snapshot: Snapshot, memory: Memory) -> list[NodeView]:
    """The nodes of pools that may be changed now."""
    now = snapshot.taken_at
    return [
        node
        for state in snapshot.pools
        if state.is_settled and memory.refused_until.get(state.pool, now) <= now
        for node in state.nodes()
    ]


def _without_work(snapshot: Snapshot, memory: Memory) -> tuple[NodeView, ...]:
    nodes = [node for node in _free(snapshot, memory) if node.gpus_used == 0]
    idle = [node for node in nodes if node.is_empty]
    coming = [node for node in nodes if node.phase in _COMING]
    return by_return(snapshot, idle) + by_return(snapshot, coming)


def to_vacate(snapshot: Snapshot, memory: Memory) -> tuple[Vacated, ...]:
    """As many nodes as stand above what an order to vacate allows, those begun first, then the least urgent work."""
    strictest = min(active(snapshot, OrderKind.VACATE), key=lambda order: order.nodes, default=None)
    over = 0 if strictest is None else _above(strictest, snapshot, memory)
    if over <= 0:
        return ()
    candidates = by_return(snapshot, (node for node in _free(snapshot, memory) if _may_move(node)))
    ranked = sorted(candidates, key=lambda node: (node.instance_id not in memory.vacating, -_urgency(node)))
    return tuple(
        Vacated(node=node.name, pool=node.pool, instance=node.instance_id, tasks=tuple(task for task, _ in node.tasks))
        for node in _fewest_tasks(ranked, over)
    )


def releasable(snapshot: Snapshot, memory: Memory) -> tuple[NodeView, ...]:
    """Nodes that were cordoned for an order, that none wants empty any more, and that nothing else takes away."""
    exceeded = (_above(order, snapshot, memory) > 0 for order in active(snapshot, OrderKind.VACATE))
    if not memory.vacating or any(exceeded):
        return ()
    return tuple(
        node
        for node in _free(snapshot, memory)
        if node.instance_id in memory.vacating and node.phase is NodePhase.DRAINING
    )


def _may_move(node: NodeView) -> bool:
    """It works, everything on it has a name, and nothing of it is core."""
    is_busy = node.phase in _WORKING and node.gpus_used > 0
    return is_busy and bool(node.tasks) and all(tier is not Tier.PRODUCTION_CORE for _, tier in node.tasks)


def _urgency(node: NodeView) -> int:
    """The rank of the most urgent work on it; the higher, the less urgent."""
    return min(tier.rank for _, tier in node.tasks)


def _fewest_tasks(ranked: Sequence[NodeView], over: int) -> list[NodeView]:
    """A gang that loses one node starts again everywhere, so that its other nodes come free with it.

    Tasks are added until enough comes free, and those that turn out not to be needed are left alone.
    """
    moved: dict[str, None] = {}
    for node in ranked:
        if len(_freed(ranked, moved)) >= over:
            break
        moved.update(dict.fromkeys(task for task, _ in node.tasks))
    for task in list(moved):
        fewer = {other: None for other in moved if other != task}
        if len(_freed(ranked, fewer)) >= over:
            moved = fewer
    return _freed(ranked, moved)[:over]


def _freed(ranked: Sequence[NodeView], moved: Mapping[str, None]) -> list[NodeView]:
    return [node for node in ranked if all(task in moved for task, _ in node.tasks)]


def _release(snapshot: Snapshot, memory: Memory) -> Proposal | None:
    """Nodes that were cordoned for an order take work again; None when there is none."""
    nodes = releasable(snapshot, memory)
    if not nodes:
        return None
    text = f"no order wants them empty any more: {', '.join(node.name for node in nodes)} take work again"
    return Proposal(
        policy=NAME,
        action=Action.VACATE,
        reason=Reason(code=ReasonCode.TRIGGERED, text=text),
        releases=tuple(Vacated(node=node.name, pool=node.pool, instance=node.instance_id) for node in nodes),
    )
