"""Entry point of a plugin: serve on a free loopback port, print it, leave when the engine leaves.

Started as `python -m sim.providers aws|alicloud ENGINE_ADDRESS`. The first line of standard output
is the port: print nothing else there.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from types import FrameType

import grpc

from sim.providers import stubs

PARENT_POLL_SECONDS = 0.5
MESSAGE_LIMIT = 400 * 1024 * 1024
_PR_SET_PDEATHSIG = 1


def main(argv: list[str]) -> int:
    parent = os.getppid()
    signals: queue.SimpleQueue[int] = queue.SimpleQueue()

    def note(signum: int, _frame: FrameType | None) -> None:
        signals.put(signum)

    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, note)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGHUP, 0, 0, 0)
    try:
        stubs.mount()
    except stubs.SdkNotInstalled as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    serve(argv[0], parent, signals)
    return 0


def serve(provider: str, parent: int, signals: queue.SimpleQueue[int]) -> None:
    """Answer until the engine says stop or is gone."""
    from pulumi.runtime.proto import provider_pb2_grpc

    from sim.providers.schema import load_schema, sdk_version
    from sim.providers.servicer import Plugin

    server = grpc.server(
        ThreadPoolExecutor(max_workers=32),
        options=[
            ("grpc.max_receive_message_length", MESSAGE_LIMIT),
            ("grpc.max_send_message_length", MESSAGE_LIMIT),
        ],
    )
    plugin = Plugin(provider, sdk_version(provider), load_schema)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(plugin, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    _wait(parent, signals)
    server.stop(grace=0.2).wait()


def _wait(parent: int, signals: queue.SimpleQueue[int]) -> None:
    while os.getppid() == parent:
        try:
            signum = signals.get(timeout=PARENT_POLL_SECONDS)
        except queue.Empty:
            continue
        # The kernel sends the hang-up when the thread that started us ends, and a thread of the
        # engine may end while the engine lives: only its absence counts.
        if signum != signal.SIGHUP:
            return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
