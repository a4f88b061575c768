"""One suite over NodeGate: the official client on the twin's API server, and the fake."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pytest
from kubernetes.client import PolicyV1Api
from starlette.responses import JSONResponse

from agent.act.node_gate import KubernetesGate
from agent.cluster_access import ClusterEndpoint, connect
from agent.errors import NotAuthorised, SignalUnavailable
from agent.ports import NodeGate
from sim.world.clock import Clock
from sim.world.faults import Fault, FaultKind
from sim.world.nodes import Node, NodeEdit
from sim.world.twin import Twin
from sim.world.world import World
from tests.fakes.hands import FakeGate
from tests.sim.builders import a_job, a_world
from tests.sim.wire_server import WireServer, serve

BUSY, IDLE = "idc-a100-01", "idc-a100-02"


class Rig(Protocol):
    """Two nodes: one holds 5 GPUs, one is idle."""

    @property
    def gate(self) -> NodeGate:
        """The gate under test."""

    def is_cordoned(self, node: str) -> bool:
        """As the cluster itself has it."""

    def break_down(self) -> None:
        """From now on the API server answers nothing."""

    def guard(self) -> None:
        """A disruption budget forbids every eviction on the busy node."""

    def wait(self) -> None:
        """Until evicted pods have ended."""


@dataclass
class FakeRig:
    """The fake."""

    gate: FakeGate

    def is_cordoned(self, node: str) -> bool:
        return node in self.gate.cordoned

    def break_down(self) -> None:
        self.gate.error = SignalUnavailable("503", target="cluster", hint="wait")

    def guard(self) -> None:
        self.gate.guarded[BUSY] = "busy-0"

    def wait(self) -> None:
        """A fake evicts at once."""


@dataclass
class TwinRig:
    """The official client."""

    gate: NodeGate
    world: World
    endpoint: ClusterEndpoint

    def node(self, name: str) -> Node:
        """The twin's own node."""
        return next(node for node in self.world.fleet.nodes.values() if node.name == name)

    def is_cordoned(self, node: str) -> bool:
        return self.node(node).is_unschedulable

    def guard(self) -> None:
        budget = {"metadata": {"name": "all"}, "spec": {"minAvailable": "100%", "selector": {}}}
        PolicyV1Api(connect(self.endpoint)).create_namespaced_pod_disruption_budget("research", budget)

    def wait(self) -> None:
        self.world.advance_to(self.world.now_s + 60.0)

    def break_down(self) -> None:
        self.world.arm([Fault(name="down", kind=FaultKind.API_DOWN, mode="unavailable")])


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One socket for the whole file."""
    with serve() as started:
        yield started


def endpoint_on(server: WireServer, token: str) -> ClusterEndpoint:
    return ClusterEndpoint(name="idc-gpu", url=f"{server.url}/k8s/idc-gpu", token=lambda: token)


def gate_on(server: WireServer, token: str) -> KubernetesGate:
    return KubernetesGate(endpoint_on(server, token))


@pytest.fixture
def twin(server: WireServer) -> TwinRig:
    """The gate on a fresh world."""
    world = a_world([a_job("busy", gpus=5, duration_s=9e5)])
    world.advance_to(60.0)
    server.show(world)
    token = Twin(Clock(world.ground.origin, speed=0), world).tokens["idc-gpu"]
    return TwinRig(gate_on(server, token), world, endpoint_on(server, token))


@pytest.fixture(params=["twin", "fake"])
def rig(request: pytest.FixtureRequest) -> Rig:
    """Any implementation."""
    if request.param == "fake":
        return FakeRig(FakeGate(busy={BUSY: 5}))
    made: TwinRig = request.getfixturevalue("twin")
    return made


def test_a_cordon_keeps_until_it_is_lifted_and_both_are_harmless_twice(rig: Rig) -> None:
    for _ in range(2):
        rig.gate.cordon(IDLE)
        assert rig.is_cordoned(IDLE)
    for _ in range(2):
        rig.gate.uncordon(IDLE)
    assert not rig.is_cordoned(BUSY)


def test_gpus_that_are_held_are_counted(rig: Rig) -> None:
    assert rig.gate.busy_gpus(BUSY) == 5
    assert rig.gate.busy_gpus(IDLE) == 0


def test_only_the_pods_of_the_named_tasks_are_evicted(rig: Rig) -> None:
    rig.gate.cordon(BUSY)
    assert rig.gate.evict(BUSY, ()) == ()
    assert rig.gate.busy_gpus(BUSY) == 5
    assert rig.gate.evict(BUSY, ("research/busy",)) == ()
    rig.wait()
    assert rig.gate.busy_gpus(BUSY) == 0


def test_what_a_disruption_budget_keeps_is_named_and_goes_on(rig: Rig) -> None:
    rig.guard()
    (kept,) = rig.gate.evict(BUSY, ("research/busy",))
    assert kept.startswith("busy")
    rig.wait()
    assert rig.gate.busy_gpus(BUSY) == 5


def test_an_eviction_that_cannot_be_asked_for_is_our_error(rig: Rig) -> None:
    rig.break_down()
    with pytest.raises(SignalUnavailable):
        rig.gate.evict(BUSY, ("research/busy",))


def test_evicted_work_starts_again_where_there_is_room(twin: TwinRig) -> None:
    twin.gate.cordon(BUSY)
    twin.gate.evict(BUSY, ("research/busy",))
    twin.wait()
    assert twin.gate.busy_gpus(IDLE) == 5


def test_an_api_server_that_is_down_is_our_error_and_leaves_the_node_open(rig: Rig) -> None:
    rig.break_down()
    with pytest.raises(SignalUnavailable):
        rig.gate.cordon(IDLE)
    assert not rig.is_cordoned(IDLE)


def test_no_new_work_lands_on_a_cordoned_node(twin: TwinRig) -> None:
    twin.gate.cordon(IDLE)
    twin.world.dispatcher.submit(a_job("late", gpus=8, submitted_s=twin.world.now_s))
    assert twin.gate.busy_gpus(IDLE) == 0
    twin.gate.uncordon(IDLE)
    assert twin.gate.busy_gpus(IDLE) == 8
    assert "spillway.dev/cordoned-by" not in twin.node(IDLE).annotations


def test_a_persons_cordon_is_not_ours_to_lift(twin: TwinRig) -> None:
    node = twin.node(IDLE)
    edit = NodeEdit(labels=node.labels, annotations={}, taints=tuple(node.taints), is_unschedulable=True)
    twin.world.edit_node(node, edit)
    twin.gate.cordon(IDLE)
    twin.gate.uncordon(IDLE)
    assert twin.is_cordoned(IDLE)


def test_a_node_that_is_gone_needs_no_gate(twin: TwinRig) -> None:
    twin.gate.cordon("i-was-here")
    twin.gate.uncordon("i-was-here")
    assert twin.gate.busy_gpus("i-was-here") == 0


def test_a_wrong_token_is_told_apart(twin: TwinRig, server: WireServer) -> None:
    stranger = gate_on(server, "wrong")
    with pytest.raises(NotAuthorised):
        stranger.cordon(IDLE)
    with pytest.raises(NotAuthorised):
        stranger.busy_gpus(IDLE)
    assert not twin.is_cordoned(IDLE)


@pytest.mark.parametrize("answer", [{}, {"items": 7}, {"message": "welcome to the portal"}])
def test_an_answer_that_is_no_list_is_not_an_idle_node(server: WireServer, answer: object) -> None:
    server.app = JSONResponse(answer)
    with pytest.raises(SignalUnavailable):
        gate_on(server, "t").busy_gpus(IDLE)
