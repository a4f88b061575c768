"""Carrying out an order to vacate: cordon nodes and ask the cluster to end what was named on them. No arithmetic.

Touches no stack. What is refused or fails now is decided again at the next tick; a node stays cordoned meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent.core.decision import Proposal, Vacated
from agent.errors import SpillwayError
from agent.ports import NodeGate
from contract.catalog import Catalog


@dataclass(frozen=True, slots=True, kw_only=True)
class VacateReport:
    """What people should know, the instances that take work again, and the first failure."""

    notes: tuple[str, ...]
    released: tuple[str, ...]
    error: SpillwayError | None = None


def vacate(chosen: Proposal, catalog: Catalog, gates: Mapping[str, NodeGate]) -> VacateReport:
    """Do it node by node; one that fails does not keep the others."""
    notes: list[str] = []
    released: list[str] = []
    errors: list[SpillwayError] = []
    for node in (*chosen.vacates, *chosen.releases):
        gate = gates[catalog.pools[node.pool].cluster]
        try:
            if node in chosen.vacates:
                notes += _empty(node, gate)
            else:
                gate.uncordon(node.node)
                released.append(node.instance)
        except SpillwayError as error:
            errors.append(error)
    return VacateReport(notes=tuple(notes), released=tuple(released), error=next(iter(errors), None))


def _empty(node: Vacated, gate: NodeGate) -> list[str]:
    gate.cordon(node.node)
    kept = gate.evict(node.node, node.tasks)
    return [f"{node.node}: a disruption budget keeps {', '.join(kept)}; asked again at the next tick"] if kept else []
