"""One suite over every CloudReader: the two adapters on the twin's wire, by the official SDKs, and the fake."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from datetime import timedelta

import pytest
from starlette.responses import HTMLResponse, JSONResponse

from agent.core.readings import PoolReading
from agent.errors import CloudRefused, CloudUnavailable, NotAuthorised
from contract.catalog import Provider
from sim.world.faults import FaultKind
from tests.ports.cloud_rigs import FakeRig, Rig, WireRig, wire_rig
from tests.sim.wire_server import WireServer, serve

BOOTED_S = 900.0


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One socket for all twins of this file."""
    with serve() as started:
        yield started


@pytest.fixture(params=[Provider.AWS, Provider.ALICLOUD], ids=str)
def wire(request: pytest.FixtureRequest, server: WireServer, monkeypatch: pytest.MonkeyPatch) -> WireRig:
    """A real adapter on the twin."""
    return wire_rig(request.param, server, monkeypatch)


@pytest.fixture(params=[Provider.AWS, Provider.ALICLOUD, "fake"], ids=str)
def rig(request: pytest.FixtureRequest, server: WireServer, monkeypatch: pytest.MonkeyPatch) -> Rig:
    """Any implementation."""
    return FakeRig() if request.param == "fake" else wire_rig(request.param, server, monkeypatch)


def read(rig: Rig, applied: int) -> PoolReading:
    """The rig's pool as its cloud shows it."""
    return rig.cloud.read_pools([rig.binding(applied)])[rig.pool]


def standing(reading: PoolReading) -> list[str]:
    """Ids of the instances that are not on their way out."""
    return [item.instance_id for item in reading.instances if not item.is_leaving]


# ---- reading ----


def test_an_empty_pool_is_empty(rig: Rig) -> None:
    assert read(rig, 0) == PoolReading(instances=())


def test_an_ordered_machine_is_counted_at_once_with_its_time(rig: Rig) -> None:
    rig.wait(90.0)
    ordered = rig.now()
    rig.want(2)
    reading = read(rig, 2)
    assert standing(reading) == rig.ids()
    assert {item.launched_at for item in reading.instances} == {ordered}
    assert reading.failure is None
    assert not any(item.is_protected or item.is_leaving for item in reading.instances)


def test_the_time_of_a_machine_stays_when_it_is_ready(rig: Rig) -> None:
    rig.want(1)
    first = read(rig, 1).instances
    rig.wait(BOOTED_S)
    assert read(rig, 1).instances == first


def test_a_machine_that_is_being_ended_is_leaving(rig: Rig) -> None:
    rig.want(3)
    rig.wait(BOOTED_S)
    rig.want(2)
    reading = read(rig, 2)
    assert len(reading.instances) == 3
    assert standing(reading) == rig.ids()


def test_many_machines_need_several_pages(rig: Rig) -> None:
    rig.want(55)
    assert sorted(standing(read(rig, 55))) == sorted(rig.ids())


def test_no_pools_is_no_question(rig: Rig) -> None:
    assert rig.cloud.read_pools([]) == {}


@pytest.mark.parametrize("wire", [Provider.AWS], indirect=True, ids=str)
def test_an_instance_that_ec2_does_not_know_yet_is_doubt_unless_it_leaves(wire: WireRig) -> None:
    wire.want(2)
    wire.wait(BOOTED_S)
    wire.world.fleet.all_time.clear()
    with pytest.raises(CloudUnavailable, match="does not know instance"):
        read(wire, 2)
    wire.want(0)
    reading = read(wire, 0)
    assert [item.is_leaving for item in reading.instances] == [True, True]
    assert {item.launched_at for item in reading.instances} == {wire.world.ground.origin}


# ---- launches that fail ----


def test_a_stock_out_is_told_with_the_clouds_own_code(rig: Rig) -> None:
    rig.want(1)
    rig.wait(100.0)
    rig.sell_out()
    ordered = rig.now()
    rig.want(3)
    reading = read(rig, 3)
    assert len(standing(reading)) == 1
    assert reading.failure is not None
    assert reading.failure.code == rig.stock_out
    assert reading.failure.message
    # ESS tells minutes only: the failure must still not seem older than the order that it refused.
    assert ordered <= reading.failure.at < ordered + timedelta(minutes=1)


