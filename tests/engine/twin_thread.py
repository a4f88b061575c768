"""The twin's control plane on a real port, in a thread of the test's own process."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import uvicorn
from starlette.applications import Starlette

from contract.catalog import read_catalog
from sim.cloud.control import Control
from sim.cloud.routes import routes
from sim.world.clock import Clock
from sim.world.twin import Twin
from sim.world.world import World


@dataclass(frozen=True)
class ServedTwin:
    """A twin and where it answers. Time stands still unless a test moves it."""

    twin: Twin
    control: Control
    url: str


@contextmanager
def twin_thread(catalog: Path) -> Iterator[ServedTwin]:
    """Serve a fresh twin until the block ends."""
    world = World(read_catalog(catalog), seed=1)
    twin = Twin(Clock(world.ground.origin, speed=0), world)
    control = Control(world)
    app = Starlette(routes=routes(twin, control))
    config = uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, name="twin", daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    address = server.servers[0].sockets[0].getsockname()
    try:
        yield ServedTwin(twin, control, f"http://127.0.0.1:{address[1]}")
    finally:
        server.should_exit = True
        thread.join(timeout=10)
