"""The catalogue: one row is a pool, its node labels, its price and its limits (R1.1, R1.2, R1.4).

The same row becomes the cloud's node pool, the labels of its nodes and the planner's offer; there
is no second list. Must not decide which row to use.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal, InvalidOperation
from enum import StrEnum
from pathlib import Path

from contract import labels
from contract.fields import Fields, Findings
from contract.hours import Hours, read_hours
from contract.units import GiB, Gpus, Money, Nodes, currencies
from contract.yaml_document import read_document

_POOL_NAME = re.compile(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?")


class Provider(StrEnum):
    """Who runs the machines."""

    ONPREM = "onprem"
    ALICLOUD = "alicloud"
    AWS = "aws"


class Billing(StrEnum):
    """How a node-hour is paid."""

    OWNED = "owned"
    RESERVED = "reserved"
    ON_DEMAND = "on_demand"
    SPOT = "spot"
    OFF_PEAK = "off_peak"


class InterruptionBand(StrEnum):
    """Monthly chance that the cloud takes a node back, in the bands of AWS' Spot Advisor."""

    NONE = "none"
    UNDER_5 = "<5%"
    UNDER_10 = "5-10%"
    UNDER_15 = "10-15%"
    UNDER_20 = "15-20%"
    ABOVE_20 = ">20%"


class GpuModel(StrEnum):
    """GPU models that may stand in a catalogue; the memory a card may have is in _CARD_MEMORY."""

    T4 = "T4"
    V100 = "V100"
    A10 = "A10"
    L4 = "L4"
    L20 = "L20"
    L40S = "L40S"
    A100 = "A100"
    A800 = "A800"
    H20 = "H20"
    H100 = "H100"
    H800 = "H800"
    H200 = "H200"


_CARD_MEMORY = {
    GpuModel.T4: (16,),
    GpuModel.V100: (16, 32),
    GpuModel.A10: (24,),
    GpuModel.L4: (24,),
    GpuModel.L20: (48,),
    GpuModel.L40S: (48,),
    GpuModel.A100: (40, 80),
    GpuModel.A800: (40, 80),
    GpuModel.H20: (96, 141),
    GpuModel.H100: (80,),
    GpuModel.H800: (80,),
    GpuModel.H200: (141,),
}
# Upper limits of one node group or pool: EKS managed node group 450 nodes (service quota default);
# ACK node pool scaling_config max_size 1000.
_PROVIDER_LIMIT = {Provider.ONPREM: 5000, Provider.AWS: 450, Provider.ALICLOUD: 1000}
_ON_CLOUD = (Billing.RESERVED, Billing.ON_DEMAND, Billing.SPOT, Billing.OFF_PEAK)


@dataclass(frozen=True, slots=True, kw_only=True)
class BootTime:
    """From the cloud's create call to allocatable GPUs: the usual span, and when to give up."""

    fastest: timedelta
    slowest: timedelta
    deadline: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolRow:
    """One row of the catalogue. `price` is per node-hour, as of `price_date`. `hours`: it is rented then only."""

    pool: str
    site: str
    cluster: str
    provider: Provider
    region: str
    zones: tuple[str, ...]
    instance_types: tuple[str, ...]
    gpu_model: GpuModel
    gpus_per_node: Gpus
    gpu_memory: GiB
    quota: Nodes
    price: Money
    price_date: date
    price_source: str
    billing: Billing
    boot: BootTime
    interruption: InterruptionBand
    hosts: tuple[str, ...]
    hours: Hours | None = None

    @property
    def is_cloud(self) -> bool:
        """Whether the pool is rented, so that it can grow and shrink."""
        return self.provider is not Provider.ONPREM

    @property
    def is_preemptible(self) -> bool:
        """Whether the cloud may take nodes back with a short notice."""
        return self.billing is Billing.SPOT

    def node_labels(self) -> dict[str, str]:
        """The labels that every node of this pool carries."""
        return {
            labels.POOL: self.pool,
            labels.SITE: self.site,
            labels.GPU_MODEL: self.gpu_model.value,
            labels.GPU_MEMORY: str(self.gpu_memory),
            labels.PREEMPTIBLE: "true" if self.is_preemptible else "false",
        }

    def node_taints(self) -> tuple[tuple[str, str, labels.TaintEffect], ...]:
        """Taints of a rented node, so that only work placed there by rule lands there."""
        if not self.is_cloud:
            return ()
        taints = [(labels.BURST_TAINT, "true", labels.TaintEffect.NO_SCHEDULE)]
        if self.is_preemptible:
            taints.append((labels.PREEMPTIBLE_TAINT, "true", labels.TaintEffect.NO_SCHEDULE))
        return tuple(taints)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeRate:
    """How much home currency one unit of `currency` is worth, as of `rate_date`."""

    currency: str
    rate: Decimal
    rate_date: date


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """All pools, by name, and the rates that make their prices comparable."""

    home_currency: str
    pools: Mapping[str, PoolRow]
    rates: Mapping[str, ExchangeRate]

    def cloud_pools(self, provider: Provider | None = None) -> tuple[PoolRow, ...]:
        """The rented pools in the order of the file; of one provider when given."""
        rows = (row for row in self.pools.values() if row.is_cloud)
        return tuple(row for row in rows if provider is None or row.provider is provider)

    def onprem_pools(self) -> tuple[PoolRow, ...]:
        """The owned pools in the order of the file."""
        return tuple(row for row in self.pools.values() if not row.is_cloud)

    def in_home_currency(self, money: Money) -> Money:
        """Convert with the dated rate of the file; every currency of a price has one (checked at load)."""
        if money.currency == self.home_currency:
            return money
        return Money(money.amount * self.rates[money.currency].rate, self.home_currency)


