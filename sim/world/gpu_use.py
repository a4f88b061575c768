"""GPU-seconds over time: how many stood ready, how many were held by jobs, how many were paid for.

Integrals, exact between changes. Must not know why a number changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.world.agenda import Agenda
from sim.world.nodes import Node, Phase


@dataclass(slots=True)
class Gauge:
    """A number over time and its integral."""

    value: int = 0
    integral: float = 0.0
    since_s: float = 0.0

    def add(self, delta: int, now_s: float) -> None:
        """Change the number now."""
        self.integral += self.value * (now_s - self.since_s)
        self.value += delta
        self.since_s = now_s

    def until(self, now_s: float) -> float:
        """The integral up to now."""
        return self.integral + self.value * (now_s - self.since_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSeconds:
    """Integrals up to a moment. `paid` starts at the order, `ready` at allocatable GPUs."""

    allocated: float
    ready: float
    paid: float

    @property
    def use(self) -> float | None:
        """Share of the ready GPU time that jobs held, 0 to 1; None when nothing was ready."""
        return self.allocated / self.ready if self.ready > 0 else None

    @property
    def use_of_paid(self) -> float | None:
        """Share of the paid GPU time that jobs held; None when nothing was paid."""
        return self.allocated / self.paid if self.paid > 0 else None


@dataclass(slots=True)
class _Side:
    allocated: Gauge = field(default_factory=Gauge)
    ready: Gauge = field(default_factory=Gauge)
    paid: Gauge = field(default_factory=Gauge)

    def until(self, now_s: float) -> GpuSeconds:
        return GpuSeconds(
            allocated=self.allocated.until(now_s),
            ready=self.ready.until(now_s),
            paid=self.paid.until(now_s),
        )


class UseMeter:
    """Follows nodes and pods; one side for owned machines, one for rented ones."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self._local = _Side()
        self._cloud = _Side()

    def added(self, node: Node) -> None:
        """A machine was ordered, or stands in the hall."""
        side = self._side(node)
        side.paid.add(node.machine.gpus, self._agenda.now_s)
        if node.phase is Phase.GPU_READY:
            side.ready.add(node.machine.gpus, self._agenda.now_s)

    def moved(self, node: Node, before: Phase) -> None:
        """A machine took a step of life."""
        side, gpus, now_s = self._side(node), node.machine.gpus, self._agenda.now_s
        if node.phase is Phase.GPU_READY:
            side.ready.add(gpus, now_s)
        elif before is Phase.GPU_READY:
            side.ready.add(-gpus, now_s)
        if node.phase is Phase.GONE:
            side.paid.add(-gpus, now_s)

    def held(self, node: Node, gpus: int) -> None:
        """A pod took GPUs, or gave them back when `gpus` is negative."""
        self._side(node).allocated.add(gpus, self._agenda.now_s)

    def local(self) -> GpuSeconds:
        """Integrals of the owned machines up to now."""
        return self._local.until(self._agenda.now_s)

    def cloud(self) -> GpuSeconds:
        """Integrals of the rented machines up to now."""
        return self._cloud.until(self._agenda.now_s)

    def _side(self, node: Node) -> _Side:
        return self._local if node.is_local else self._cloud
