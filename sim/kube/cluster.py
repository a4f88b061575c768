"""One cluster's store: shelves that follow the world's nodes and pods through its journal.

The world is the truth; this is its mirror in Kubernetes' shape, plus the kinds that live here only
(leases, disruption budgets). Must not change the world.
"""

from __future__ import annotations

from uuid import UUID

from sim.kube import kinds
from sim.kube import node_object as shown_node
from sim.kube import pod_object as shown_pod
from sim.kube.kinds import Kind
from sim.kube.shelf import Draft, Revisions, Shelf
from sim.kube.status import Json
from sim.world.dispatch import GRACE_S
from sim.world.ground import Verb
from sim.world.nodes import Node, Phase
from sim.world.workload import Pod
from sim.world.world import World


class Cluster:
    """What one API server stores."""

    def __init__(self, name: str, world: World) -> None:
        self.name = name
        self._world = world
        revisions = Revisions()
        self.shelves = {kind: Shelf(kind, name, revisions) for kind in kinds.KINDS}
        self._pods: dict[tuple[str, str], Pod] = {}
        self._add_namespaces()

    def shelf(self, kind: Kind) -> Shelf:
        """The objects of one kind."""
        return self.shelves[kind]

    def node(self, name: str) -> Node | None:
        """The world's node behind an object."""
        node = self._world.fleet.nodes.get(name)
        return node if node is not None and node.has_object and node.cluster == self.name else None

    def pod(self, namespace: str, name: str) -> Pod | None:
        """The world's pod behind an object; None for pods that are not of a job."""
        return self._pods.get((namespace, name))

    def follow_node(self, verb: Verb, node: Node) -> None:
        """A node of this cluster changed."""
        exporter = shown_pod.exporter_name(node, self._world.ground)
        if verb is Verb.DELETED:
            self.shelf(kinds.POD).remove(shown_pod.EXPORTER_NAMESPACE, exporter)
            self.shelf(kinds.NODE).remove("", node.name)
            return
        self.shelf(kinds.NODE).put(self._node_draft(node))
        if self.shelf(kinds.POD).find(shown_pod.EXPORTER_NAMESPACE, exporter) is None:
            self.shelf(kinds.POD).put(self._exporter_draft(node, exporter))

    def follow_pod(self, verb: Verb, pod: Pod) -> None:
        """A pod of this cluster changed."""
        key = (pod.job.department, pod.name)
        if verb is Verb.DELETED:
            self._pods.pop(key, None)
            self.shelf(kinds.POD).remove(*key)
            return
        self._pods[key] = pod
        if self.shelf(kinds.NAMESPACE).find("", pod.job.department) is None:
            self._add_namespace(pod.job.department)
        self.shelf(kinds.POD).put(self._pod_draft(pod))

    def stamp_now(self) -> str:
        """The virtual time as metadata carries it."""
        return self._world.ground.stamp(self._world.now_s)

    def _add_namespaces(self) -> None:
        for name in ("default", "kube-system", "kube-node-lease", "spillway", shown_pod.EXPORTER_NAMESPACE):
            self._add_namespace(name)

    def _add_namespace(self, name: str) -> None:
        body: Json = {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        labels = {"kubernetes.io/metadata.name": name}
        draft = Draft(name=name, labels=labels, created=self.stamp_now(), body=body)
        self.shelf(kinds.NAMESPACE).put(draft)

    def _node_draft(self, node: Node) -> Draft:
        ground = self._world.ground
        joined_s = node.entered_s.get(Phase.JOINED, node.ordered_s)
        return Draft(
            name=node.name,
            labels=dict(node.labels),
            annotations=dict(node.annotations),
            created=ground.stamp(joined_s),
            fields={"metadata.name": node.name, "spec.unschedulable": str(node.is_unschedulable).lower()},
            body={"spec": shown_node.node_spec(node), "status": shown_node.node_status(node, ground)},
        )

    def _pod_draft(self, pod: Pod) -> Draft:
        ground = self._world.ground
        metadata: Json = {
            "ownerReferences": [
                {
                    "apiVersion": "batch/v1",
                    "kind": "Job",
                    "name": pod.job.name,
                    "uid": str(UUID(ground.draws.hexadecimal(32, "job", pod.job.name))),
                    "controller": True,
                    "blockOwnerDeletion": True,
                }
            ]
        }
        if pod.deletion is not None:
            metadata["deletionTimestamp"] = ground.stamp(pod.deletion.when_s)
            metadata["deletionGracePeriodSeconds"] = int(GRACE_S)
        nodes = len(self.shelf(kinds.NODE))
        return Draft(
            name=pod.name,
            namespace=pod.job.department,
            labels=shown_pod.pod_labels(pod),
            created=ground.stamp(pod.created_s),
            fields=_pod_fields(pod.name, pod.job.department, pod.node.name if pod.node else "", pod.phase.value),
            metadata=metadata,
            body={"spec": shown_pod.pod_spec(pod), "status": shown_pod.pod_status(pod, ground, nodes)},
        )

    def _exporter_draft(self, node: Node, name: str) -> Draft:
        owner = {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "name": "nvidia-dcgm-exporter",
            "uid": str(UUID(self._world.ground.draws.hexadecimal(32, "exporter", self.name))),
            "controller": True,
            "blockOwnerDeletion": True,
        }
        namespace = shown_pod.EXPORTER_NAMESPACE
        return Draft(
            name=name,
            namespace=namespace,
            labels={"app": "nvidia-dcgm-exporter"},
            created=self.stamp_now(),
            fields=_pod_fields(name, namespace, node.name, "Running"),
            metadata={"ownerReferences": [owner]},
            body={"spec": shown_pod.exporter_spec(node), "status": {"phase": "Running"}},
        )


def _pod_fields(name: str, namespace: str, node: str, phase: str) -> dict[str, str]:
    return {
        "metadata.name": name,
        "metadata.namespace": namespace,
        "spec.nodeName": node,
        "status.phase": phase,
    }


class Clusters:
    """The stores of all clusters of a world; tells watchers that something changed."""

    def __init__(self, world: World) -> None:
        self._by_name = {name: Cluster(name, world) for name in world.clusters()}
        world.ground.journal.node_readers.append(self._node)
        world.ground.journal.pod_readers.append(self._pod)
        for node in world.fleet.nodes.values():
            if node.has_object:
                self._node(Verb.ADDED, node)
        for run in world.dispatcher.runs:
            for pod in run.pods:
                self._pod(Verb.ADDED, pod)

    def get(self, name: str) -> Cluster | None:
        """One cluster, by the catalogue's name."""
        return self._by_name.get(name)

    def _node(self, verb: Verb, node: Node) -> None:
        self._by_name[node.cluster].follow_node(verb, node)

    def _pod(self, verb: Verb, pod: Pod) -> None:
        self._by_name[pod.cluster].follow_pod(verb, pod)
