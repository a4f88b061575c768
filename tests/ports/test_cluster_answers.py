"""What stands where an API server should be, and does not answer like one: our errors, never an empty cluster."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from agent.cluster_access import ClusterEndpoint
from agent.errors import ExitCode, NotAuthorised, SignalUnavailable, SpillwayError
from agent.sense.kubernetes import KubernetesReader
from tests.ports.kube_objects import Json, Objects, a_node, read, reader_of
from tests.sim.wire_server import WireServer, serve


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One socket for the whole file."""
    with serve() as started:
        yield started


async def cut_off(scope: Scope, receive: Receive, send: Send) -> None:
    """A body that ends before its announced length."""
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"500")]})
    await send({"type": "http.response.body", "body": b'{"items": [{"metadata": {"na'})


def status(code: int, reason: str) -> Response:
    body = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
    return JSONResponse(body, code)


@pytest.mark.parametrize(
    ("app", "error_type", "says"),
    [
        (status(401, "Unauthorized"), NotAuthorised, "answered 401"),
        (status(403, "Forbidden"), NotAuthorised, "answered 403"),
        (status(404, "NotFound"), SignalUnavailable, "answered 404"),
        (status(410, "Expired"), SignalUnavailable, "answered 410"),
        (status(429, "TooManyRequests"), SignalUnavailable, "answered 429"),
        (status(500, "InternalError"), SignalUnavailable, "answered 500"),
        (status(503, "ServiceUnavailable"), SignalUnavailable, "answered 503"),
        (PlainTextResponse("upstream connect error", 503), SignalUnavailable, "answered 503"),
        (HTMLResponse("<html>Please log in</html>"), SignalUnavailable, "no usable answer"),
        (HTMLResponse("<html>Bad Gateway</html>", 502), SignalUnavailable, "answered 502"),
        (RedirectResponse("/login"), SignalUnavailable, "no usable answer"),
        (cut_off, SignalUnavailable, "no usable answer"),
        (Response(b'{"items": [{"metad'), SignalUnavailable, "no usable answer"),
        (Response(b""), SignalUnavailable, "no usable answer"),
        (Response(b"\xff\xfe"), SignalUnavailable, "no usable answer"),
        (JSONResponse([]), SignalUnavailable, "its answer is no object"),
        (JSONResponse("nodes"), SignalUnavailable, "its answer is no object"),
        (JSONResponse({"items": [{}]}), SignalUnavailable, "an object lacks what it must have"),
        (JSONResponse({"items": ["node"]}), SignalUnavailable, "an object lacks what it must have"),
        (JSONResponse({"items": 7}), SignalUnavailable, "its answer is no list"),
        (JSONResponse({"items": {"a": {}}}), SignalUnavailable, "its answer is no list"),
        (JSONResponse({}), SignalUnavailable, "its answer is no list"),
        (JSONResponse({"message": "welcome to the portal"}), SignalUnavailable, "its answer is no list"),
    ],
)
def test_a_bad_answer_is_our_error_with_the_cluster_and_a_hint(
    server: WireServer, app: ASGIApp, error_type: type[SpillwayError], says: str
) -> None:
    with pytest.raises(error_type, match=says) as caught:
        read(server, app)
    assert type(caught.value) is error_type
    assert caught.value.target == "cluster idc-gpu"
    assert caught.value.hint
    assert caught.value.exit_code in (ExitCode.AUTH, ExitCode.STALE_INPUTS)


def test_nobody_there_is_our_error() -> None:
    reader = KubernetesReader(ClusterEndpoint(name="idc-gpu", url="http://127.0.0.1:9", token=lambda: "t"))
    with pytest.raises(SignalUnavailable, match="no usable answer"):
        reader.read()


def test_a_list_of_nothing_is_an_empty_cluster(server: WireServer) -> None:
    """Go writes an empty list as null now and then."""
    for text in (b'{"kind": "NodeList", "items": null}', b'{"kind": "NodeList", "items": []}'):
        assert read(server, Response(text)).nodes == ()


def test_the_token_stands_in_no_error(server: WireServer) -> None:
    server.app = status(401, "Unauthorized")
    with pytest.raises(NotAuthorised) as caught:
        reader_of(server, token="canary-4711").read()
    assert "canary-4711" not in f"{caught.value} {caught.value.hint} {caught.value!r}"


SPOILS: list[Callable[[Json], object]] = [
    lambda item: item["metadata"].pop("name"),
    lambda item: item["metadata"].pop("creationTimestamp"),
    lambda item: item["metadata"].update(creationTimestamp="soon"),
    lambda item: item["metadata"].update(creationTimestamp="2026-11-30T08:00:00"),
    lambda item: item.update(metadata=None),
    lambda item: item.update(status=7),
    lambda item: item.update(spec="x"),
]


@pytest.mark.parametrize("spoil", range(len(SPOILS)))
def test_a_node_without_what_it_must_have_voids_the_reading(server: WireServer, spoil: int) -> None:
    node = a_node()
    SPOILS[spoil](node)
    with pytest.raises(SignalUnavailable):
        read(server, Objects(nodes=[a_node("good"), node]))


json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=6)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(
            st.sampled_from(["metadata", "items", "spec", "status", "name", "labels", "continue"]), inner, max_size=4
        ),
    ),
    max_leaves=14,
)


@settings(deadline=None)
@given(body=json_values)
def test_no_answer_raises_anything_but_our_errors(server: WireServer, body: object) -> None:
    server.app = Response(json.dumps(body).encode())
    try:
        reading = reader_of(server).read()
    except (SignalUnavailable, NotAuthorised):
        return
    assert all(node.name for node in reading.nodes)
