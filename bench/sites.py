"""Large made-up sites: snapshots and readings of as many nodes, pods and waiting tasks as asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from agent.core.memory import Memory, observe
from agent.core.policy import Policy, parse_policy
from agent.core.readings import (
    CloudInstance,
    ClusterNode,
    ClusterPod,
    ClusterReading,
    PoolBinding,
    PoolReading,
    Readings,
    StackReading,
    UseReading,
)
from agent.core.snapshot import Snapshot
from agent.sense.assemble import assemble
from contract.catalog import Catalog, PoolRow, read_catalog
from contract.units import GiB, Gpus, Nodes, Percent
from contract.yaml_document import read_document

ROOT = Path(__file__).resolve().parents[1]
NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def a_policy() -> Policy:
    """The shipped one."""
    return parse_policy(*read_document(ROOT / "stacks" / "policy.yaml"))


def a_catalog(cloud_nodes: int) -> Catalog:
    """The shipped one with quotas that leave room for a step."""
    catalog = read_catalog(ROOT / "stacks" / "catalog.yaml")
    share = cloud_nodes // len(catalog.cloud_pools()) + 20
    rows = {name: replace(row, quota=Nodes(share)) if row.is_cloud else row for name, row in catalog.pools.items()}
    return replace(catalog, pools=rows)


def readings_of(catalog: Catalog, nodes: int, pods_a_node: int, waiting: int) -> Readings:
    """Half the nodes owned, half rented and busy; every node carries `pods_a_node` pods of one GPU."""
    owned = _nodes(catalog.onprem_pools()[1], nodes // 2)
    rented = {row.pool: _nodes(row, nodes // 2 // len(catalog.cloud_pools())) for row in catalog.cloud_pools()}
    clusters = {"idc-gpu": _cluster("idc-gpu", owned, pods_a_node, waiting)}
    for name in ("cloud-gpu-a", "cloud-gpu-b"):
        members = [node for row in catalog.cloud_pools() if row.cluster == name for node in rented[row.pool]]
        clusters[name] = _cluster(name, members, pods_a_node, 0)
    bindings = {pool: _binding(pool, len(members)) for pool, members in rented.items()}
    configured = {pool: Nodes(len(members)) for pool, members in rented.items()}
    return Readings(
        taken_at=NOW,
        use=UseReading(use=Percent(97.0), series=len(owned) * 8, dropped=0),
        clusters=clusters,
        stacks=(StackReading(stack="burst", configured=configured, bindings=bindings),),
        pools={pool: PoolReading(instances=tuple(_instances(members))) for pool, members in rented.items()},
    )


def snapshot_of(catalog: Catalog, nodes: int, pods_a_node: int, waiting: int) -> Snapshot:
    """The same, assembled."""
    return assemble(readings_of(catalog, nodes, pods_a_node, waiting), catalog, a_policy().sampling.use_signal)


def watched(snapshot: Snapshot, samples: int = 20) -> Memory:
    """The memory of an agent that saw this state for `samples` ticks."""
    memory = Memory()
    for step in range(samples, 0, -1):
        past = replace(snapshot, taken_at=NOW - step * timedelta(seconds=30))
        memory = observe(memory, past, timedelta(minutes=2))
    return memory


def _nodes(row: PoolRow, count: int) -> list[ClusterNode]:
    return [
        ClusterNode(
            name=f"{row.pool}-{number:05d}",
            labels=row.node_labels(),
            is_ready=True,
            is_cordoned=False,
            gpus=row.gpus_per_node,
            instance_id=f"i-{row.pool}-{number:05d}",
            created_at=NOW - timedelta(hours=5),
        )
        for number in range(count)
    ]


def _cluster(name: str, nodes: list[ClusterNode], pods_a_node: int, waiting: int) -> ClusterReading:
    running = (_pod(f"{node.name}-{number}", node.name) for node in nodes for number in range(pods_a_node))
    queued = (_pod(f"wait-{number:05d}", None, gpus=(1, 2, 4, 8)[number % 4]) for number in range(waiting))
    return ClusterReading(cluster=name, nodes=tuple(nodes), pods=(*running, *queued))


def _pod(name: str, node: str | None, gpus: int = 1) -> ClusterPod:
    return ClusterPod(
        name=name,
        node=node,
        gpus=Gpus(gpus),
        task=name,
        department="research",
        gpu_memory=GiB(40),
        preemptible=False,
        created_at=NOW - timedelta(minutes=10),
    )


def _binding(pool: str, nodes: int) -> PoolBinding:
    return PoolBinding(pool=pool, node_pool_id=f"np-{pool}", scaling_group=f"asg-{pool}", applied=Nodes(nodes))


def _instances(nodes: list[ClusterNode]) -> Iterator[CloudInstance]:
    for node in nodes:
        yield CloudInstance(
            instance_id=node.instance_id, launched_at=node.created_at, is_protected=False, is_leaving=False
        )
