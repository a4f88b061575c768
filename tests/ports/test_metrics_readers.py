"""Every answer that Prometheus or what stands before it can give becomes a share, or Unknown with a reason.

The recorded answers are in tests/data/prometheus_api. Whatever comes, nothing is raised, nothing outside
0 to 100 gets through, and what is not known is never 0 (I44, I47).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import parse_qsl

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.core.readings import UseReading
from agent.core.snapshot import Unknown
from agent.ports import MetricsReader
from agent.sense.prometheus import PrometheusEndpoint, PrometheusUse
from contract.units import Percent
from sim.world.faults import Fault, FaultKind
from tests.fakes.hands import FakeMetrics
from tests.sim.builders import a_job, a_world
from tests.sim.wire_server import WireServer, serve

RECORDED = Path(__file__).resolve().parents[1] / "data" / "prometheus_api"
AT = 1773114000.0
NOW = datetime.fromtimestamp(AT + 5, UTC)
Series = dict[str, Any]


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One socket for the whole file."""
    with serve() as started:
        yield started


class Ask(Protocol):
    """Serve an answer and read it."""

    def __call__(self, answer: object, now: datetime = NOW) -> UseReading:
        """JSON values are wrapped; an ASGI application answers for itself."""


@pytest.fixture
def ask(server: WireServer) -> Ask:
    reader = PrometheusUse(PrometheusEndpoint(url=server.url, query="DCGM_FI_DEV_GPU_UTIL", timeout_seconds=5.0))

    def asked(answer: object, now: datetime = NOW) -> UseReading:
        server.app = answer if callable(answer) else JSONResponse(answer)
        return reader.local_use(now)

    return asked


def recorded(name: str, status: int = 200) -> Response:
    return Response((RECORDED / name).read_bytes(), status, media_type="application/json")


def a_series(value: object, gpu: int = 0, *, at: object = AT, **more: str) -> Series:
    return {"metric": {"UUID": f"GPU-{gpu}", "Hostname": "h", "gpu": str(gpu), **more}, "value": [at, value]}


def a_vector(*series: object) -> dict[str, object]:
    return {"status": "success", "data": {"resultType": "vector", "result": list(series)}}


def why(reading: UseReading) -> str:
    assert isinstance(reading.use, Unknown), reading
    return reading.use.why


# ---- recorded answers ----


def test_a_real_answer_of_sixteen_cards_is_their_mean(ask: Ask) -> None:
    name = "aicr_eks_h100_gpu_utilization_dcgm_fi_dev_gpu_util.json"
    values = [float(item["value"][1]) for item in json.loads((RECORDED / name).read_text())["data"]["result"]]
    reading = ask(recorded(name), datetime.fromtimestamp(1773114095, UTC))
    assert reading == UseReading(use=Percent(math.fsum(values) / len(values)), series=len(values), dropped=0)
    assert len(values) == 16


@pytest.mark.parametrize(
    ("name", "status", "says"),
    [
        ("case_vector_nan.json", 200, "only 0 of 1 GPU use series are believable"),
        ("case_vector_plus_inf.json", 200, "only 0 of 1"),
        ("case_vector_old_timestamp.json", 200, "only 0 of 1"),
        ("case_vector_dcgm_blank_int64.json", 200, "only 0 of 1"),
        ("case_vector_scientific_notation.json", 200, "only 0 of 1"),
        ("case_vector_empty.json", 200, "gave no series"),
        ("case_infos_no_data.json", 200, "gave no series"),
        ("case_scalar.json", 200, "gave a scalar, not a vector"),
        ("case_string_type.json", 200, "gave a string, not a vector"),
        ("case_matrix_empty.json", 200, "gave a matrix, not a vector"),
        ("case_matrix_all_inf_nan.json", 200, "gave a matrix, not a vector"),
        ("case_matrix_frozen_40_samples.json", 200, "gave a matrix, not a vector"),
        ("case_matrix_gap_5_minutes.json", 200, "gave a matrix, not a vector"),
        ("prometheus_docs_api_04.json", 200, "gave a matrix, not a vector"),
        ("case_error_bad_data_400.json", 400, "answered bad_data: invalid parameter"),
        ("case_error_timeout_503.json", 503, "answered timeout: query timed out"),
        ("case_html_from_proxy_502.json", 502, "did not answer in JSON: is a proxy in between?"),
        ("case_html_from_proxy_502.json", 200, "did not answer in JSON: is a proxy in between?"),
    ],
)
def test_a_recorded_answer_without_a_share_is_unknown_and_says_why(ask: Ask, name: str, status: int, says: str) -> None:
    assert says in why(ask(recorded(name, status)))


