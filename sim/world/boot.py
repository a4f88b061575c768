"""How a rented machine comes up: ordered, booting, joined, GPU-ready, or stuck on the way.

The row's `boot` span covers order to GPU-ready; joining lies at 55 to 70 % of it, because driver
and device plugin come after the kubelet. Must not know groups, jobs or money.
"""

from __future__ import annotations

from dataclasses import dataclass

from sim.world.faults import FaultKind, Target
from sim.world.fleet import Fleet
from sim.world.ground import Ground
from sim.world.node_names import gpu_labels
from sim.world.nodes import Node, Phase


@dataclass(frozen=True, slots=True)
class BootTimes:
    """Seconds after the order."""

    booting_s: float
    joined_s: float
    gpu_ready_s: float


class Boot:
    """Puts the steps of each new machine on the agenda."""

    def __init__(self, ground: Ground, fleet: Fleet) -> None:
        self._ground = ground
        self._fleet = fleet

    def start(self, node: Node) -> None:
        """The machine was ordered now; plan what follows."""
        times = self._times(node)
        target = target_of(node)
        strike = self._ground.faults.strike
        fails = strike(FaultKind.BOOT_FAILURE, target, self._ground.now_s, node.name)
        self._step(node, times.booting_s, Phase.ORDERED, Phase.BOOTING)
        if fails:
            self._step(node, times.joined_s, Phase.BOOTING, Phase.FAILED)
            return
        self._step(node, times.joined_s, Phase.BOOTING, Phase.JOINED)
        self._step(node, times.gpu_ready_s, Phase.JOINED, Phase.GPU_READY)

    def _times(self, node: Node) -> BootTimes:
        chance = self._ground.draws.stream("boot", node.instance_id)
        fastest = node.row.boot.fastest.total_seconds()
        slowest = node.row.boot.slowest.total_seconds()
        total = chance.uniform(fastest, slowest)
        running, joining = chance.uniform(0.05, 0.15), chance.uniform(0.55, 0.70)
        target, now_s = target_of(node), self._ground.now_s
        slow = self._ground.faults.strike(FaultKind.SLOW_BOOT, target, now_s, node.name)
        if slow:
            total = total * slow.factor + slow.delay_s
        late = self._ground.faults.strike(FaultKind.GPU_LATE, target, now_s, node.name)
        gpu_s = total + (late.delay_s if late else 0.0)
        return BootTimes(total * running, total * joining, gpu_s)

    def _step(self, node: Node, delay_s: float, expected: Phase, to: Phase) -> None:
        def step() -> None:
            if node.phase is not expected:
                return
            if to is Phase.GPU_READY:
                node.labels.update(gpu_labels(node.machine))
            self._fleet.move(node, to)

        if delay_s != float("inf"):
            self._ground.agenda.after(delay_s, step)


def target_of(node: Node) -> Target:
    """What a fault may name to hit this node."""
    return Target(
        pool=node.row.pool,
        instance_type=node.machine.name,
        zone=node.zone,
        cluster=node.cluster,
        provider=node.row.provider.value,
    )
