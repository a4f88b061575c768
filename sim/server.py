"""One process, one HTTP server for all faces of the twin, on 127.0.0.1 and nowhere else.

    python -m sim --site stacks --workload jobs.csv --start 2026-11-30T08:00:00+08:00

`--site` is the folder that holds catalog.yaml. Once it answers, the port and the tokens stand in the
port file. `python -m sim` adds the clouds' doors to the faces here. Ends quietly on SIGTERM and
SIGINT, and with its parent when asked to. Must not hold any rule of the world.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Receive, Scope, Send

from contract.catalog import read_catalog
from contract.problems import InvalidInput
from sim.control import ControlDoor
from sim.kube.face import KubeFace
from sim.prometheus.face import PrometheusFace
from sim.world.clock import VIRTUAL_SPEED, Clock
from sim.world.fault_file import read_faults
from sim.world.twin import Twin
from sim.world.workload import read_workload
from sim.world.world import World

ExtraRoutes = Callable[[Twin], Sequence[BaseRoute]]
_PR_SET_PDEATHSIG = 1


@dataclass(slots=True)
class Stop:
    """Asks the server to end; known to the control door before the server exists."""

    server: uvicorn.Server | None = None
    twin: Twin | None = None

    def __call__(self) -> None:
        if self.twin is not None:
            self.twin.is_stopping = True
        if self.server is not None:
            self.server.should_exit = True


def build_app(twin: Twin, extra_routes: Sequence[BaseRoute] = (), stop: Callable[[], None] = lambda: None) -> ASGIApp:
    """All faces of a twin. `extra_routes`: mounts of other doors, such as the clouds' wire faces."""
    faces = [*KubeFace(twin).routes(), *PrometheusFace(twin).routes(), *ControlDoor(twin, stop).routes()]
    return _WithAbort(Starlette(routes=[*extra_routes, *faces]))


class _WithAbort:
    """Lets a handler cut the connection, which no HTTP status can show."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["twin.abort"] = lambda: _abort(send)
        await self._app(scope, receive, send)


def _abort(send: Send) -> None:
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is not None:
        transport.abort()


def serve(twin: Twin, extra_routes: Sequence[BaseRoute] = (), *, port: int = 0, port_file: Path | None = None) -> None:
    """Answer until told to stop. Blocks."""
    stop = Stop(twin=twin)
    app = build_app(twin, extra_routes, stop)
    config = uvicorn.Config(
        app,
        log_level="critical",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=1,
        timeout_keep_alive=600,
    )
    server = stop.server = _QuietServer(config, stop)
    with _listen(port) as listener:
        if port_file is not None:
            write_port_file(port_file, int(listener.getsockname()[1]), twin)
        server.run(sockets=[listener])


def _listen(port: int) -> socket.socket:
    # asyncio switches Nagle's delay off only where the protocol is named; without it each answer
    # waits 40 ms for an acknowledgement.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    listener.listen(128)
    return listener


class _QuietServer(uvicorn.Server):
    """Ends without a second signal and without words; watches end first."""

    def __init__(self, config: uvicorn.Config, stop: Stop) -> None:
        super().__init__(config)
        self._stop = stop

    def handle_exit(self, sig: int, frame: object) -> None:
        self._stop()


def write_port_file(path: Path, port: int, twin: Twin) -> None:
    """Where the twin answers and with which tokens; appears whole or not at all."""
    document = {
        "url": f"http://127.0.0.1:{port}",
        "port": port,
        "pid": os.getpid(),
        "token": twin.token,
        "tokens": twin.tokens,
    }
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        json.dump(document, file)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def die_with_parent() -> None:
    """Ask the kernel (Linux) for SIGTERM when the parent ends; go at once when it has ended."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:
        sys.exit(0)


def make_twin(arguments: argparse.Namespace) -> Twin:
    """The twin that the command line describes; raises InvalidInput."""
    catalog = read_catalog(arguments.site / "catalog.yaml")
    jobs = read_workload(arguments.workload) if arguments.workload else ()
    faults = read_faults(arguments.faults) if arguments.faults else ()
    world = World(catalog, jobs, seed=arguments.seed, origin=arguments.start)
    world.arm(faults)
    return Twin(Clock(arguments.start, arguments.speed), world)


def main(argv: Sequence[str] | None = None, extra_routes: ExtraRoutes | None = None) -> int:
    """The command line; `extra_routes` adds the doors of other rooms of the twin."""
    arguments = _parser().parse_args(argv)
    if arguments.die_with_parent:
        die_with_parent()
    try:
        twin = make_twin(arguments)
    except InvalidInput as error:
        sys.stderr.write(f"{error}\n")
        return 2
    serve(twin, extra_routes(twin) if extra_routes else (), port=arguments.port, port_file=arguments.port_file)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m sim", description="Run the digital twin.")
    parser.add_argument("--site", type=Path, required=True, help="folder that holds catalog.yaml")
    parser.add_argument("--workload", type=Path, help="jobs as CSV")
    parser.add_argument("--start", type=_start, required=True, help="virtual start, ISO 8601 with a time zone")
    parser.add_argument("--speed", type=_speed, default=VIRTUAL_SPEED, help="'virtual', or how much faster than real")
    parser.add_argument("--seed", type=int, default=0, help="all chance follows from it")
    parser.add_argument("--faults", type=Path, help="fault plan as YAML")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--port-file", type=Path, help="JSON with url, port, pid and tokens")
    parser.add_argument("--die-with-parent", action="store_true", help="end when the parent process ends")
    return parser


def _start(text: str) -> datetime:
    start = datetime.fromisoformat(text)
    if start.tzinfo is None:
        raise argparse.ArgumentTypeError(f"{text} has no time zone; write it such as {text}+08:00")
    return start


def _speed(text: str) -> float:
    return VIRTUAL_SPEED if text == "virtual" else float(text)


if __name__ == "__main__":
    sys.exit(main())
