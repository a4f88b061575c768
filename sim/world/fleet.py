"""All machines of the world, and each step of their lives.

The one door for a change of phase: it moves the node, then tells the parts that must follow (jobs
first, meters next, the journal last). Must not decide which node moves.
"""

from __future__ import annotations

from collections.abc import Callable

from sim.world.ground import Ground, Verb
from sim.world.nodes import LossCause, Node, Phase

Follower = Callable[[Node, Phase], None]


class Fleet:
    """Nodes by name and by instance; those that are gone stay on record."""

    def __init__(self, ground: Ground) -> None:
        self._ground = ground
        self.nodes: dict[str, Node] = {}
        self.by_instance: dict[str, Node] = {}
        self.all_time: list[Node] = []
        self.arrivals: list[Callable[[Node], None]] = []
        self.followers: list[Follower] = []

    def add(self, node: Node) -> None:
        """Take in a machine that was just ordered, or that stands in the hall already."""
        if node.name in self.nodes:
            raise ValueError(f"a node {node.name} exists")
        self.nodes[node.name] = node
        self.by_instance[node.instance_id] = node
        self.all_time.append(node)
        for arrive in self.arrivals:
            arrive(node)

    def move(self, node: Node, to: Phase) -> None:
        """One step of life and all that follows from it."""
        before = node.phase
        node.move(to, self._ground.now_s)
        for follow in self.followers:
            follow(node, before)
        if to is Phase.JOINED:
            node.has_object = True
            self._ground.journal.node(Verb.ADDED, node)
        elif to is Phase.GONE:
            del self.nodes[node.name]
            self.drop_object(node)
        elif node.has_object:
            self._ground.journal.node(Verb.MODIFIED, node)

    def touch(self, node: Node) -> None:
        """Labels, taints or the like of a node changed."""
        if node.has_object:
            self._ground.journal.node(Verb.MODIFIED, node)

    def drop_object(self, node: Node) -> None:
        """The Kubernetes object goes; the machine may live on, and then costs money on."""
        if node.has_object:
            node.has_object = False
            self._ground.journal.node(Verb.DELETED, node)

    def retire(self, node: Node, cause: LossCause, drain_s: float) -> None:
        """Begin the end of a node: it takes nothing any more and is gone after `drain_s`."""
        if node.is_leaving:
            return
        node.loss_cause = cause
        node.is_unschedulable = True
        self.move(node, Phase.DRAINING)
        self._ground.agenda.after(drain_s, lambda: self.vanish(node, cause))

    def vanish(self, node: Node, cause: LossCause) -> None:
        """The machine is no more."""
        if node.phase is not Phase.GONE:
            node.loss_cause = node.loss_cause or cause
            self.move(node, Phase.GONE)
