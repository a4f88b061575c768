"""Queries: what was measured, in the shapes of the real HTTP API; and every way it can be spoilt."""

from __future__ import annotations

import pytest

from sim.world.faults import Fault, FaultKind
from sim.world.world import DEFAULT_ORIGIN
from tests.sim.prometheus.conftest import Asker

USE = "DCGM_FI_DEV_GPU_UTIL"
EPOCH = DEFAULT_ORIGIN.timestamp()


def spoil(asker: Asker, mode: str, from_s: float = 0.0) -> None:
    """Arm a fault of Prometheus."""
    fault = Fault(name=mode, kind=FaultKind.PROMETHEUS, mode=mode, from_s=from_s)
    asker.live.twin.world.arm([fault])


def test_each_gpu_is_a_series_with_the_exporters_labels(asker: Asker) -> None:
    rows = asker.vector(f'{USE}{{site="idc"}}')
    assert len(rows) == 16
    metric = rows[0]["metric"]
    assert metric["__name__"] == USE
    assert {row["metric"]["Hostname"] for row in rows} == {"idc-a100-01", "idc-a100-02"}
    assert metric["cluster"] == "idc-gpu"
    assert metric["modelName"] == "NVIDIA A100-SXM4-80GB"
    assert metric["UUID"].startswith("GPU-")
    assert len({row["metric"]["UUID"] for row in rows}) == 16


def test_held_gpus_work_and_idle_ones_rest(asker: Asker) -> None:
    busy = asker.vector(f'{USE}{{namespace="research"}}')
    idle = asker.vector(f'{USE}{{namespace="gpu-operator"}}')
    assert {row["metric"]["Hostname"] for row in busy} == {"idc-a100-01"}
    assert all(88 <= float(row["value"][1]) <= 99 for row in busy)
    assert len({row["value"][1] for row in busy}) == 1
    assert {row["value"][1] for row in idle} == {"0"}
    assert len(busy) == len(idle) == 8


def test_sample_is_a_virtual_time_and_a_text(asker: Asker) -> None:
    stamp, text = asker.vector(USE)[0]["value"]
    assert stamp == EPOCH + 60
    assert isinstance(text, str)


def test_node_has_series_from_its_first_gpu_to_its_end(asker: Asker) -> None:
    query = f'{USE}{{cluster="cloud-gpu-a"}}'
    assert asker.vector(query) == []
    asker.live.twin.jump(600.0)
    assert len(asker.vector(query)) == 8
    group = asker.live.twin.world.groups.groups()[0]
    asker.live.twin.world.groups.set_desired(group.group_id, 0)
    asker.live.twin.jump(90.0)
    assert asker.vector(query) == []


def test_waiting_jobs_are_counted_by_queue(asker: Asker) -> None:
    rows = asker.vector("kueue_pending_workloads")
    counts = {(row["metric"]["cluster_queue"], row["metric"]["status"]): row["value"][1] for row in rows}
    assert counts == {("production", "active"): "0", ("production", "inadmissible"): "1"}


def test_past_is_remembered(asker: Asker) -> None:
    asker.live.twin.jump(3000.0)
    assert asker.values(f'{USE}{{Hostname="idc-a100-01"}}') == ["0"] * 8
    then = asker.vector(f'{USE}{{Hostname="idc-a100-01",namespace="research"}}', time=EPOCH + 30)
    assert all(float(row["value"][1]) >= 88 for row in then)
    assert then[0]["value"][0] == EPOCH + 30


def test_time_may_be_a_date(asker: Asker) -> None:
    assert len(asker.vector(USE, time="2026-11-30T00:00:30Z")) == 16
    assert asker.vector(USE, time=EPOCH + 60 + 301) == []
    assert asker.vector(USE, time=EPOCH - 10) == []


def test_unknown_metric_is_an_empty_vector_as_on_the_real_one(asker: Asker) -> None:
    assert asker.vector("no_such_metric") == []


def test_query_may_be_posted(asker: Asker) -> None:
    status, body = asker.post("/api/v1/query", query=USE)
    assert status == 200
    assert len(body["data"]["result"]) == 16


@pytest.mark.parametrize(
    ("matchers", "count"),
    [
        ('gpu="0"', 2),
        ('gpu!="0"', 14),
        ('gpu=~"0|1"', 4),
        ('gpu!~"[0-3]"', 8),
        ('Hostname=~"idc-.*",gpu="7"', 2),
        ("gpu='0',", 2),
        ('ghost=""', 16),
        ('ghost="x"', 0),
        ('gpu=~""', 0),
    ],
)
def test_matchers_select(asker: Asker, matchers: str, count: int) -> None:
    assert len(asker.vector(f"{USE}{{{matchers}}}")) == count


def test_name_may_stand_inside_the_braces(asker: Asker) -> None:
    assert len(asker.vector(f'{{__name__="{USE}",gpu="0"}}')) == 2


