"""May this work run in that pool at all? One rule a function, each with its own code and its figures (R6.2 to R6.4).

Rules are tried in one order, so that a pool that is wrong in two ways always says the same one. Knows no
room and no price: what fits may still be full, closed or dearer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from agent.core.decision import Reason, ReasonCode
from agent.core.rules.placement import PlacementRules
from agent.core.snapshot import QueuedTask
from contract.catalog import Billing, PoolRow
from contract.units import GiB, Gpus
from contract.work import DataClass, Tier, WorkKind


class Demand(NamedTuple):
    """What decides whether a task fits a pool; tasks with equal demands fit alike."""

    gpus_per_pod: Gpus
    gpu_memory: GiB
    preemptible: bool
    wants: tuple[tuple[str, tuple[str, ...]], ...]
    tier: Tier
    kind: WorkKind
    data: DataClass
    needs_low_latency: bool
    paid_by: tuple[Billing, ...] = ()


@dataclass(frozen=True, slots=True)
class Host:
    """A catalogue row with the labels of its nodes, made once."""

    row: PoolRow
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Rule:
    """`asks`: what of a demand the rule looks at; `text`: why the pool cannot take it, None when it can."""

    code: ReasonCode
    asks: Callable[[Demand], object]
    text: Callable[[Demand, Host, PlacementRules], str | None]


class Misfits:
    """Of each demand the hosts that cannot take it, by their index, and why.

    Demands share most of what they ask: each rule is tried once for each value it has seen, not for each task.
    """

    __slots__ = ("_by_demand", "_by_value", "_hosts", "_rules")

    def __init__(self, hosts: Sequence[Host], rules: PlacementRules) -> None:
        self._hosts = hosts
        self._rules = rules
        self._by_value: dict[tuple[ReasonCode, object], dict[int, Reason]] = {}
        self._by_demand: dict[Demand, dict[int, Reason]] = {}

    def of(self, demand: Demand) -> Mapping[int, Reason]:
        """The hosts that cannot; who is not named can. Of several reasons the first rule's."""
        found = self._by_demand.get(demand)
        if found is None:
            found = self._by_demand[demand] = {}
            for rule in reversed(_RULES):
                found.update(self._failing(rule, demand))
        return found

    def _failing(self, rule: _Rule, demand: Demand) -> dict[int, Reason]:
        key = (rule.code, rule.asks(demand))
        failing = self._by_value.get(key)
        if failing is None:
            told = ((index, rule.text(demand, host, self._rules)) for index, host in enumerate(self._hosts))
            failing = {index: Reason(code=rule.code, text=text) for index, text in told if text}
            self._by_value[key] = failing
        return failing


def demand_of(task: QueuedTask) -> Demand:
    """What a task asks of any pool."""
    return Demand(
        gpus_per_pod=task.gpus_per_pod,
        gpu_memory=task.gpu_memory,
        preemptible=task.preemptible,
        wants=task.wants,
        tier=task.tier,
        kind=task.kind,
        data=task.data,
        needs_low_latency=task.needs_low_latency,
        paid_by=task.paid_by,
    )


def misfit(demand: Demand, host: Host, rules: PlacementRules) -> Reason | None:
    """Why one pool cannot take such work; None when it can."""
    for rule in _RULES:
        if text := rule.text(demand, host, rules):
            return Reason(code=rule.code, text=text)
    return None


def _no_cpu_pool(demand: Demand, host: Host, _rules: PlacementRules) -> str | None:
    if demand.gpus_per_pod > 0:
        return None
    return f"no CPU pool: the work asks for no GPU, its nodes have {host.row.gpus_per_node}"


def _data_stays(demand: Demand, host: Host, rules: PlacementRules) -> str | None:
    if demand.data is DataClass.OPEN:
        return None
    if demand.data is DataClass.SENSITIVE:
        return f"sensitive data never leaves, and {host.row.site} is not ours"
    if host.row.site in rules.link_only_sites:
        return None
    allowed = ", ".join(rules.link_only_sites) or "no site"
    return f"its data may be read over the link only: at {allowed}, not at {host.row.site}"


