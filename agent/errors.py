"""Every error of the agent: its code, its exit code, whether trying again can help, the next step.

Adapters turn their library's exceptions into these, chained; nobody above matches foreign text.
"""

from __future__ import annotations

import re
from enum import IntEnum, StrEnum


class ExitCode(IntEnum):
    """The Pulumi CLI's contract up to 9, ours from 20."""

    OK = 0
    ERROR = 1
    BAD_CALL = 2
    AUTH = 3
    RESOURCE = 4
    POLICY = 5
    NO_STACK = 6
    UNEXPECTED_CHANGES = 7
    CANCELLED = 8
    TIMEOUT = 9
    BUDGET_REFUSED = 20
    STALE_INPUTS = 21
    LOCK_HELD = 22
    APPROVAL_NEEDED = 23
    FROZEN = 24
    INTERNAL = 255


class RetryClass(StrEnum):
    """What the caller may do about it."""

    TRANSIENT = "transient"
    PERMANENT = "permanent"
    REFUSED = "refused"


_SECRETS = (
    re.compile(r"(?i)((?:passphrase|password|secret|token|credential|access[_-]?key)[\w-]*[\"']?\s*[=:]\s*)[^\s,;&]+"),
    re.compile(r"(?i)((?:authorization\s*[=:]\s*)?bearer\s+)\S+"),
    re.compile(r"(://[^/\s:@]+:)[^@\s]+(?=@)"),
)


def redact(text: str) -> str:
    """Blot out what looks like a secret beside its name, a bearer token, a password in an address."""
    for pattern in _SECRETS:
        text = pattern.sub(r"\1[hidden]", text)
    return text


class SpillwayError(Exception):
    """Base of all: `what` happened to which object, and the `hint` that says the next step."""

    code = "error"
    exit_code = ExitCode.ERROR
    retry = RetryClass.PERMANENT

    def __init__(self, what: str, *, target: str, hint: str) -> None:
        # Foreign texts end up here; whatever quotes them later quotes them without secrets.
        self.what = redact(what)
        self.target = target
        self.hint = hint
        super().__init__(f"{target}: {self.what}")


class SignalUnavailable(SpillwayError):
    """A sensor gave no answer that can be used."""

    code = "signal_unavailable"
    exit_code = ExitCode.STALE_INPUTS
    retry = RetryClass.TRANSIENT


class CloudUnavailable(SpillwayError):
    """A cloud's API could not be read or refused for now (throttling, 5xx, no connection)."""

    code = "cloud_unavailable"
    retry = RetryClass.TRANSIENT


class CloudRefused(SpillwayError):
    """A cloud's API refused a call for good: rights, absent object, bad argument."""

    code = "cloud_refused"
    exit_code = ExitCode.RESOURCE
    retry = RetryClass.REFUSED


class NotAuthorised(SpillwayError):
    """Credentials are missing, wrong or expired."""

    code = "not_authorised"
    exit_code = ExitCode.AUTH
    retry = RetryClass.REFUSED


class StackMissing(SpillwayError):
    """The stack does not exist in the backend, or its file is absent."""

    code = "stack_missing"
    exit_code = ExitCode.NO_STACK


class StackUnreadable(SpillwayError):
    """The stack's secrets or state cannot be read: wrong passphrase, damaged file."""

    code = "stack_unreadable"
    exit_code = ExitCode.BAD_CALL


class StackLocked(SpillwayError):
    """Somebody alive holds the stack's lock: this tick ends, the next one tries again."""

    code = "stack_locked"
    exit_code = ExitCode.LOCK_HELD
    retry = RetryClass.TRANSIENT


class PreviewRefused(SpillwayError):
    """The guard saw a step that the decision did not ask for, or could not read the preview."""

    code = "preview_refused"
    exit_code = ExitCode.UNEXPECTED_CHANGES
    retry = RetryClass.REFUSED


class ApplyFailed(SpillwayError):
    """`pulumi up` failed; the state may hold part of the change. `failed`: resources whose step failed."""

    code = "apply_failed"
    exit_code = ExitCode.RESOURCE

    def __init__(self, what: str, *, target: str, hint: str, failed: tuple[str, ...] = ()) -> None:
        super().__init__(what, target=target, hint=hint)
        self.failed = failed


class PulumiTimeout(SpillwayError):
    """A Pulumi command was ended because it ran past its limit."""

    code = "pulumi_timeout"
    exit_code = ExitCode.TIMEOUT
    retry = RetryClass.TRANSIENT


class PulumiUnusable(SpillwayError):
    """The CLI is absent, or too old for the SDK."""

    code = "pulumi_unusable"
    exit_code = ExitCode.BAD_CALL


class PendingOperations(SpillwayError):
    """The state holds creations whose outcome is unknown: buying on could buy twice."""

    code = "pending_operations"
    exit_code = ExitCode.UNEXPECTED_CHANGES
    retry = RetryClass.REFUSED


class ConfigConflict(SpillwayError):
    """The stack file is not what the decision was made on; somebody else edited it."""

    code = "config_conflict"
    exit_code = ExitCode.STALE_INPUTS
    retry = RetryClass.TRANSIENT


class DrainRefused(SpillwayError):
    """A node that should leave cannot be freed safely now."""

    code = "drain_refused"
    exit_code = ExitCode.STALE_INPUTS
    retry = RetryClass.TRANSIENT


class LedgerBroken(SpillwayError):
    """The ledger cannot be written or read. Without it nothing is bought."""

    code = "ledger_broken"
    exit_code = ExitCode.ERROR


class InputsUnreadable(LedgerBroken):
    """What a decision was made on was stored by a version that this one cannot read whole."""

    code = "inputs_unreadable"


class NothingRecorded(SpillwayError):
    """The ledger holds no such decision."""

    code = "nothing_recorded"
    exit_code = ExitCode.BAD_CALL


class BadSettings(SpillwayError):
    """An environment variable or option is missing or wrong."""

    code = "bad_settings"
    exit_code = ExitCode.BAD_CALL


class BadCall(SpillwayError):
    """A command was called in a way it cannot be."""

    code = "bad_call"
    exit_code = ExitCode.BAD_CALL


class AgentRunning(SpillwayError):
    """Another agent works on the same ledger."""

    code = "agent_running"
    exit_code = ExitCode.LOCK_HELD
    retry = RetryClass.TRANSIENT
