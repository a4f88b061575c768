"""Clocks tell the time with its zone, or raise: a wrong time would void every window."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp

from agent.errors import ExitCode, SignalUnavailable
from agent.ports import Clock
from agent.sense.clock import HttpClock, SystemClock
from tests.fakes.clock import FakeClock
from tests.sim.builders import a_world
from tests.sim.wire_server import WireServer, serve


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One socket for the whole file."""
    with serve() as started:
        yield started


@pytest.fixture(params=["system", "http", "fake"])
def clock(request: pytest.FixtureRequest, server: WireServer) -> Clock:
    """Any implementation; over HTTP it is the twin's."""
    if request.param == "http":
        server.show(a_world())
        return HttpClock(f"{server.url}/twin/clock")
    return SystemClock() if request.param == "system" else FakeClock()


def test_the_time_has_its_zone_and_never_runs_backwards(clock: Clock) -> None:
    first, second = clock.now(), clock.now()
    assert first.utcoffset() is not None
    assert timedelta(0) <= second - first < timedelta(seconds=5)


def test_the_twins_time_is_the_worlds(server: WireServer) -> None:
    world = a_world()
    server.show(world)
    clock = HttpClock(f"{server.url}/twin/clock")
    assert clock.now() == world.ground.origin


@pytest.mark.parametrize("text", ["2026-11-30T08:00:00+08:00", "2026-11-30T00:00:00Z", "2026-11-30T00:00:00.000+00:00"])
def test_any_zone_is_the_same_moment(server: WireServer, text: str) -> None:
    server.app = JSONResponse({"now": text})
    assert HttpClock(server.url).now() == datetime(2026, 11, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "answer",
    [
        JSONResponse({"now": "2026-11-30T08:00:00"}),
        JSONResponse({"now": "soon"}),
        JSONResponse({"now": 1796000000}),
        JSONResponse({"now": None}),
        JSONResponse({}),
        JSONResponse([]),
        HTMLResponse("<html>Please log in</html>"),
        Response(b""),
        Response(b"\xff"),
    ],
)
def test_an_answer_without_a_time_is_our_error(server: WireServer, answer: ASGIApp) -> None:
    server.app = answer
    with pytest.raises(SignalUnavailable) as caught:
        HttpClock(server.url).now()
    assert caught.value.exit_code is ExitCode.STALE_INPUTS
    assert caught.value.hint


def test_nobody_there_is_our_error() -> None:
    with pytest.raises(SignalUnavailable, match="gave no time"):
        HttpClock("http://127.0.0.1:9").now()
