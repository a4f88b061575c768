"""Run as a script in front of a command: when the parent dies, the command is interrupted.

    python -I -S leash.py PARENT_PID COMMAND ARGUMENT...

Set here, between fork and exec in a process of its own, because running Python code between them in
the agent itself could dead-lock: it has other threads. Standard library only; imports nothing of ours.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1


def main() -> None:
    """Become the command. The signal is SIGINT: the engine stops issuing and ends in order."""
    parent, command = int(sys.argv[1]), sys.argv[2:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGINT)
    if os.getppid() != parent:
        # It died before the signal was asked for.
        sys.exit(1)
    os.execv(command[0], command)


if __name__ == "__main__":
    main()
