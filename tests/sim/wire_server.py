"""A twin behind real sockets for tests of the clouds' wire: one thread, a free port on 127.0.0.1."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import uvicorn
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sim.server import build_app
from sim.wire.routes import routes
from sim.world.clock import Clock
from sim.world.twin import Twin
from sim.world.world import World

_START_LIMIT_S = 10.0


@dataclass
class WireServer:
    """Where it answers, what it serves now, and the path of every request so far."""

    app: ASGIApp
    host: str = ""
    calls: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Its address as the AWS SDK takes it."""
        return f"http://{self.host}"

    def show(self, world: World) -> None:
        """Serve a twin of this world from now on; its time stands still unless the test moves it."""
        twin = Twin(Clock(world.ground.origin, speed=0), world)
        self.app = build_app(twin, routes(twin))
        self.calls.clear()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.calls.append(str(scope.get("path")))
        await self.app(scope, receive, send)


@contextmanager
def serve(app: ASGIApp | None = None) -> Iterator[WireServer]:
    """Any ASGI application behind a socket; ends with the block. Starting and ending cost some 0.3 s."""
    shown = WireServer(app or PlainTextResponse("nothing yet"))
    config = uvicorn.Config(shown, host="127.0.0.1", port=0, log_level="critical", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="wire", daemon=True)
    thread.start()
    try:
        shown.host = _address(server)
        yield shown
    finally:
        server.should_exit = True
        thread.join(timeout=10)


def _address(server: uvicorn.Server) -> str:
    deadline = time.monotonic() + _START_LIMIT_S
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.002)
    sockets: Sequence[object] = server.servers[0].sockets
    host, port = sockets[0].getsockname()  # type: ignore[attr-defined]
    return f"{host}:{port}"
