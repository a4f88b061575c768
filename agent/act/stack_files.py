"""Stack files on disk: read, and replace as a whole or not at all.

A kill at any moment leaves the old bytes or the new ones: temporary file beside the target, fsync,
rename, fsync of the folder. What is replaced is compared with what the decision was made on.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from agent.errors import ConfigConflict, StackMissing, StackUnreadable


def read_stack_file(path: Path, stack: str) -> str:
    """The file's text. Raises StackMissing, StackUnreadable."""
    try:
        # newline="" keeps CRLF as it is: every byte outside the edit must survive.
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError as error:
        raise StackMissing("its file does not exist", target=f"stack {stack}", hint=f"create {path}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise StackUnreadable(str(error), target=f"stack {stack}", hint=f"check {path}") from error


def replace_stack_file(path: Path, stack: str, expected: str, candidate: str) -> None:
    """Put `candidate` in place if the file still holds `expected`. Raises ConfigConflict, StackUnreadable."""
    if read_stack_file(path, stack) != expected:
        hint = "nothing was written; the next tick decides again on the new file"
        raise ConfigConflict("its file changed since the decision", target=f"stack {stack}", hint=hint)
    try:
        _write_atomically(path, candidate)
    except OSError as error:
        raise StackUnreadable(f"cannot be written: {error}", target=f"stack {stack}", hint=f"check {path}") from error


def _write_atomically(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fchmod(file.fileno(), path.stat().st_mode & 0o777)
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
