"""Builders of core values with sane defaults: `a_snapshot(queue=tasks(6))`. Each gives a fresh value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from agent.core.decide import decide
from agent.core.decision import Decision
from agent.core.memory import Memory, observe
from agent.core.policy import CoolDown, IdleReclaim, Limits, Policy, QueuePressure, Sampling, UseSignal
from agent.core.snapshot import LocalState, NodePhase, NodeView, PoolState, QueuedTask, Snapshot, Unknown
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
from contract.units import GiB, Gpus, Money, Nodes, Percent

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
EVERY = timedelta(seconds=30)

_BOOT = BootTime(fastest=timedelta(minutes=4), slowest=timedelta(minutes=9), deadline=timedelta(minutes=20))
_OWNED = PoolRow(
    pool="idc-a100",
    site="idc",
    cluster="idc-gpu",
    provider=Provider.ONPREM,
    region="idc",
    zones=("hall-1",),
    instance_types=("a100-8x80",),
    gpu_model=GpuModel.A100,
    gpus_per_node=Gpus(8),
    gpu_memory=GiB(80),
    quota=Nodes(12),
    price=Money(Decimal(36), "CNY"),
    price_date=date(2026, 11, 1),
    price_source="test",
    billing=Billing.OWNED,
    boot=BootTime(fastest=timedelta(0), slowest=timedelta(0), deadline=timedelta(0)),
    interruption=InterruptionBand.NONE,
    hosts=("training",),
)
_ACK = replace(
    _OWNED,
    pool="ack-a100-od",
    site="ali-shanghai",
    cluster="cloud-gpu-a",
    provider=Provider.ALICLOUD,
    region="cn-shanghai",
    zones=("cn-shanghai-l",),
    instance_types=("ecs.gn7e-c16g1.32xlarge",),
    quota=Nodes(20),
    price=Money(Decimal("277.933"), "CNY"),
    billing=Billing.ON_DEMAND,
    boot=_BOOT,
)
_EKS_SPOT = replace(
    _ACK,
    pool="eks-l4-spot",
    site="aws-us-east-1",
    cluster="cloud-gpu-b",
    provider=Provider.AWS,
    region="us-east-1",
    zones=("us-east-1a",),
    instance_types=("g6.48xlarge",),
    gpu_model=GpuModel.L4,
    gpu_memory=GiB(24),
    quota=Nodes(12),
    price=Money(Decimal("4.14"), "USD"),
    billing=Billing.SPOT,
    interruption=InterruptionBand.ABOVE_20,
)


def a_catalog(*rows: PoolRow) -> Catalog:
    """The rows given, or one owned pool, one on-demand pool and one spot pool."""
    chosen = rows or (_OWNED, _ACK, _EKS_SPOT)
    rate = ExchangeRate(currency="USD", rate=Decimal("7.12"), rate_date=date(2026, 11, 2))
    return Catalog(home_currency="CNY", pools={row.pool: row for row in chosen}, rates={"USD": rate})


def an_owned_row() -> PoolRow:
    """12 nodes of 8 A100."""
    return _OWNED


def an_on_demand_row(pool: str = "ack-a100-od", quota: int = 20, price: str = "277.933") -> PoolRow:
    """An ACK pool of 8 A100."""
    return replace(_ACK, pool=pool, quota=Nodes(quota), price=Money(Decimal(price), "CNY"))


def a_spot_row() -> PoolRow:
    """An EKS pool of 8 L4, priced in dollars."""
    return _EKS_SPOT


def a_policy() -> Policy:
    """R4.1 and R4.2 to the letter, with loose limits."""
    return Policy(
        sampling=Sampling(
            every=EVERY, min_valid=Percent(80.0), stale_after=timedelta(minutes=2), use_signal=UseSignal.UTILIZATION
        ),
        queue_pressure=QueuePressure(
            local_use_at_least=Percent(85.0),
            hold_for=timedelta(minutes=5),
            queued_tasks_at_least=5,
            min_step=Nodes(5),
            max_step=Nodes(10),
        ),
        idle_reclaim=IdleReclaim(
            local_use_at_most=Percent(40.0),
            hold_for=timedelta(minutes=10),
            node_idle_for=timedelta(hours=1),
            max_step=Nodes(10),
        ),
        cool_down=CoolDown(
            after_grow=timedelta(minutes=5),
            after_shrink=timedelta(minutes=10),
            back_off=timedelta(minutes=3),
            max_back_off=timedelta(minutes=30),
        ),
        limits=Limits(max_cloud_nodes=Nodes(40), max_cost_per_hour=Money(Decimal(20000), "CNY")),
    )


def a_task(number: int = 0, gpus: int = 8, *, memory: int = 80, preemptible: bool = False) -> QueuedTask:
    """One waiting task in pods of at most 8 GPUs."""
    return QueuedTask(
        task=f"task-{number:04d}",
        department="production",
        gpus=Gpus(gpus),
        gpus_per_pod=Gpus(min(gpus, 8)),
        gpu_memory=GiB(memory),
        preemptible=preemptible,
        queued_since=NOON,
        pods=-(-gpus // min(gpus, 8)),
    )


def tasks(count: int, gpus: int = 8) -> tuple[QueuedTask, ...]:
    """`count` equal tasks."""
    return tuple(a_task(number, gpus) for number in range(count))


def a_node(
    number: int = 0,
    phase: NodePhase = NodePhase.GPU_READY,
    *,
    pool: str = "ack-a100-od",
    used: int = 0,
    since: datetime = NOON - timedelta(hours=3),
) -> NodeView:
    """A rented node; GPUs are allocatable once it is ready."""
    ready = phase in (NodePhase.GPU_READY, NodePhase.DRAINING)
    return NodeView(
        name=f"node-{number:03d}",
        pool=pool,
        phase=phase,
        since=since,
        gpus=Gpus(8 if ready else 0),
        gpus_used=Gpus(used),
        instance_id=f"i-{number:03d}",
    )


def a_pool(
    *nodes: NodeView,
    pool: str = "ack-a100-od",
    configured: int | None = None,
    applied: int | None = None,
    observed: Unknown | None = None,
) -> PoolState:
    """A pool whose sizes agree with its nodes unless said otherwise."""
    size = Nodes(len(nodes) if configured is None else configured)
    return PoolState(
        pool=pool,
        stack="burst-aws" if pool.startswith("eks") else "burst-alicloud",
        configured=size,
        applied=size if applied is None else Nodes(applied),
        observed=observed or nodes,
    )


def a_snapshot(
    at: datetime = NOON,
    *,
    use: float | Unknown = 95.0,
    queue: Sequence[QueuedTask] | Unknown = (),
    pools: Sequence[PoolState] | None = None,
    catalog: Catalog | None = None,
    local: LocalState | Unknown | None = None,
) -> Snapshot:
    """A full owned cluster, no queue, empty rented pools."""
    return Snapshot(
        taken_at=at,
        catalog=catalog or a_catalog(),
        local_use=use if isinstance(use, Unknown) else Percent(use),
        local=local or LocalState(gpus=Gpus(96), gpus_used=Gpus(96)),
        queue=queue if isinstance(queue, Unknown) else tuple(queue),
        pools=tuple(pools) if pools is not None else (a_pool(), a_pool(pool="eks-l4-spot")),
    )


def watched(snapshot: Snapshot, span: timedelta = timedelta(hours=2), *, use: float | Unknown | None = None) -> Memory:
    """The memory of an agent that saw the snapshot's own state (or `use`) at every sample of `span` before it."""
    memory = Memory()
    steps = span // EVERY
    for step in range(steps, 0, -1):
        past = replace(snapshot, taken_at=snapshot.taken_at - step * EVERY)
        if use is not None:
            past = replace(past, local_use=use if isinstance(use, Unknown) else Percent(use))
        memory = observe(memory, past, timedelta(minutes=2))
    return memory


def decided(snapshot: Snapshot, memory: Memory | None = None, policy: Policy | None = None) -> Decision:
    """The decision on a snapshot by an agent that has watched its state for two hours."""
    return decide(snapshot, policy or a_policy(), watched(snapshot) if memory is None else memory)[0]