def test_a_failure_is_forgotten_once_the_pool_is_full(rig: Rig) -> None:
    rig.sell_out()
    rig.want(1)
    assert read(rig, 1).failure is not None
    rig.restock()
    rig.wait(400.0)
    reading = read(rig, 1)
    assert len(standing(reading)) == 1
    assert reading.failure is None


def test_quota_has_a_code_of_its_own(wire: WireRig) -> None:
    wire.strike(FaultKind.QUOTA)
    wire.want(1)
    failure = read(wire, 1).failure
    assert failure is not None
    codes = {Provider.AWS: "VcpuLimitExceeded", Provider.ALICLOUD: "QuotaExceed.ElasticQuota"}
    assert failure.code == codes[wire.provider]


# ---- protection (I29) ----


def test_protection_comes_and_goes(rig: Rig) -> None:
    rig.want(2)
    rig.wait(BOOTED_S)
    first, second = rig.ids()
    rig.cloud.set_protection(rig.binding(2), [first], protected=True)
    rig.cloud.set_protection(rig.binding(2), [first], protected=True)
    assert {item.instance_id: item.is_protected for item in read(rig, 2).instances} == {first: True, second: False}
    rig.cloud.set_protection(rig.binding(2), [first, second], protected=False)
    assert not any(item.is_protected for item in read(rig, 2).instances)


@pytest.mark.parametrize("spared", [0, 2, 4])
def test_the_cloud_takes_only_whom_protection_leaves_open(rig: Rig, spared: int) -> None:
    rig.want(5)
    rig.wait(BOOTED_S)
    ids = rig.ids()
    victim = ids[spared]
    rig.cloud.set_protection(rig.binding(5), [name for name in ids if name != victim], protected=True)
    rig.want(4)
    assert set(standing(read(rig, 4))) == set(ids) - {victim}


def test_many_instances_are_protected_in_batches(rig: Rig) -> None:
    rig.want(55)
    rig.wait(BOOTED_S)
    rig.cloud.set_protection(rig.binding(55), rig.ids(), protected=True)
    assert all(item.is_protected for item in read(rig, 55).instances)


def test_instances_that_are_gone_or_going_do_not_stop_protection(rig: Rig) -> None:
    rig.want(3)
    rig.wait(BOOTED_S)
    before = rig.ids()
    rig.want(2)
    stay = rig.ids()
    for protected in (True, False):
        rig.cloud.set_protection(rig.binding(2), [*before, "i-0123456789abcdef0"], protected=protected)
        flags = {item.instance_id: item.is_protected for item in read(rig, 2).instances if not item.is_leaving}
        assert flags == dict.fromkeys(stay, protected)


def test_protection_of_nobody_is_no_question(rig: Rig) -> None:
    rig.cloud.set_protection(rig.binding(0), [], protected=True)


def test_all_gone_is_nothing_to_protect(rig: Rig) -> None:
    rig.cloud.set_protection(rig.binding(0), ["i-0123456789abcdef0"], protected=True)


@pytest.mark.parametrize("wire", [Provider.AWS], indirect=True, ids=str)
def test_aws_cannot_protect_a_machine_that_is_still_launching(wire: WireRig) -> None:
    wire.want(1)
    with pytest.raises(CloudUnavailable, match="while launching"):
        wire.cloud.set_protection(wire.binding(1), wire.ids(), protected=True)
    wire.cloud.set_protection(wire.binding(1), wire.ids(), protected=False)


# ---- refusals ----


def test_throttling_may_pass(rig: Rig) -> None:
    rig.want(1)
    rig.wait(BOOTED_S)
    rig.throttle()
    with pytest.raises(CloudUnavailable, match="Throttling"):
        read(rig, 1)
    with pytest.raises(CloudUnavailable, match="Throttling"):
        rig.cloud.set_protection(rig.binding(1), rig.ids(), protected=True)


