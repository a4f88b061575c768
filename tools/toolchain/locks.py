"""Keeps two set-ups from building the same thing at once, in one checkout or in a shared cache."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tools.toolchain.commands import Commands
from tools.toolchain.progress import Progress

POLL_SECONDS = 0.2


@contextmanager
def held(path: Path, topic: str, commands: Commands, progress: Progress) -> Iterator[None]:
    """Hold the lock; the kernel frees it when the process ends, however it ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as stream:
        if not _try(stream.fileno()):
            with progress.during(topic, "waiting for another set-up that is at it"):
                while not _try(stream.fileno()):
                    commands.raise_if_stopped("waiting for another set-up")
                    time.sleep(POLL_SECONDS)
        yield


def _try(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
