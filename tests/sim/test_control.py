"""The control door and its client."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import pytest

from contract.units import Money, parse_money
from sim.client import TwinClient, TwinRefused, TwinUnreachable
from tests.sim.builders import a_job, a_spec, a_world
from tests.sim.serving import Served, Switchboard, served


@dataclass(frozen=True, slots=True)
class Door:
    """A served twin and a client of it."""

    live: Served
    client: TwinClient


@pytest.fixture
def door(board: Switchboard) -> Iterator[Door]:
    """Two owned nodes, two jobs that fill them for ten minutes, one ACK node."""
    world = a_world([a_job("one"), a_job("two", submitted_s=60.0, gpus=12)])
    world.groups.create(a_spec(desired=1))
    with served(board, world) as live, TwinClient(live.url) as client:
        yield Door(live, client)


def test_clock_stands_until_it_is_moved(door: Door) -> None:
    assert door.client.clock().seconds == 0.0
    reading = door.client.jump(90.5)
    assert reading.seconds == 90.5
    assert reading.now.isoformat() == "2026-11-30T00:01:30.500000+00:00"
    assert reading.speed == 1.0


@pytest.mark.parametrize("seconds", [-1, float("inf")])
def test_clock_refuses_to_run_backwards(door: Door, seconds: float) -> None:
    with pytest.raises(TwinRefused, match="forward"):
        door.client.jump(seconds)
    assert door.client.clock().seconds == 0.0


def test_status_shows_nodes_jobs_and_money(door: Door) -> None:
    door.client.jump(300.0)
    status = door.client.status()
    assert status["pools"]["idc-a100"] == {"gpu_ready": 2, "busy": 1, "cordoned": 0}
    assert status["jobs"] == {"queued": 1, "running": 1, "finished": 0}
    assert status["gpus"] == {"demand": 20, "local_ready": 16, "local_held": 8, "cloud_held": 0}
    (group,) = status["groups"].values()
    assert group == {"pool": "ack-a100", "desired": 1, "nodes": 1}
    assert parse_money(status["spent"]) == Money(Decimal("277.933") * 300 / 3600, "CNY")
    assert status["is_done"] is False


def test_results_carry_exact_money(door: Door) -> None:
    door.client.jump(3600.0)
    results = door.client.results()
    assert results.cloud_cost == parse_money("277.933 CNY")
    assert (results.jobs_total, results.jobs_finished, results.jobs_lost) == (2, 2, 0)
    assert (results.nodes_bought, results.nodes_left) == (1, 1)
    assert results.local_use is not None
    assert results.local_use == pytest.approx((8 + 12) * 600 / (16 * 3600))
    assert results.cloud_use == 0.0
    assert results.document["waits"]["longest_s"] == 540.0
    assert results.document["cost_by_pool"] == {"ack-a100": "277.933 CNY"}


def test_jobs_tell_their_course(door: Door) -> None:
    door.client.jump(700.0)
    first, second = door.client.jobs()
    assert (first["state"], first["wait_s"], first["ended_s"]) == ("finished", 0.0, 600.0)
    assert (second["state"], second["wait_s"], second["pools"]) == ("running", 540.0, ["idc-a100"])


def test_bill_lists_each_node(door: Door) -> None:
    door.client.jump(3600.0)
    bill = door.client.bill()
    (charge,) = bill["charges"]
    assert (charge["seconds"], charge["pool"], charge["is_open"]) == (3600, "ack-a100", True)
    assert bill["total"] == charge["home_cost"] == "277.933 CNY"


def test_timeline_has_a_sample_each_half_minute(door: Door) -> None:
    door.client.jump(120.0)
    samples = door.client.timeline()
    assert [sample["at_s"] for sample in samples] == [0.0, 30.0, 60.0, 90.0, 120.0]
    assert samples[1]["cloud_by_phase"] in ({"ordered": 8}, {"booting": 8})
    assert samples[-1]["demand"] == 20


def test_faults_are_armed_and_those_that_fired_are_listed(door: Door) -> None:
    names = door.client.arm({"kind": "prometheus", "mode": "nan", "for": "5m", "name": "no-numbers"})
    assert names == ["no-numbers"]
    names += door.client.arm({"kind": "boot_failure", "count": 1})
    assert door.client.faults()["armed"] == names
    group = door.live.twin.world.groups.groups()[0]
    door.live.twin.world.groups.set_desired(group.group_id, 2)
    assert [fired["kind"] for fired in door.client.faults()["fired"]] == ["boot_failure"]


def test_fault_that_cannot_be_read_is_refused_with_its_reason(door: Door) -> None:
    with pytest.raises(TwinRefused, match="not one of"):
        door.client.arm({"kind": "earthquake"})
    assert door.client.faults()["armed"] == []


def test_shutdown_is_passed_on(door: Door) -> None:
    door.client.shutdown()
    assert door.live.is_stopped


def test_client_says_when_nobody_answers() -> None:
    client = TwinClient("http://127.0.0.1:1")
    with pytest.raises(TwinUnreachable, match="start one"):
        client.clock()


def test_answer_that_is_not_json_is_refused(door: Door) -> None:
    with pytest.raises(TwinRefused, match="not JSON"):
        door.client._call("GET", "/twin/no-such-door")
    assert door.client.clock().seconds == 0.0
