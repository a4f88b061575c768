"""Which catalogue row a group's nodes belong to, and so what they cost and where they show.

The label spillway.dev/pool decides; a group without it is matched by its cloud, instance type and
kind of billing. Must not invent a price.
"""

from __future__ import annotations

from contract.catalog import Catalog, PoolRow
from sim.world import refusals
from sim.world.group_spec import GroupSpec
from sim.world.hardware import rented_machine


def row_of(catalog: Catalog, spec: GroupSpec) -> PoolRow:
    """The row of a group; refuses machines that the cloud does not sell."""
    for instance_type in spec.instance_types:
        if rented_machine(spec.provider, instance_type) is None:
            raise refusals.unknown_type(spec.provider, instance_type)
    row = catalog.pools.get(spec.pool)
    if row is not None and row.provider is spec.provider:
        return row
    for row in catalog.cloud_pools(spec.provider):
        same_type = set(row.instance_types) & set(spec.instance_types)
        if same_type and row.is_preemptible == spec.is_spot:
            return row
    raise refusals.unpriced(spec.name)
