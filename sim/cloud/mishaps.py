"""Mishaps of single calls that a test orders: a refusal before the work, a lost or late answer after it.

Faults of machines and stock stand in sim.world.faults; here are only those of the control plane.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.world.refusals import CloudRefusal


@dataclass(slots=True, kw_only=True)
class Mishap:
    """One ordered mishap. With `after` the work is done and only its answer is lost; with `hold_s` it
    is kept back for so many real seconds, long enough to kill who waits for it."""

    operation: str
    kind: str
    code: str = "InternalFailure"
    message: str = "ordered by a test"
    http_status: int = 400
    after: bool = False
    hold_s: float = 0.0
    times: int = 1


@dataclass(slots=True)
class Mishaps:
    """The mishaps still to come."""

    ordered: list[Mishap] = field(default_factory=list)

    def before(self, operation: str, kind: str) -> None:
        """Refuse if a mishap waits for this call."""
        self._strike(operation, kind, after=False)

    def after(self, operation: str, kind: str) -> None:
        """Lose the answer if a mishap waits for it."""
        self._strike(operation, kind, after=True)

    def hold(self, operation: str, kind: str) -> float:
        """How long to keep the answer back."""
        for mishap in self.ordered:
            if (mishap.operation, mishap.kind) == (operation, kind) and mishap.hold_s and mishap.times > 0:
                mishap.times -= 1
                return mishap.hold_s
        return 0.0

    def _strike(self, operation: str, kind: str, *, after: bool) -> None:
        for mishap in self.ordered:
            fits = (mishap.operation, mishap.kind, mishap.after) == (operation, kind, after)
            if fits and not mishap.hold_s and mishap.times > 0:
                mishap.times -= 1
                raise CloudRefusal(mishap.code, mishap.message, mishap.http_status)
