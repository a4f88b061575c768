"""Spot machines that the cloud takes back: first a notice on the node, then the end.

AWS gives two minutes, Alibaba five. The notice shows as the handlers of each cloud show it: a taint
aws-node-termination-handler/spot-itn on EKS, the condition InstanceExpired on ACK (kube face). Must
not order a replacement: that is the scaling group's own doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from contract.catalog import Provider
from contract.labels import AWS_SPOT_TAINT, TaintEffect
from sim.world.boot import target_of
from sim.world.faults import Fault, FaultKind
from sim.world.fleet import Fleet
from sim.world.ground import Ground
from sim.world.nodes import LossCause, Node, Phase, Taint

NOTICE_S = {Provider.AWS: 120.0, Provider.ALICLOUD: 300.0}
ITN_TAINT = AWS_SPOT_TAINT


class SpotReclaim:
    """Puts each planned reclaim on the agenda."""

    def __init__(self, ground: Ground, fleet: Fleet) -> None:
        self._ground = ground
        self._fleet = fleet

    def plan(self, faults: Sequence[Fault]) -> None:
        """Plan the reclaims among these faults."""
        for fault in faults:
            if fault.kind is FaultKind.SPOT_RECLAIM:
                at_s = max(fault.from_s, self._ground.now_s)
                self._ground.agenda.at(at_s, partial(self._notify, fault))

    def _notify(self, fault: Fault) -> None:
        nodes = [
            node
            for node in self._fleet.nodes.values()
            if node.is_spot
            and node.phase is Phase.GPU_READY
            and node.reclaim_s is None
            and fault.target.covers(target_of(node))
        ]
        chance = self._ground.draws.stream("reclaim", fault.name)
        count = len(nodes) if fault.count is None else min(fault.count, len(nodes))
        for node in chance.sample(nodes, count):
            self._reclaim(node, fault)

    def _reclaim(self, node: Node, fault: Fault) -> None:
        now_s = self._ground.now_s
        self._ground.faults.record(fault, now_s, f"notice for {node.name}")
        notice_s = NOTICE_S[node.row.provider]
        node.reclaim_s = now_s + notice_s
        if node.row.provider is Provider.AWS:
            node.taints.append(Taint(ITN_TAINT, node.instance_id, TaintEffect.NO_SCHEDULE))
        self._fleet.touch(node)
        self._ground.agenda.after(notice_s, lambda: self._fleet.vanish(node, LossCause.SPOT))
