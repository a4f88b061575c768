"""What a set of nodes or a change costs per hour, in the catalogue's home currency. Pure arithmetic."""

from __future__ import annotations

from collections.abc import Iterable

from agent.core.decision import PoolChange
from agent.core.snapshot import Snapshot
from contract.catalog import Catalog, PoolRow
from contract.units import Money, zero


def node_cost(catalog: Catalog, row: PoolRow) -> Money:
    """One node-hour of a pool, in home currency."""
    return catalog.in_home_currency(row.price)


def gpu_cost(catalog: Catalog, row: PoolRow) -> Money:
    """One GPU-hour of a pool, in home currency."""
    return Money(node_cost(catalog, row).amount / row.gpus_per_node, catalog.home_currency)


def change_cost(catalog: Catalog, changes: Iterable[PoolChange]) -> Money:
    """Change of the hourly bill once all changes are in effect."""
    cost = zero(catalog.home_currency)
    for change in changes:
        cost += node_cost(catalog, catalog.pools[change.pool]) * change.delta
    return cost


def running_cost(catalog: Catalog, sizes: Iterable[tuple[str, int]]) -> Money:
    """Hourly bill of the given pool sizes."""
    cost = zero(catalog.home_currency)
    for pool, nodes in sizes:
        cost += node_cost(catalog, catalog.pools[pool]) * nodes
    return cost


def rented_cost(snapshot: Snapshot) -> Money:
    """Hourly bill of everything that is rented, whether it has come or not."""
    return running_cost(snapshot.catalog, ((pool.pool, pool.rented) for pool in snapshot.pools))
