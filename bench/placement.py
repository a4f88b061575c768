"""Tasks placed a second over hundreds of instance types. Karpenter's floor is 100 pods a second over 400 types."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from statistics import median

from agent.core.market import offers
from agent.core.placement import place
from agent.core.snapshot import LocalState, PoolState, QueuedTask, Snapshot
from contract.catalog import Billing, BootTime, Catalog, GpuModel, InterruptionBand, PoolRow, Provider
from contract.units import GiB, Gpus, Money, Nodes, Percent
from contract.work import DataClass, Tier, WorkKind

_NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
_POOLS, _STEP, _UNBOUND = 400, 10, 1_000_000
_SIZES = (1_000, 10_000)
_CARDS = ((GpuModel.L4, 24), (GpuModel.L40S, 48), (GpuModel.A100, 80), (GpuModel.H100, 80), (GpuModel.H200, 141))
_WAYS = (Billing.ON_DEMAND, Billing.SPOT, Billing.RESERVED, Billing.OFF_PEAK)


def measure() -> list[tuple[str, str]]:
    """Rows of (what, figure)."""
    rows = []
    for count in _SIZES:
        for most, what in ((_STEP, f"a step of {_STEP} nodes"), (_UNBOUND, "as many nodes as it takes")):
            for tasks, mix in ((_alike(count), "mixed queue"), (_unlike(count), "no two tasks alike")):
                rate, placed = _rate(tasks, Nodes(most))
                name = f"{count:,} tasks, {_POOLS} pools, {what}, {mix}"
                rows.append((name, f"{rate:,.0f} tasks a CPU second, {placed:,} placed"))
    return rows


def _rate(tasks: list[QueuedTask], most: Nodes) -> tuple[float, int]:
    snapshot = _site()
    taken, placed = [], 0
    for _ in range(3):
        started = time.process_time()
        made = place(snapshot, tasks, offers(snapshot, {}), most)
        taken.append(time.process_time() - started)
        placed = len(made.homes)
    return len(tasks) / median(taken), placed


def _alike(count: int) -> list[QueuedTask]:
    """Every size, tier, kind, need of memory and a spread of runtimes, with one gang in sixteen."""
    return [_task(number) for number in range(count)]


def _unlike(count: int) -> list[QueuedTask]:
    """The worst case: each task asks for labels of its own, so that nothing found out for one helps the next."""
    return [replace(_task(number), wants=(("spillway.dev/site", ("s", str(number))),)) for number in range(count)]


def _task(number: int) -> QueuedTask:
    per_pod, pods = (1, 2, 4, 8)[number % 4], 4 if number % 16 == 7 else 1
    return QueuedTask(
        task=f"task-{number:06d}",
        department="research",
        gpus=Gpus(per_pod * pods),
        gpus_per_pod=Gpus(per_pod),
        gpu_memory=GiB((0, 24, 40, 80)[number // 4 % 4]),
        preemptible=number % 3 == 0,
        queued_since=_NOW - timedelta(seconds=number % 997),
        pods=pods,
        tier=list(Tier)[number % 5],
        kind=list(WorkKind)[number % 6],
        data=DataClass.LINK_ONLY if number % 50 == 0 else DataClass.OPEN,
        runtime=None if number % 7 == 0 else timedelta(minutes=1 + number * 37 % 5_000),
    )


def _site() -> Snapshot:
    rows = [_row(number) for number in range(_POOLS)]
    return Snapshot(
        taken_at=_NOW,
        catalog=Catalog(home_currency="CNY", pools={row.pool: row for row in rows}, rates={}),
        local_use=Percent(97.0),
        local=LocalState(gpus=Gpus(96), gpus_used=Gpus(96)),
        queue=(),
        pools=tuple(
            PoolState(pool=row.pool, stack="burst", configured=Nodes(0), applied=Nodes(0), observed=()) for row in rows
        ),
    )


def _row(number: int) -> PoolRow:
    model, memory = _CARDS[number % len(_CARDS)]
    billing = _WAYS[number // 5 % len(_WAYS)]
    return PoolRow(
        pool=f"pool-{number:03d}",
        site="s",
        cluster="cloud-gpu-a",
        provider=Provider.ALICLOUD,
        region="cn-shanghai",
        zones=("cn-shanghai-l",),
        instance_types=(f"type-{number}",),
        gpu_model=model,
        gpus_per_node=Gpus((1, 2, 4, 8)[number // 20 % 4]),
        gpu_memory=GiB(memory),
        quota=Nodes(20),
        price=Money(Decimal(10 + number * 7 % 400), "CNY"),
        price_date=date(2026, 11, 1),
        price_source="made up",
        billing=billing,
        boot=BootTime(fastest=timedelta(minutes=4), slowest=timedelta(minutes=9), deadline=timedelta(minutes=20)),
        interruption=InterruptionBand.UNDER_10 if billing is Billing.SPOT else InterruptionBand.NONE,
        hosts=tuple(WorkKind),
    )