def test_every_recorded_answer_has_its_verdict_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    # Degrees are numbers from 0 to 100 too: only the query can tell them from shares.
    shares = [path.name for path in RECORDED.glob("*.json") if "temperature" not in path.name]
    assert [name for name in shares if name not in text] == []


def test_one_number_among_mostly_nan_is_no_mean(ask: Ask) -> None:
    reading = ask(recorded("case_vector_mixed_nan_and_number.json"))
    result = json.loads((RECORDED / "case_vector_mixed_nan_and_number.json").read_text())["data"]["result"]
    assert isinstance(reading.use, Unknown)
    assert reading.dropped >= 1
    assert reading.series + reading.dropped == len(result)


def test_a_card_with_two_exporters_is_one_card_whoever_speaks_first(ask: Ask) -> None:
    both = json.loads((RECORDED / "case_vector_duplicate_gpu_two_exporters.json").read_text())
    reading = ask(both)
    both["data"]["result"].reverse()
    assert ask(both) == reading
    assert reading == UseReading(use=Percent(90.0), series=1, dropped=0), "one that sees it at work is not outvoted"


def test_a_partial_answer_is_read_and_coverage_is_judged_later(ask: Ask) -> None:
    assert ask(recorded("case_warnings_partial_response.json")).use == Percent(42.0)


# ---- single series ----


@pytest.mark.parametrize(
    "value",
    [
        "NaN",
        "+Inf",
        "-Inf",
        "218322032",
        "9223372036854775794",
        "100.0001",
        "-0.0001",
        "1e3",
        "",
        "high",
        "1_0",
        "\u0665\u0660",
    ],
)
def test_one_absurd_series_is_dropped_and_counted_and_the_rest_decides(ask: Ask, value: str) -> None:
    """I47: one of 176 reports 218322032 %."""
    sane = [a_series(str(number % 101), number) for number in range(175)]
    without, with_it = ask(a_vector(*sane)), ask(a_vector(*sane, a_series(value, 999)))
    assert with_it.use == without.use
    assert (with_it.series, with_it.dropped) == (175, 1)
    assert with_it.notes == ("1 of 176 GPU use series are not believable",)
    assert without.notes == ()


@pytest.mark.parametrize(
    "item", [{}, {"value": []}, {"value": [AT]}, {"value": None}, {"metric": {}}, [], "x", 7, None]
)
def test_a_series_of_another_shape_is_dropped_and_counted(ask: Ask, item: object) -> None:
    reading = ask(a_vector(*(a_series("50", number) for number in range(9)), item))
    assert (reading.use, reading.series, reading.dropped) == (Percent(50.0), 9, 1)


@pytest.mark.parametrize("metric", [None, [], "x", 7])
def test_a_series_without_labels_that_can_be_read_raises_nothing(ask: Ask, metric: object) -> None:
    ask(a_vector(*(a_series("50", number) for number in range(9)), {"metric": metric, "value": [AT, "50"]}))


@pytest.mark.parametrize("value", [50, 50.0, True, False, None, ["50"], {"a": 1}])
def test_a_value_that_is_no_text_is_no_value(ask: Ask, value: object) -> None:
    """The API gives texts: a bare `false` would read as 0 %."""
    assert why(ask(a_vector(a_series(value)))) == "only 0 of 1 GPU use series are believable"


