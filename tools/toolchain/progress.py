"""What set-up says while it works: one line a step, and a sign of life every ten seconds."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TextIO

HEARTBEAT_SECONDS = 10.0

Count = Callable[[], str]


class Progress:
    """Lines with elapsed seconds; safe to use from the threads of two steps."""

    def __init__(self, stream: TextIO, *, colour: bool, heartbeat: float = HEARTBEAT_SECONDS) -> None:
        self._stream = stream
        self._colour = colour
        self._heartbeat = heartbeat
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def say(self, topic: str, text: str) -> None:
        """One line."""
        seconds = time.monotonic() - self._began
        label = f"\x1b[36m{topic:<11}\x1b[0m" if self._colour else f"{topic:<11}"
        with self._lock:
            print(f"[{seconds:6.1f} s] {label} {text}", file=self._stream, flush=True)

    @contextmanager
    def during(self, topic: str, text: str, count: Count = lambda: "") -> Iterator[None]:
        """A step that may be long: says that it began, that it lives, and how long it took."""
        self.say(topic, f"{text} ...")
        began = time.monotonic()
        done = threading.Event()

        def beat() -> None:
            while not done.wait(self._heartbeat):
                extra = count()
                tail = f", {extra}" if extra else ""
                self.say(topic, f"{text}: {time.monotonic() - began:.0f} s{tail}")

        pulse = threading.Thread(target=beat, daemon=True)
        pulse.start()
        try:
            yield
        finally:
            done.set()
            pulse.join()
        self.say(topic, f"{text}: done in {time.monotonic() - began:.1f} s")


def for_terminal(environment: Mapping[str, str]) -> Progress:
    """Progress on standard output, coloured only on a terminal without NO_COLOR."""
    colour = sys.stdout.isatty() and not environment.get("NO_COLOR")
    return Progress(sys.stdout, colour=colour)
