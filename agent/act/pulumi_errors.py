"""The Pulumi CLI's way of failing, turned into our errors. The only place that reads its error text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent.act.pulumi_command import Finished
from agent.errors import (
    ApplyFailed,
    ExitCode,
    NotAuthorised,
    PreviewRefused,
    SpillwayError,
    StackLocked,
    StackMissing,
    StackUnreadable,
    redact,
)

_LOOK = "run 'pulumi preview' on the stack and read what it says"
_FALLBACK_HINTS: dict[type[SpillwayError], str] = {
    ApplyFailed: "nothing to do: the pool backs off and the next best one is tried; see 'spillway decisions'",
}
_COLOUR = re.compile(r"<\{%.*?%\}>")
_TEXTS: tuple[tuple[str, type[SpillwayError], str], ...] = (
    ("the stack is currently locked by", StackLocked, "wait for the other update to end, or see 'spillway doctor'"),
    ("no stack named", StackMissing, "create it with 'pulumi stack init {stack}' and bring it up once"),
    ("incorrect passphrase", StackUnreadable, "set PULUMI_CONFIG_PASSPHRASE or _FILE to the stack's passphrase"),
    ("passphrase must be set", StackUnreadable, "set PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE"),
    ("could not unmarshal", StackUnreadable, "mend the stack's file, or restore it from git"),
    ("failed to load checkpoint", StackUnreadable, "restore the state from its .bak file or the newest history"),
)
_CODES: dict[int, tuple[type[SpillwayError], str]] = {
    ExitCode.BAD_CALL: (StackUnreadable, "read the message; the stack's file or passphrase is not what Pulumi expects"),
    ExitCode.AUTH: (NotAuthorised, "renew the credentials of the backend or the cloud"),
    ExitCode.NO_STACK: (StackMissing, "create it with 'pulumi stack init {stack}' and bring it up once"),
    ExitCode.POLICY: (PreviewRefused, "see which policy refused in the text above"),
}


def translate(
    finished: Finished,
    stack: str,
    fallback: type[SpillwayError] = ApplyFailed,
    diagnostics: Sequence[str] = (),
) -> SpillwayError:
    """The error that a failed command means; `fallback` when nothing else is known.

    `diagnostics` are the engine's error texts: the first one becomes the message.
    """
    text = f"{finished.stderr}\n{finished.stdout}"
    if finished.code < 0:
        what = f"pulumi was ended from outside by signal {-finished.code}"
        hint = "see what ended it (memory ran out?); the next tick looks how far it came"
        return fallback(what, target=f"stack {stack}", hint=hint)
    for words, kind, hint in _TEXTS:
        if words in text:
            return kind(first_error(finished), target=f"stack {stack}", hint=hint.format(stack=stack))
    said = _tidy(diagnostics[0]) if diagnostics else first_error(finished)
    kind, hint = _CODES.get(finished.code, (fallback, _FALLBACK_HINTS.get(fallback, _LOOK)))
    return kind(said, target=f"stack {stack}", hint=hint.format(stack=stack))


def _tidy(diagnostic: str) -> str:
    """One line without the engine's colour marks and without secrets."""
    plain = " ".join(_COLOUR.sub("", diagnostic).split())
    return redact(plain)[:500]


def first_error(finished: Finished) -> str:
    """The line that says most, without secrets; never the whole output."""
    lines = [line.strip() for line in f"{finished.stderr}\n{finished.stdout}".splitlines() if line.strip()]
    telling = [
        line
        for line in lines
        if line.startswith("error:") and "preview failed" not in line and "update failed" not in line
    ]
    line = (telling or [line for line in lines if "error" in line] or lines or ["no output"])[0]
    return redact(line.removeprefix("error:").strip())[:500]