@pytest.mark.parametrize(
    ("age_s", "is_believed"), [(-31, False), (-30, True), (0, True), (120, True), (121, False), (3600, False)]
)
def test_a_sample_counts_while_it_is_fresh(ask: Ask, age_s: int, is_believed: bool) -> None:
    reading = ask(a_vector(a_series("50", at=NOW.timestamp() - age_s)))
    assert (reading.use == Percent(50.0)) is is_believed


@pytest.mark.parametrize("at", [None, "soon", 10**400, -(10**400), "NaN", True, [], {}])
def test_a_sample_whose_time_cannot_be_read_is_dropped(ask: Ask, at: object) -> None:
    assert isinstance(ask(a_vector(a_series("50", at=at))).use, Unknown)


@pytest.mark.parametrize(("bad", "is_known"), [(0, True), (2, True), (3, False), (10, False)])
def test_four_fifths_of_the_series_must_be_believable(ask: Ask, bad: int, is_known: bool) -> None:
    series = [a_series("NaN" if number < bad else "70", number) for number in range(10)]
    reading = ask(a_vector(*series))
    assert (reading.use == Percent(70.0)) is is_known
    assert (reading.series, reading.dropped) == (10 - bad, bad)


def test_instances_of_one_card_are_told_apart_and_cards_without_uuid_too(ask: Ask) -> None:
    mig = [a_series(value, 0, GPU_I_ID=number) for value, number in (("10", "7"), ("30", "8"))]
    assert ask(a_vector(*mig)).use == Percent(20.0)
    plain = [
        {"metric": {"Hostname": host, "gpu": "0"}, "value": [AT, value]} for host, value in (("a", "0"), ("b", "50"))
    ]
    assert ask(a_vector(*plain)) == UseReading(use=Percent(25.0), series=2, dropped=0)


def test_zero_is_zero_when_it_is_said(ask: Ask) -> None:
    assert ask(a_vector(a_series("0"))).use == Percent(0.0)


# ---- the whole answer ----


