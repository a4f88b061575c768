"""Starts a command that the kernel ends when its parent ends, however the parent ends.

Run as a script with `python -I -S guard.py PARENT COMMAND...`: it sets the parent-death signal on
itself and becomes the command, so no code runs between fork and exec in a process that has gRPC
threads.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1


def die_with_parent(parent: int, signum: int) -> None:
    """Ask for `signum` when the parent dies; end now if it is already gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signum, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)


def guarded(command: Sequence[str]) -> list[str]:
    """The command line that runs an absolute command under the guard, for this process."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def main() -> None:
    parent, *command = sys.argv[1:]
    die_with_parent(int(parent), signal.SIGKILL)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
