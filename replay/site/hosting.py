"""Which pools may host a task: the shipped rules of placement, asked once a shape of task."""

from __future__ import annotations

from agent.core.eligibility import Host, demand_of, misfit
from agent.core.rules.placement import PlacementRules
from agent.core.snapshot import QueuedTask
from contract.catalog import PoolRow
from replay.site.place import MayHost


def hosting(rules: PlacementRules) -> MayHost:
    """The rules as a question about a task and a pool."""
    hosts: dict[str, Host] = {}

    def may_host(task: QueuedTask, row: PoolRow) -> bool:
        host = hosts.setdefault(row.pool, Host(row, row.node_labels()))
        return misfit(demand_of(task), host, rules) is None

    return may_host
