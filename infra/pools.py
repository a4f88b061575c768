"""What a GPU pool is to every cloud: the catalogue row, its size and its name, ready to be built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from contract.catalog import PoolRow
from contract.stack_outputs import PoolOutput
from contract.units import Nodes
from infra.naming import pool_name, tags


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolSpec:
    """One pool to build. `desired` comes from the stack config and from nowhere else (I22, I33)."""

    row: PoolRow
    stack: str
    department: str
    desired: Nodes

    @property
    def name(self) -> str:
        """The pool's name in its cloud."""
        return pool_name(self.row.provider, self.stack, self.row.pool)

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the pool's resources."""
        return tags(self.stack, self.department, self.row.pool)


def pool_outputs(
    node_pool_id: pulumi.Output[str], scaling_group: pulumi.Output[str], desired: Nodes
) -> Mapping[str, pulumi.Input[object]]:
    """One entry of BurstOutput.POOLS."""
    return {
        PoolOutput.NODE_POOL_ID.value: node_pool_id,
        PoolOutput.SCALING_GROUP.value: scaling_group,
        PoolOutput.DESIRED.value: int(desired),
    }