def read_catalog(path: Path) -> Catalog:
    """Read and check `catalog.yaml`; raises InvalidInput with all problems."""
    value, findings = read_document(path)
    return parse_catalog(value, findings)


def parse_catalog(value: object, findings: Findings) -> Catalog:
    """Check a catalogue already read. Raises InvalidInput with all problems."""
    top = Fields(value, findings)
    home = top.take("home_currency", _currency, "CNY")
    rates = _rates(top.fields("rates", required=False))
    pools: dict[str, PoolRow] = {}
    for fields in top.rows("pools"):
        row = _row(fields)
        if row.pool in pools:
            fields.problem("pool", f"pool '{row.pool}' stands twice", "give each row its own name")
        if row.price.currency != home and row.price.currency not in rates:
            fields.problem(
                "price_per_node_hour", f"no rate for {row.price.currency}", f"add it under 'rates:' in {home}"
            )
        pools[row.pool] = row
    top.done()
    findings.raise_if_any()
    return Catalog(home_currency=home, pools=pools, rates=rates)


def _row(fields: Fields) -> PoolRow:
    provider = fields.choice("provider", Provider)
    billing = fields.choice("billing", Billing)
    model = fields.choice("gpu_model", GpuModel)
    row = PoolRow(
        pool=fields.take("pool", _pool_name, "unnamed"),
        site=fields.text("site"),
        cluster=fields.text("cluster"),
        provider=provider,
        region=fields.text("region"),
        zones=fields.texts("zones"),
        instance_types=fields.texts("instance_types"),
        gpu_model=model,
        gpus_per_node=Gpus(fields.integer("gpus_per_node", at_least=1, at_most=16)),
        gpu_memory=GiB(fields.integer("gpu_memory_gib", at_least=1)),
        quota=Nodes(fields.integer("quota_nodes", at_least=0)),
        price=fields.money("price_per_node_hour"),
        price_date=fields.date("price_date"),
        price_source=fields.text("price_source"),
        billing=billing,
        boot=_boot(fields.fields("boot")),
        interruption=fields.choice("interruption", InterruptionBand, InterruptionBand.NONE),
        hosts=fields.texts("hosts"),
        hours=read_hours(fields.fields("hours")) if "hours" in fields else None,
    )
    if fields.is_clean():
        _check_row(fields, row)
    fields.done()
    return row


def _check_row(fields: Fields, row: PoolRow) -> None:
    if row.gpu_memory not in _CARD_MEMORY[row.gpu_model]:
        sizes = " or ".join(str(size) for size in _CARD_MEMORY[row.gpu_model])
        fields.problem(
            "gpu_memory_gib",
            f"{row.gpu_model} has {sizes} GiB, not {row.gpu_memory}",
            "give the memory of one card",
        )
    limit = _PROVIDER_LIMIT[row.provider]
    if row.quota > limit:
        fields.problem(
            "quota_nodes",
            f"{row.quota} is above {row.provider}'s limit of {limit} for one pool",
            f"write {limit} or less",
        )
    if (row.billing is Billing.OWNED) == row.is_cloud:
        allowed = ", ".join(_ON_CLOUD) if row.is_cloud else "owned"
        fields.problem("billing", f"'{row.billing}' does not fit provider {row.provider}", f"use {allowed}")
    if (row.billing is Billing.OFF_PEAK and row.hours is None) or (row.hours is not None and not row.is_cloud):
        fix = "remove it" if row.hours else 'add hours: {zone: Asia/Shanghai, opens: "22:00", length: 8h}'
        fields.problem("hours", f"a pool that is {row.billing} {'has no' if row.hours else 'needs'} hours", fix)
    if (row.interruption is InterruptionBand.NONE) == row.is_preemptible:
        fix = "give the spot pool's band, such as '5-10%'" if row.is_preemptible else "remove it or write 'none'"
        fields.problem("interruption", f"'{row.interruption}' does not fit billing {row.billing}", fix)


def _boot(fields: Fields) -> BootTime:
    zero = timedelta(0)
    boot = BootTime(
        fastest=fields.duration("fastest"),
        slowest=fields.duration("slowest"),
        deadline=fields.duration("deadline"),
    )
    if not zero <= boot.fastest <= boot.slowest <= boot.deadline:
        fields.problem("", "fastest, slowest and deadline must not fall", "order them, such as 4m, 9m, 20m")
    fields.done()
    return boot


def _rates(fields: Fields) -> dict[str, ExchangeRate]:
    rates = {}
    for currency in fields.names():
        row = fields.fields(currency)
        rate = row.take("rate", _rate, Decimal(1))
        rates[currency] = ExchangeRate(currency=currency, rate=rate, rate_date=row.date("date"))
        row.done()
        if currency not in currencies():
            fields.problem(currency, "unknown currency", f"use one of {', '.join(currencies())}")
    fields.done()
    return rates


def _rate(value: object) -> Decimal:
    try:
        rate = Decimal(value) if isinstance(value, str) else Decimal("NaN")
    except InvalidOperation as error:
        raise ValueError(f'{value!r} is not a rate; quote it, such as "7.12"') from error
    if not rate.is_finite() or rate <= 0:
        raise ValueError(f'{value!r} is not a rate above 0; quote it, such as "7.12"')
    return rate


def _currency(value: object) -> str:
    if value not in currencies():
        raise ValueError(f"unknown currency {value!r}; known: {', '.join(currencies())}")
    return str(value)


def _pool_name(value: object) -> str:
    if not isinstance(value, str) or not _POOL_NAME.fullmatch(value):
        raise ValueError(f"{value!r} is not a pool name: small letters, digits and dashes, from a letter, 40 at most")
    return value
