"""Small worlds for the twin's tests: rows, a catalogue, jobs, groups; each with sane defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from contract.catalog import (
    Billing,
    BootTime,
    Catalog,
    ExchangeRate,
    GpuModel,
    InterruptionBand,
    PoolRow,
    Provider,
)
from contract.units import GiB, Gpus, Money, Nodes
from sim.world.group_spec import GroupSpec
from sim.world.nodes import Taint
from sim.world.workload import Job
from sim.world.world import World

BOOT = BootTime(fastest=timedelta(minutes=4), slowest=timedelta(minutes=9), deadline=timedelta(minutes=20))
_LOCAL = PoolRow(
    pool="idc-a100",
    site="idc",
    cluster="idc-gpu",
    provider=Provider.ONPREM,
    region="idc",
    zones=("hall-1",),
    instance_types=("dgx-a100",),
    gpu_model=GpuModel.A100,
    gpus_per_node=Gpus(8),
    gpu_memory=GiB(80),
    quota=Nodes(2),
    price=Money(Decimal(120), "CNY"),
    price_date=date(2026, 11, 1),
    price_source="test",
    billing=Billing.OWNED,
    boot=BOOT,
    interruption=InterruptionBand.NONE,
    hosts=("training",),
)
_ACK = replace(
    _LOCAL,
    pool="ack-a100",
    site="shanghai",
    cluster="cloud-gpu-a",
    provider=Provider.ALICLOUD,
    region="cn-shanghai",
    zones=("cn-shanghai-l", "cn-shanghai-m"),
    instance_types=("ecs.gn7e-c16g1.32xlarge",),
    quota=Nodes(10),
    price=Money(Decimal("277.933"), "CNY"),
    billing=Billing.ON_DEMAND,
)
_ACK_SPOT = replace(
    _ACK,
    pool="ack-a100-spot",
    price=Money(Decimal("111.17"), "CNY"),
    billing=Billing.SPOT,
    interruption=InterruptionBand.UNDER_10,
)
_EKS = replace(
    _LOCAL,
    pool="eks-h100",
    site="virginia",
    cluster="cloud-gpu-b",
    provider=Provider.AWS,
    region="us-east-1",
    zones=("us-east-1a", "us-east-1b"),
    instance_types=("p5.48xlarge",),
    gpu_model=GpuModel.H100,
    quota=Nodes(6),
    price=Money(Decimal("55.04"), "USD"),
    billing=Billing.ON_DEMAND,
)
_EKS_SPOT = replace(
    _EKS,
    pool="eks-l4-spot",
    instance_types=("g6.12xlarge",),
    gpu_model=GpuModel.L4,
    gpus_per_node=Gpus(4),
    gpu_memory=GiB(24),
    price=Money(Decimal("1.84"), "USD"),
    billing=Billing.SPOT,
    interruption=InterruptionBand.UNDER_10,
)
ROWS = {row.pool: row for row in (_LOCAL, _ACK, _ACK_SPOT, _EKS, _EKS_SPOT)}


def a_catalog(local_nodes: int = 2) -> Catalog:
    """Two owned nodes, two ACK pools, two EKS pools."""
    rows = ROWS | {"idc-a100": replace(_LOCAL, quota=Nodes(local_nodes))}
    rate = ExchangeRate(currency="USD", rate=Decimal("7.1"), rate_date=date(2026, 11, 1))
    return Catalog(home_currency="CNY", pools=rows, rates={"USD": rate})


def a_job(name: str = "job-1", **changes: object) -> Job:
    """One GPU node's worth of work, now, for ten minutes."""
    job = Job(
        name=name,
        submitted_s=0.0,
        duration_s=600.0,
        gpus=8,
        department="research",
        is_preemptible=True,
        gpu_memory_gib=0,
    )
    return replace(job, **changes)  # type: ignore[arg-type]


def a_world(jobs: Sequence[Job] = (), *, seed: int = 1, local_nodes: int = 2) -> World:
    """A world at second 0."""
    world = World(a_catalog(local_nodes), jobs, seed=seed)
    world.advance_to(0.0)
    return world


def a_spec(pool: str = "ack-a100", **changes: object) -> GroupSpec:
    """What the Pulumi program would ask for this row."""
    row = ROWS[pool]
    spec = GroupSpec(
        provider=row.provider,
        cluster=f"{row.cluster}-cluster",
        name=row.pool,
        region=row.region,
        zones=row.zones,
        instance_types=row.instance_types,
        is_spot=row.is_preemptible,
        minimum=0,
        maximum=10,
        desired=0,
        labels=row.node_labels(),
        taints=tuple(Taint(*taint) for taint in row.node_taints()),
    )
    return replace(spec, **changes)  # type: ignore[arg-type]
