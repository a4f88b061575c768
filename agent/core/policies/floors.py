"""How many nodes must stand, and how many may: what windows, warm pool and people's orders ask for at one moment.

Whoever grows and whoever gives back read the same floors here; otherwise one would buy what the other
has just returned.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from agent.core.calendar_windows import open_now
from agent.core.policy import Policy
from agent.core.rules.windows import KeepWindow
from agent.core.snapshot import NodePhase, NodeView, Order, OrderKind, PoolState, Snapshot
from contract.catalog import Billing

# Given back first to last: what is dearest by the hour, then what is cheaper now, then what is paid anyway.
_GIVEN_BACK = {Billing.ON_DEMAND: 0, Billing.SPOT: 0, Billing.OFF_PEAK: 1, Billing.RESERVED: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """`why` wants `nodes` in `pools` (all where none is named); `have` stand or come. `idle_only`: without work."""

    why: str
    nodes: int
    have: int
    pools: tuple[str, ...] = ()
    idle_only: bool = False

    @property
    def missing(self) -> int:
        """How many more are wanted."""
        return max(0, self.nodes - self.have)

    def counts(self, node: NodeView) -> bool:
        """Whether giving this node back would take one from it."""
        if (self.pools and node.pool not in self.pools) or node.reclaim_at is not None:
            return False
        return not self.idle_only or node.phase is NodePhase.GPU_READY


def window_floors(snapshot: Snapshot, windows: Iterable[KeepWindow]) -> tuple[Floor, ...]:
    """What the windows that are open, or will be within their lead, ask for."""
    return tuple(
        Floor(
            why=f"window {window.rule.name}",
            nodes=window.nodes,
            have=rented(snapshot, window.pools),
            pools=window.pools,
        )
        for window in windows
        if window.nodes and open_now(window.rule, snapshot.taken_at, window.lead)
    )


def order_floor(snapshot: Snapshot) -> Floor | None:
    """What the emergency orders in force ask for: the highest, for a later one counts from what stood then."""
    orders = active(snapshot, OrderKind.EMERGENCY)
    if not orders:
        return None
    order = max(orders, key=lambda order: order.base + order.nodes)
    return Floor(why=show_order(order), nodes=order.base + order.nodes, have=rented(snapshot))


def warm_floor(snapshot: Snapshot, policy: Policy) -> Floor | None:
    """What the warm pool asks for; nothing while a window gives idle nodes back."""
    warm = policy.warm_pool
    if not warm.nodes or giving_back(policy, snapshot.taken_at):
        return None
    pools = (warm.pool,) if warm.pool else ()
    have = sum(_idle_or_coming(state) for state in snapshot.pools if not pools or state.pool in pools)
    return Floor(why="the warm pool", nodes=warm.nodes, have=have, pools=pools, idle_only=True)


def all_floors(snapshot: Snapshot, policy: Policy) -> tuple[Floor, ...]:
    """Everything that keeps nodes from being given back now."""
    windows = (*policy.calendar.windows, *(entry.window for entry in policy.prewarm.windows))
    single = (order_floor(snapshot), warm_floor(snapshot, policy))
    return (*window_floors(snapshot, windows), *(floor for floor in single if floor))


def spare(nodes: Iterable[NodeView], floors: Iterable[Floor]) -> tuple[tuple[NodeView, ...], tuple[str, ...]]:
    """Of the nodes, in their order, those that no floor needs; and which floors need others."""
    left = {floor: floor.have - floor.nodes for floor in floors}
    going, keepers = [], []
    for node in nodes:
        counting = [floor for floor in left if floor.counts(node)]
        keepers += [floor.why for floor in counting if left[floor] <= 0]
        if all(left[floor] > 0 for floor in counting):
            going.append(node)
            left.update({floor: left[floor] - 1 for floor in counting})
    return tuple(going), tuple(dict.fromkeys(keepers))


def giving_back(policy: Policy, now: datetime) -> KeepWindow | None:
    """The window that is open and gives idle nodes back, if there is one."""
    windows = (window for window in policy.calendar.windows if window.give_back_idle)
    return next((window for window in windows if open_now(window.rule, now)), None)


def active(snapshot: Snapshot, kind: OrderKind) -> tuple[Order, ...]:
    """The orders of one kind that are in force."""
    return tuple(order for order in snapshot.orders if order.kind is kind and order.is_active(snapshot.taken_at))


def ceiling(snapshot: Snapshot) -> Order | None:
    """The strictest order to shrink that is in force."""
    orders = (*active(snapshot, OrderKind.SHRINK), *active(snapshot, OrderKind.VACATE))
    return min(orders, key=lambda order: (order.nodes, order.number), default=None)


def rented(snapshot: Snapshot, pools: tuple[str, ...] = ()) -> int:
    """Nodes that are paid for, there or coming, without those that their cloud is taking back."""
    states = [state for state in snapshot.pools if not pools or state.pool in pools]
    return sum(state.rented for state in states) - sum(doomed(node) for state in states for node in state.nodes())


def doomed(node: NodeView) -> bool:
    """Whether its cloud gave notice and has not begun to end it: it stands, and will not for long."""
    return node.reclaim_at is not None and node.phase is not NodePhase.LEAVING


def by_return(snapshot: Snapshot, nodes: Iterable[NodeView]) -> tuple[NodeView, ...]:
    """In the order in which nodes go back: reserved last, then the oldest first; ties by id, never wavering."""
    billing = {state.pool: _GIVEN_BACK.get(snapshot.row(state).billing, 0) for state in snapshot.pools}
    return tuple(sorted(nodes, key=lambda node: (billing[node.pool], node.since, node.instance_id)))


def show_order(order: Order) -> str:
    """`order 7 of lin (release night), until 2026-11-30T18:00:00+00:00`."""
    return f"order {order.number} of {order.who} ({order.why}), until {order.until.isoformat(timespec='seconds')}"


def _idle_or_coming(state: PoolState) -> int:
    """Ready nodes without work, and what is rented and has not come yet."""
    arrived = [node for node in state.nodes() if node.phase in (NodePhase.GPU_READY, NodePhase.DRAINING)]
    ready = [node for node in arrived if node.phase is NodePhase.GPU_READY and node.reclaim_at is None]
    return sum(node.is_empty for node in ready) + max(0, state.rented - len(arrived))
