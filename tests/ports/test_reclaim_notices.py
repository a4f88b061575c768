"""R7.5: a node that its cloud takes back says so in the words of each cloud's own tools, by hand and on the twin."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from agent.core.readings import ReclaimNotice
from contract import labels
from sim.world.clock import Clock
from sim.world.faults import Fault, FaultKind, Target
from sim.world.spot import NOTICE_S
from sim.world.twin import Twin
from tests.ports.kube_objects import Json, a_node, one_node, reader_of
from tests.sim.builders import a_spec, a_world
from tests.sim.wire_server import WireServer, serve

TWO, FIVE = timedelta(minutes=2), timedelta(minutes=5)
AT = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One socket for the whole file."""
    with serve() as started:
        yield started


def tainted(**more: str) -> Json:
    return a_node(taints=[{"key": labels.AWS_SPOT_TAINT, "effect": "NoSchedule"} | more])


def annotated(text: str, node: Json | None = None) -> Json:
    found = node or a_node()
    found["metadata"]["annotations"] = {labels.RECLAIM_AT: text}
    return found


def expiring(status: str = "True", **more: str) -> Json:
    node = a_node()
    node["status"]["conditions"].append({"type": labels.ACK_SPOT_CONDITION, "status": status} | more)
    return node


@pytest.mark.parametrize(
    "node",
    [
        a_node(),
        a_node(taints=[{"key": "aws-node-termination-handler/rebalance-recommendation", "effect": "NoSchedule"}]),
        a_node(taints=[{"key": "aws-node-termination-handler/scheduled-maintenance", "effect": "NoSchedule"}]),
        a_node(taints=[{"key": "karpenter.sh/disrupted", "effect": "NoSchedule"}]),
        a_node(unschedulable=True),
        expiring("False", reason="InstanceNotToBeTerminated"),
        expiring("Unknown"),
        annotated(""),
    ],
)
def test_what_is_no_notice_is_taken_for_none(server: WireServer, node: Json) -> None:
    assert one_node(server, node).reclaim is None


@pytest.mark.parametrize(
    ("node", "notice"),
    [
        # The handler's own value: the id of the event, cut at 63 characters.
        (tainted(value="spot-itn-" + "5f" * 27), ReclaimNotice(at=None, within=TWO)),
        (tainted(), ReclaimNotice(at=None, within=TWO)),
        (tainted(value="1234"), ReclaimNotice(at=None, within=TWO)),
        (tainted(value="\u0661" * 10), ReclaimNotice(at=None, within=TWO)),
        (tainted(value=str(int(AT.timestamp()))), ReclaimNotice(at=AT + TWO, within=TWO)),
        (tainted(value="x", timeAdded="2026-11-30T12:00:00Z"), ReclaimNotice(at=AT + TWO, within=TWO)),
        (
            expiring(reason="InstanceToBeTerminated", lastTransitionTime="2026-11-30T12:00:00Z"),
            ReclaimNotice(at=AT + FIVE, within=FIVE),
        ),
        (expiring(), ReclaimNotice(at=None, within=FIVE)),
        (annotated("2026-11-30T20:00:00+08:00"), ReclaimNotice(at=AT, within=TWO)),
        # Somebody means that the node goes, whatever the time should have been.
        (annotated("2026-11-30T12:00:00"), ReclaimNotice(at=None, within=TWO)),
        (annotated("soon"), ReclaimNotice(at=None, within=TWO)),
        # The one that tells its time counts.
        (annotated("2026-11-30T12:00:00Z", tainted()), ReclaimNotice(at=AT, within=TWO)),
        (annotated("soon", tainted(timeAdded="2026-11-30T12:00:00Z")), ReclaimNotice(at=AT + TWO, within=TWO)),
    ],
)
def test_a_notice_is_read_with_the_time_that_it_tells(server: WireServer, node: Json, notice: ReclaimNotice) -> None:
    assert one_node(server, node).reclaim == notice


@pytest.mark.parametrize(("pool", "cluster"), [("ack-a100-spot", "cloud-gpu-a"), ("eks-l4-spot", "cloud-gpu-b")])
def test_a_spot_reclaim_of_the_twin_is_seen_on_the_node_until_it_is_gone(
    server: WireServer, pool: str, cluster: str
) -> None:
    world = a_world()
    group = world.groups.create(a_spec(pool, desired=2))
    world.advance_to(1200.0)
    world.arm([Fault(name="reclaim", kind=FaultKind.SPOT_RECLAIM, target=Target(pool=pool), from_s=1210.0, count=1)])
    server.show(world)
    token = Twin(Clock(world.ground.origin, speed=0), world).tokens[cluster]
    reader = reader_of(server, path=f"/k8s/{cluster}", token=token)
    assert [node.reclaim for node in reader.read().nodes] == [None, None]
    world.advance_to(1220.0)
    noticed = {node.instance_id: node.reclaim for node in reader.read().nodes if node.reclaim}
    [doomed] = [node for node in group.standing() if node.reclaim_s is not None]
    assert set(noticed) == {doomed.instance_id}
    ends = noticed[doomed.instance_id].ends_at(world.ground.time(1220.0))
    assert timedelta(0) <= ends - world.ground.time(1210.0 + NOTICE_S[doomed.row.provider]) <= timedelta(seconds=10)
    world.advance_to(1210.0 + NOTICE_S[doomed.row.provider] + 1.0)
    assert all(node.reclaim is None for node in reader.read().nodes)
