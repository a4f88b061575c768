"""The course of a run, a sample each 30 virtual seconds, for the report's picture.

Samples show what is, not why. Must not change anything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from contract.units import Money
from sim.world.bill import billed_seconds, cost_of
from sim.world.dispatch import Dispatcher
from sim.world.fleet import Fleet
from sim.world.ground import Ground
from sim.world.nodes import Node, Phase

INTERVAL_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """GPUs at one moment. `demand` is what running and waiting jobs ask for together."""

    at_s: float
    demand: int
    queued_jobs: int
    local_ready: int
    local_held: int
    cloud_held: int
    cloud_by_phase: dict[Phase, int]
    spent: Money


class Timeline:
    """All samples so far."""

    def __init__(self, ground: Ground, fleet: Fleet, dispatcher: Dispatcher) -> None:
        self._ground = ground
        self._fleet = fleet
        self._dispatcher = dispatcher
        self._closed = Decimal(0)
        self._closed_count = 0
        self.samples: list[Sample] = []
        fleet.followers.append(self._close)
        ground.agenda.after(0.0, self._tick)

    def _tick(self) -> None:
        self.samples.append(self.sample())
        self._ground.agenda.after(INTERVAL_S, self._tick)

    def sample(self) -> Sample:
        """The state of this moment."""
        local = [node for node in self._fleet.nodes.values() if node.is_local]
        cloud = [node for node in self._fleet.nodes.values() if not node.is_local]
        phases: Counter[Phase] = Counter()
        for node in cloud:
            phases[node.phase] += node.machine.gpus
        ready = sum(node.machine.gpus for node in local if node.phase is Phase.GPU_READY)
        return Sample(
            at_s=self._ground.now_s,
            demand=self._dispatcher.demand_gpus,
            queued_jobs=len(self._dispatcher.queue),
            local_ready=ready,
            local_held=_held(local),
            cloud_held=_held(cloud),
            cloud_by_phase=dict(phases),
            spent=self._spent(cloud),
        )

    def _close(self, node: Node, before: Phase) -> None:
        if node.phase is Phase.GONE and not node.is_local:
            self._closed += self._cost(node)

    def _spent(self, cloud: Iterable[Node]) -> Money:
        amount = sum((self._cost(node) for node in cloud), self._closed)
        return Money(amount, self._ground.catalog.home_currency)

    def _cost(self, node: Node) -> Decimal:
        seconds = billed_seconds(node.ordered_s, self._ground.now_s)
        cost = cost_of(node.row.price, seconds)
        return self._ground.catalog.in_home_currency(cost).amount


def _held(nodes: Iterable[Node]) -> int:
    return sum(node.machine.gpus - node.free for node in nodes)