def _latency(demand: Demand, host: Host, _rules: PlacementRules) -> str | None:
    return f"low latency is needed, and {host.row.region} is far" if demand.needs_low_latency else None


def _not_hosted(demand: Demand, host: Host, _rules: PlacementRules) -> str | None:
    if demand.kind is WorkKind.OTHER or demand.kind in host.row.hosts:
        return None
    return f"it does not host {demand.kind}, only {', '.join(host.row.hosts)}"


def _too_small(demand: Demand, host: Host, _rules: PlacementRules) -> str | None:
    if demand.gpus_per_pod <= host.row.gpus_per_node:
        return None
    return f"a pod needs {demand.gpus_per_pod} GPUs on one node, its nodes have {host.row.gpus_per_node}"


def _little_memory(demand: Demand, host: Host, _rules: PlacementRules) -> str | None:
    row = host.row
    if demand.gpu_memory <= row.gpu_memory:
        return None
    return f"{demand.gpu_memory} GiB a GPU are needed, {row.gpu_model} has {row.gpu_memory}"


def _other_labels(demand: Demand, host: Host, _rules: PlacementRules) -> str | None:
    for label, values in demand.wants:
        if host.labels.get(label) not in values:
            return f"{label} must be {' or '.join(values)}, its nodes have {host.labels.get(label, 'none')}"
    return None


def _no_spot(demand: Demand, host: Host, _rules: PlacementRules) -> str | None:
    if not host.row.is_preemptible:
        return None
    if demand.kind is WorkKind.PRETRAINING:
        return "pretraining never runs on spot"
    if demand.preemptible:
        return None
    return f"the work may not be interrupted, spot is, {host.row.interruption} a month"


def _not_for_kind(demand: Demand, host: Host, rules: PlacementRules) -> str | None:
    ways = rules.kinds[demand.kind]
    if host.row.billing in ways:
        return None
    return f"{demand.kind} is paid {' or '.join(ways)}, not {host.row.billing}"


def _not_for_tier(demand: Demand, host: Host, rules: PlacementRules) -> str | None:
    ways = rules.tiers[demand.tier]
    if host.row.billing in ways:
        return None
    return f"tier {demand.tier} is paid {' or '.join(ways)}, not {host.row.billing}"


def _not_for_task(demand: Demand, host: Host, _rules: PlacementRules) -> str | None:
    if not demand.paid_by or host.row.billing in demand.paid_by:
        return None
    return f"to meet its deadline it is paid {' or '.join(demand.paid_by)} now, not {host.row.billing}"


_RULES = (
    _Rule(ReasonCode.NO_CPU_POOL, lambda demand: demand.gpus_per_pod, _no_cpu_pool),
    _Rule(ReasonCode.DATA_STAYS, lambda demand: demand.data, _data_stays),
    _Rule(ReasonCode.LATENCY, lambda demand: demand.needs_low_latency, _latency),
    _Rule(ReasonCode.NOT_HOSTED, lambda demand: demand.kind, _not_hosted),
    _Rule(ReasonCode.TOO_SMALL, lambda demand: demand.gpus_per_pod, _too_small),
    _Rule(ReasonCode.LITTLE_MEMORY, lambda demand: demand.gpu_memory, _little_memory),
    _Rule(ReasonCode.OTHER_LABELS, lambda demand: demand.wants, _other_labels),
    _Rule(ReasonCode.NO_SPOT, lambda demand: (demand.kind, demand.preemptible), _no_spot),
    _Rule(ReasonCode.KIND_BILLING, lambda demand: demand.kind, _not_for_kind),
    _Rule(ReasonCode.TIER_BILLING, lambda demand: demand.tier, _not_for_tier),
    _Rule(ReasonCode.DEADLINE, lambda demand: demand.paid_by, _not_for_task),
)
