"""Whom a cloud removes when a group must shrink. Pure, and blind to what runs on a node.

AWS: the zone with most instances first, then the oldest launch template (all equal here), then one
at random (EC2 Auto Scaling guide, "Default termination policy"; groups made by EKS put the oldest
instance before chance, but the twin keeps the chance, so that nobody is right by luck). Alibaba:
oldest first (ESS: removal policy OldestScalingConfiguration, then OldestInstance). A protected
instance is never chosen: then the group stays above its desired size on both clouds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

from contract.catalog import Provider
from sim.world.nodes import Node


def choose_victims(provider: Provider, nodes: Sequence[Node], count: int, chance: Random) -> tuple[Node, ...]:
    """Up to `count` unprotected nodes of a group, in the order in which they go."""
    if provider is Provider.ALICLOUD:
        open_nodes = [node for node in nodes if not node.is_protected]
        return tuple(sorted(open_nodes, key=lambda node: node.ordered_s)[:count])
    remaining = list(nodes)
    chosen: list[Node] = []
    while len(chosen) < count and (victim := _aws_victim(remaining, chance)):
        remaining.remove(victim)
        chosen.append(victim)
    return tuple(chosen)


def _aws_victim(nodes: Sequence[Node], chance: Random) -> Node | None:
    open_nodes = [node for node in nodes if not node.is_protected]
    if not open_nodes:
        return None
    sizes = Counter(node.zone for node in nodes)
    fullest = max(sizes[node.zone] for node in open_nodes)
    return chance.choice([node for node in open_nodes if sizes[node.zone] == fullest])