def test_bad_credentials_are_told_apart(rig: Rig) -> None:
    rig.want(1)
    ids = rig.ids()
    rig.lock_out()
    with pytest.raises(NotAuthorised):
        read(rig, 1)
    with pytest.raises(NotAuthorised):
        rig.cloud.set_protection(rig.binding(1), ids, protected=True)


@pytest.mark.parametrize("group", ["asg-there-is-none", ""])
def test_an_unknown_group_is_refused(rig: Rig, group: str) -> None:
    rig.want(1)
    binding = rig.binding(1, group=group)
    with pytest.raises(CloudRefused):
        rig.cloud.read_pools([rig.binding(1), binding])
    with pytest.raises(CloudRefused):
        rig.cloud.set_protection(binding, rig.ids(), protected=True)


def test_absent_credentials_are_told_apart(wire: WireRig) -> None:
    wire.log_in("")
    with pytest.raises(NotAuthorised):
        read(wire, 0)


def test_one_throttled_call_is_tried_again(wire: WireRig) -> None:
    wire.strike(FaultKind.THROTTLING, count=1)
    assert read(wire, 0) == PoolReading(instances=())


@pytest.mark.parametrize("mode", ["unavailable", "reset"])
def test_an_outage_may_pass(wire: WireRig, mode: str) -> None:
    wire.strike(FaultKind.API_DOWN, mode=mode)
    with pytest.raises(CloudUnavailable):
        read(wire, 0)


def test_nobody_there_is_told_within_seconds(wire: WireRig) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    wire.log_in("twin", f"127.0.0.1:{port}")
    started = time.monotonic()
    with pytest.raises(CloudUnavailable, match="no usable answer"):
        read(wire, 0)
    assert time.monotonic() - started < 5.0


@pytest.mark.parametrize("page", ["<html>Please log in", "<html>Please log in</html>", ""])
@pytest.mark.parametrize("status", [200, 502])
def test_a_proxys_page_is_no_answer(wire: WireRig, page: str, status: int) -> None:
    with serve(HTMLResponse(page, status)) as portal:
        wire.log_in("twin", portal.host)
        with pytest.raises(CloudUnavailable):
            read(wire, 0)


@pytest.mark.parametrize("item", [{}, {"LifecycleState": "InService", "InstanceId": "i-1", "CreatedTime": "soon"}])
@pytest.mark.parametrize("wire", [Provider.ALICLOUD], indirect=True, ids=str)
def test_an_instance_without_what_it_must_have_is_no_answer(wire: WireRig, item: dict[str, str]) -> None:
    with serve(JSONResponse({"TotalCount": 1, "ScalingInstances": [item]})) as strange:
        wire.log_in("twin", strange.host)
        with pytest.raises(CloudUnavailable, match="no usable answer"):
            read(wire, 1)


def test_the_cause_is_chained(wire: WireRig) -> None:
    wire.lock_out()
    with pytest.raises(NotAuthorised) as caught:
        read(wire, 0)
    assert caught.value.__cause__ is not None


# ---- cost ----


def test_a_steady_tick_asks_as_little_as_it_can(wire: WireRig) -> None:
    groups = [wire.add_group(f"pool-{number}", desired=5) for number in range(3)]
    wire.wait(BOOTED_S)
    bindings = [wire.binding(5, pool=group.spec.name, group=group.scaling_group_id) for group in groups]
    wire.cloud.read_pools(bindings)
    wire.server.calls.clear()
    readings = wire.cloud.read_pools(bindings)
    assert [len(reading.instances) for reading in readings.values()] == [5, 5, 5]
    assert len(wire.server.calls) == {Provider.AWS: 1, Provider.ALICLOUD: 3}[wire.provider]


def test_activities_are_asked_only_while_a_pool_is_short(wire: WireRig) -> None:
    wire.want(2)
    read(wire, 2)
    wire.sell_out()
    wire.want(3)
    wire.server.calls.clear()
    read(wire, 3)
    assert len(wire.server.calls) == 2