@pytest.mark.parametrize(
    "query",
    [
        "",
        f"avg({USE})",
        f"{USE} > 80",
        f"{USE}[5m]",
        f"sum by (site) ({USE})",
        f'{USE}{{gpu="0"',
        f"{USE}{{gpu=0}}",
        f'{USE}{{gpu=~"("}}',
        '{gpu="0"}',
        "{}",
        "1",
    ],
)
def test_anything_else_is_refused_and_never_made_up(asker: Asker, query: str) -> None:
    status, body = asker.ask("/api/v1/query", query=query)
    assert status == 400
    assert (body["status"], body["errorType"]) == ("error", "bad_data")
    assert body["error"].startswith('invalid parameter "query": ')


def test_range_has_a_value_at_each_step(asker: Asker) -> None:
    status, body = asker.ask("/api/v1/query_range", query=USE, start=EPOCH, end=EPOCH + 60, step="15s")
    assert (status, body["data"]["resultType"]) == (200, "matrix")
    times = [point[0] for point in body["data"]["result"][0]["values"]]
    assert times == [EPOCH, EPOCH + 15, EPOCH + 30, EPOCH + 45, EPOCH + 60]


def test_range_ends_where_the_job_ends(asker: Asker) -> None:
    asker.live.twin.jump(3600.0)
    query = f'{USE}{{gpu="0",namespace="research"}}'
    _, body = asker.ask("/api/v1/query_range", query=query, start=EPOCH + 2900, end=EPOCH + 3100, step=50)
    (series,) = body["data"]["result"]
    assert [point[0] - EPOCH for point in series["values"]] == [2900, 2950]


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"start": EPOCH + 10, "end": EPOCH, "step": 5}, "end timestamp"),
        ({"start": EPOCH, "end": EPOCH + 10, "step": 0}, "step"),
        ({"start": EPOCH, "end": EPOCH + 10, "step": "soon"}, "step"),
        ({"start": "now", "end": EPOCH, "step": 1}, "start"),
        ({"start": EPOCH, "end": "NaN", "step": 1}, "end"),
        ({"start": EPOCH, "end": EPOCH, "step": "inf"}, "step"),
        ({"end": EPOCH, "step": 1}, "start"),
        ({"start": EPOCH, "end": EPOCH + 20_000, "step": 1}, "11,000"),
    ],
)
def test_range_that_makes_no_sense_is_refused(asker: Asker, parameters: dict[str, object], word: str) -> None:
    status, body = asker.ask("/api/v1/query_range", query=USE, **parameters)
    assert (status, body["errorType"]) == (400, "bad_data")
    assert word in body["error"]


@pytest.mark.parametrize(("mode", "text"), [("nan", "NaN"), ("inf", "+Inf")])
def test_every_value_may_be_no_number(asker: Asker, mode: str, text: str) -> None:
    """I44."""
    spoil(asker, mode)
    assert asker.values(USE) == [text] * 16


@pytest.mark.parametrize(("mode", "text"), [("absurd", "218322032"), ("sentinel", "9223372036854775794")])
def test_one_value_among_sane_ones_may_be_absurd(asker: Asker, mode: str, text: str) -> None:
    """I47."""
    spoil(asker, mode)
    values = asker.values(USE)
    assert values.count(text) == 1
    assert sum(float(value) <= 99 for value in values) == 15


def test_vector_may_be_empty(asker: Asker) -> None:
    spoil(asker, "empty")
    assert asker.vector(USE) == []
    _, body = asker.ask("/api/v1/query_range", query=USE, start=EPOCH, end=EPOCH + 60, step=15)
    assert body["data"]["result"] == []


def test_stale_series_keeps_its_old_time_and_value(asker: Asker) -> None:
    spoil(asker, "stale", from_s=60.0)
    asker.live.twin.jump(3600.0)
    rows = asker.vector(f'{USE}{{Hostname="idc-a100-01"}}')
    assert {row["value"][0] for row in rows} == {EPOCH + 60}
    assert all(float(row["value"][1]) >= 88 for row in rows)


def test_gap_shows_the_last_value_for_five_minutes_and_then_nothing(asker: Asker) -> None:
    spoil(asker, "gap", from_s=60.0)
    asker.live.twin.jump(299.0)
    assert len(asker.vector(USE)) == 16
    asker.live.twin.jump(30.0)
    assert asker.vector(USE) == []


def test_server_may_be_unavailable_or_a_proxy_may_answer(asker: Asker) -> None:
    spoil(asker, "unavailable")
    status, body = asker.ask("/api/v1/query", query=USE)
    assert (status, body["errorType"]) == (503, "timeout")
    asker.live.twin.world.ground.faults.faults.clear()
    spoil(asker, "html")
    status, text = asker.ask("/api/v1/query", query=USE)
    assert status == 502
    assert text.startswith("<html>")


def test_fault_that_is_over_leaves_no_trace(asker: Asker) -> None:
    fault = Fault(name="short", kind=FaultKind.PROMETHEUS, mode="nan", until_s=90.0)
    asker.live.twin.world.arm([fault])
    assert set(asker.values(USE)) == {"NaN"}
    asker.live.twin.jump(30.0)
    assert "NaN" not in asker.values(USE)
    assert asker.live.twin.world.ground.faults.log[0].detail == USE
