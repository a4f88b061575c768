"""Entry point: serve on a free loopback port, print it, and leave when the engine leaves.

Started by the launcher that set-up writes next to the CLI, with the executor's path as `--executor`
and the engine's address as the last argument. Standard output carries the port first: print nothing
before it.
"""

import argparse
import os
import queue
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType

import grpc

from tools import guard
from tools.language_host import stubs

MESSAGE_LIMIT = 400 * 1024 * 1024
PARENT_POLL_SECONDS = 0.5


def main() -> int:
    parent = os.getppid()
    guard.die_with_parent(parent, signal.SIGTERM)
    signals: queue.SimpleQueue[int] = queue.SimpleQueue()

    def note(signum: int, _frame: FrameType | None) -> None:
        signals.put(signum)

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, note)
    arguments = _parse(sys.argv[1:])
    try:
        stubs.mount()
    except stubs.SdkNotInstalled as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    serve(arguments, parent, signals)
    return 0


def serve(arguments: argparse.Namespace, parent: int, signals: queue.SimpleQueue[int]) -> None:
    """Answer until a signal arrives or the parent is gone."""
    from pulumi.runtime.proto import language_pb2_grpc

    from tools.language_host.servicer import PythonHost

    server = grpc.server(
        ThreadPoolExecutor(max_workers=8),
        options=[
            ("grpc.max_receive_message_length", MESSAGE_LIMIT),
            ("grpc.max_send_message_length", MESSAGE_LIMIT),
        ],
    )
    host = PythonHost(arguments.engine, arguments.executor)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    print(port, flush=True)
    _wait(parent, signals)
    host.close()
    server.stop(grace=0.2).wait()


def _wait(parent: int, signals: queue.SimpleQueue[int]) -> None:
    while os.getppid() == parent:
        try:
            signals.get(timeout=PARENT_POLL_SECONDS)
        except queue.Empty:
            continue
        return


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="pulumi-language-python", description=__doc__)
    parser.add_argument("--executor", type=Path, required=True)
    parser.add_argument("engine", nargs="?", default="")
    known, _ = parser.parse_known_args(argv)
    return known


if __name__ == "__main__":
    sys.exit(main())
