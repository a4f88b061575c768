"""How a GPU pool stands in Pulumi's state: its resource type, where its size is, how its cloud calls it.

The state's resources are the truth of what was applied: after an update that failed half-way the
stack's outputs still tell the past.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PropertyPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolResource:
    """One resource type that is a pool. Paths are camelCase, as state and previews spell them.

    The resource's logical name is the pool's name in the catalogue.
    """

    type: str
    size: PropertyPath
    node_pool_id: PropertyPath
    scaling_group: PropertyPath

    @property
    def size_property(self) -> str:
        """The size's path as a preview names it: `scalingConfig.desiredSize`."""
        return ".".join(str(part) for part in self.size)


ACK_POOL = PoolResource(
    type="alicloud:cs/nodePool:NodePool",
    size=("desiredSize",),
    node_pool_id=("nodePoolId",),
    scaling_group=("scalingGroupId",),
)
EKS_POOL = PoolResource(
    type="aws:eks/nodeGroup:NodeGroup",
    size=("scalingConfig", "desiredSize"),
    node_pool_id=("nodeGroupName",),
    scaling_group=("resources", 0, "autoscalingGroups", 0, "name"),
)
POOL_RESOURCES: Mapping[str, PoolResource] = {resource.type: resource for resource in (ACK_POOL, EKS_POOL)}


def at_path(value: object, path: PropertyPath) -> object:
    """What stands at a path of nested mappings and lists; None where the path ends early."""
    for part in path:
        if isinstance(part, str) and isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(part, int) and isinstance(value, list) and part < len(value):
            value = value[part]
        else:
            return None
    return value
