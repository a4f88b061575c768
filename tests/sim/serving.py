"""A twin behind real HTTP for a test: the shipped faces in a thread, a clock that only jumps.

One listener serves all tests of a session, one twin after another: a server takes longer to end
than a test to run.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from sim.server import build_app
from sim.world.clock import Clock
from sim.world.twin import Twin
from sim.world.world import DEFAULT_ORIGIN, World


@dataclass(slots=True)
class Switchboard:
    """Hands each request to the twin of the test that runs."""

    url: str = ""
    app: ASGIApp = field(default_factory=lambda: PlainTextResponse("no twin", 503))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


@dataclass(slots=True)
class Served:
    """A twin that answers at `url`."""

    twin: Twin
    url: str
    is_stopped: bool = False

    def stop(self) -> None:
        """What the control door calls."""
        self.is_stopped = True


@contextmanager
def listening() -> Iterator[Switchboard]:
    """A server without a twin."""
    board = Switchboard()
    config = uvicorn.Config(board, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        board.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        yield board
        server.should_exit = True
        thread.join(10)
        assert not thread.is_alive()


@contextmanager
def served(board: Switchboard, world: World, extra_routes: Sequence[BaseRoute] = ()) -> Iterator[Served]:
    """Serve a world; its time moves only when the test says so."""
    twin = Twin(Clock(DEFAULT_ORIGIN, monotonic=lambda: 0.0), world)
    live = Served(twin, board.url)
    board.app = build_app(twin, extra_routes, live.stop)
    yield live
    twin.is_stopping = True