async def cut_off(scope: Scope, receive: Receive, send: Send) -> None:
    """A body that ends before its announced length."""
    headers = [(b"content-length", b"500"), (b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"status":"success","data":{"resultType":"vec'})


async def hang_up(scope: Scope, receive: Receive, send: Send) -> None:
    """No answer at all."""
    raise ConnectionResetError("the test hangs up")


BODY = json.dumps(a_vector(a_series("50"))).encode()


@pytest.mark.parametrize(
    ("app", "says"),
    [
        (cut_off, "cannot be reached (ProtocolError)"),
        (hang_up, "did not answer in JSON"),
        (Response(BODY[:-30]), "did not answer in JSON"),
        (Response(b""), "did not answer in JSON"),
        (Response(b"\xff\xfe\x00"), "did not answer in JSON"),
        (PlainTextResponse("upstream connect error", 503), "did not answer in JSON"),
        (HTMLResponse("<html>Please log in</html>"), "did not answer in JSON"),
        (RedirectResponse("/login", 302), "cannot be reached (MaxRetryError)"),
        (Response(b"[" * 100_000), "did not answer in JSON"),
        (Response(b"9" * 10_000), "did not answer in JSON"),
        (JSONResponse({"status": "error"}, 500), "answered error: no reason given"),
    ],
)
def test_an_answer_that_is_none_is_unknown_and_says_why(ask: Ask, app: ASGIApp, says: str) -> None:
    assert says in why(ask(app))


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        "ok",
        7,
        {},
        {"status": "success"},
        {"status": "success", "data": []},
        {"status": "success", "data": "vector"},
        {"status": "success", "data": {"resultType": "vector", "result": 7}},
        {"status": "success", "data": {"resultType": "vector", "result": "text"}},
        {"status": "success", "data": {"resultType": "vector", "result": {"a": 1}}},
        {"status": ["success"], "data": {"resultType": "vector", "result": []}},
    ],
)
def test_json_of_another_shape_is_unknown(ask: Ask, answer: object) -> None:
    assert why(ask(answer))


def test_nobody_there_is_unknown_within_seconds() -> None:
    reader = PrometheusUse(PrometheusEndpoint(url="http://127.0.0.1:9", query="q"))
    assert "cannot be reached" in why(reader.local_use(NOW))


def test_the_question_is_asked_for_the_moment_of_the_round(server: WireServer) -> None:
    """On a rehearsal's clock the machine's own time would find nothing."""
    asked: list[dict[str, str]] = []

    async def note(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(dict(parse_qsl((await Request(scope, receive).body()).decode())))
        await JSONResponse(a_vector(a_series("50")))(scope, receive, send)

    server.app = note
    PrometheusUse(PrometheusEndpoint(url=server.url, query='up{a="b"}')).local_use(NOW)
    assert asked == [{"query": 'up{a="b"}', "time": "1773114005.000"}]


# ---- the twin's own Prometheus ----


@pytest.mark.parametrize(
    "mode", ["", "empty", "nan", "inf", "absurd", "sentinel", "stale", "gap", "unavailable", "html"]
)
def test_the_twins_faults_become_doubt_and_its_truth_a_share(server: WireServer, mode: str) -> None:
    """One absurd card of sixteen is left out; every other fault leaves nothing to believe."""
    world = a_world([a_job(gpus=8, duration_s=9000.0)])
    world.advance_to(600.0)
    if mode:
        world.arm([Fault(name=mode, kind=FaultKind.PROMETHEUS, mode=mode)])
    server.show(world)
    query = 'DCGM_FI_DEV_GPU_UTIL{cluster="idc-gpu"}'
    reader = PrometheusUse(PrometheusEndpoint(url=f"{server.url}/prometheus", query=query))
    reading = reader.local_use(world.ground.time(world.now_s))
    if mode not in ("", "absurd", "sentinel"):
        assert why(reading)
        return
    assert isinstance(reading.use, Percent)
    assert 40.0 < reading.use.value < 60.0, "one of two nodes works"
    assert (reading.series, reading.dropped) == ((15, 1) if mode else (16, 0))


# ---- whatever comes ----

json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)),
    max_leaves=12,
)
numbers = st.one_of(st.floats().map(str), st.integers().map(str), st.sampled_from(["NaN", "+Inf", "-Inf"]), json_values)
series = st.one_of(
    st.fixed_dictionaries(
        {"metric": st.one_of(st.dictionaries(st.sampled_from(["UUID", "gpu"]), st.text(max_size=3)), json_values)},
        optional={"value": st.one_of(st.tuples(st.one_of(st.just(AT), json_values), numbers).map(list), json_values)},
    ),
    json_values,
)
bodies = st.one_of(
    json_values,
    st.fixed_dictionaries({"status": st.just("success"), "data": json_values}),
    st.builds(lambda items: a_vector(*items), st.lists(series, max_size=6)),
)


@pytest.fixture(scope="module")
def readers(server: WireServer) -> dict[str, MetricsReader]:
    """The real reader, and the fake that tests of the tick use: both keep the port's promise."""
    fake = FakeMetrics(lambda: UseReading(use=Unknown("nothing set"), series=0, dropped=0))
    return {"real": PrometheusUse(PrometheusEndpoint(url=server.url, query="q")), "fake": fake}


@settings(deadline=None)
@given(body=bodies)
def test_no_answer_ever_raises_or_gives_a_share_that_is_none(
    server: WireServer, readers: dict[str, MetricsReader], body: object
) -> None:
    server.app = Response(json.dumps(body).encode())
    for reader in readers.values():
        reading = reader.local_use(NOW)
        assert isinstance(reading.use, (Percent, Unknown))
        if isinstance(reading.use, Percent):
            assert 0.0 <= reading.use.value <= 100.0
            assert reading.series >= 1
        else:
            assert reading.use.why


@settings(deadline=None)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=40))
def test_the_mean_lies_between_the_idlest_and_the_busiest_card(
    server: WireServer, readers: dict[str, MetricsReader], values: list[float]
) -> None:
    server.app = JSONResponse(a_vector(*(a_series(repr(value), number) for number, value in enumerate(values))))
    reading = readers["real"].local_use(NOW)
    assert isinstance(reading.use, Percent)
    assert min(values) - 1e-9 <= reading.use.value <= max(values) + 1e-9
