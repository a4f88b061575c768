"""I47 (skypilot-org/skypilot#10368): one absurd value among sane ones is dropped, counted, and decides nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta

import pytest
from starlette.responses import JSONResponse

from agent.core.decide import decide
from agent.core.decision import Action, Decision
from agent.core.memory import Memory
from agent.core.policy import UseSignal
from agent.core.readings import ClusterNode, ClusterPod, ClusterReading, Readings, UseReading
from agent.core.snapshot import Snapshot
from agent.sense.assemble import assemble
from agent.sense.prometheus import PrometheusEndpoint, PrometheusUse
from contract.units import GiB, Gpus, Percent
from tests.builders import EVERY, NOON, a_catalog, a_policy, a_pool
from tests.sim.wire_server import WireServer, serve

GPUS = 176
ABSURD = ("218322032", "9223372036854775794", "18446744073709551615", "-1", "NaN", "+Inf")


@pytest.fixture(scope="module")
def prometheus() -> Iterator[WireServer]:
    """A Prometheus that answers as told."""
    with serve() as started:
        yield started


def use(server: WireServer, level: int, absurd: str | None) -> UseReading:
    """175 cards around a level, and one that speaks nonsense or is silent."""
    values = [str(min(100, max(0, level + number % 5 - 2))) for number in range(GPUS - 1)] + (
        [absurd] if absurd else []
    )
    series = [
        {"metric": {"UUID": f"GPU-{number}"}, "value": [NOON.timestamp(), value]} for number, value in enumerate(values)
    ]
    server.app = JSONResponse({"status": "success", "data": {"resultType": "vector", "result": series}})
    return PrometheusUse(PrometheusEndpoint(url=server.url, query="q")).local_use(NOON)


def a_site(reading: UseReading) -> Snapshot:
    """22 owned nodes at work, nine tasks waiting."""
    nodes = tuple(
        ClusterNode(
            name=f"n-{number}",
            labels={},
            is_ready=True,
            is_cordoned=False,
            gpus=Gpus(8),
            instance_id="",
            created_at=NOON,
        )
        for number in range(GPUS // 8)
    )
    pods = tuple(
        ClusterPod(
            name=f"p-{number}",
            node=None,
            gpus=Gpus(8),
            task=f"t-{number}",
            department="d",
            gpu_memory=GiB(0),
            preemptible=False,
            created_at=NOON - timedelta(minutes=1),
        )
        for number in range(9)
    )
    home = ClusterReading(cluster="idc-gpu", nodes=nodes, pods=pods)
    readings = Readings(taken_at=NOON, use=reading, clusters={"idc-gpu": home}, stacks=())
    pools = (a_pool(), a_pool(pool="eks-l4-spot"))
    return replace(assemble(readings, a_catalog(), UseSignal.UTILIZATION), pools=pools)


def decision_after(reading: UseReading) -> Decision:
    """Ten minutes of the same reading, then the decision."""
    snapshot, memory = a_site(reading), Memory()
    for step in range(21, 0, -1):
        _, memory = decide(replace(snapshot, taken_at=NOON - step * EVERY), a_policy(), memory)
    return decide(snapshot, a_policy(), memory)[0]


@pytest.mark.parametrize("absurd", ABSURD)
@pytest.mark.parametrize(("level", "action"), [(95, Action.GROW), (60, Action.HOLD)])
def test_the_decision_is_the_one_without_it(prometheus: WireServer, absurd: str, level: int, action: Action) -> None:
    without, with_it = use(prometheus, level, None), use(prometheus, level, absurd)
    assert with_it.use == without.use
    assert decision_after(with_it) == decision_after(without)
    assert decision_after(with_it).action is action


@pytest.mark.parametrize("absurd", ABSURD)
def test_it_is_counted_and_the_snapshot_says_so(prometheus: WireServer, absurd: str) -> None:
    reading = use(prometheus, 95, absurd)
    assert (reading.series, reading.dropped) == (GPUS - 1, 1)
    assert a_site(reading).notes == ("1 of 176 GPU use series are not believable",)


def test_the_naive_mean_would_have_acted(prometheus: WireServer) -> None:
    """The trap is real: one such value lifts the mean of an idle fleet past any threshold."""
    assert (10 * (GPUS - 1) + 218322032) / GPUS > 1_000_000
    reading = use(prometheus, 10, "218322032")
    assert isinstance(reading.use, Percent)
    assert reading.use < Percent(13.0)
