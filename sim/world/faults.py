"""What goes wrong, when, and for whom: a plan of faults, and the log of those that fired.

A fault stands in its window until it has fired `count` times. Others ask `match` at the moment when
a thing could fail; nothing here reaches into the world. Reading of the file: fault_file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from sim.world.draws import Draws

FOREVER = float("inf")


class FaultKind(StrEnum):
    """The kinds that the twin can act out."""

    STOCK_OUT = "stock_out"
    QUOTA = "quota"
    SLOW_BOOT = "slow_boot"
    BOOT_FAILURE = "boot_failure"
    GPU_LATE = "gpu_late"
    SPOT_RECLAIM = "spot_reclaim"
    PROMETHEUS = "prometheus"
    API_DOWN = "api_down"
    THROTTLING = "throttling"
    API_THROTTLED = "api_throttled"


class Moment(StrEnum):
    """When a refusal hits: in the answer to the call, or later as a failed scaling activity."""

    ORDER = "order"
    LAUNCH = "launch"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Whom a fault concerns; an empty field concerns all."""

    pool: str = ""
    instance_type: str = ""
    zone: str = ""
    cluster: str = ""
    provider: str = ""

    def covers(self, asked: Target) -> bool:
        """Whether a fault with this target concerns what `asked` describes."""
        pairs = (
            (self.pool, asked.pool),
            (self.instance_type, asked.instance_type),
            (self.zone, asked.zone),
            (self.cluster, asked.cluster),
            (self.provider, asked.provider),
        )
        return all(wanted in ("", given) for wanted, given in pairs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One line of the plan.

    `factor` and `delay_s` slow a boot, `limit` is the quota that remains, `mode` chooses among bad
    answers. THROTTLING concerns the clouds' calls, API_THROTTLED those of a cluster.
    """

    name: str
    kind: FaultKind
    target: Target = Target()
    from_s: float = 0.0
    until_s: float = FOREVER
    count: int | None = None
    probability: float = 1.0
    moment: Moment = Moment.LAUNCH
    factor: float = 1.0
    limit: int = 0
    delay_s: float = 0.0
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Fired:
    """A fault that took effect."""

    at_s: float
    fault: str
    kind: FaultKind
    detail: str


@dataclass(slots=True)
class FaultPlan:
    """The armed faults and the log."""

    draws: Draws
    faults: list[Fault] = field(default_factory=list)
    log: list[Fired] = field(default_factory=list)
    _times: dict[str, int] = field(default_factory=dict)
    _asked: dict[str, int] = field(default_factory=dict)

    def arm(self, faults: Iterable[Fault]) -> None:
        """Add faults; a name that is taken gets a number, so that the log stays readable."""
        for fault in faults:
            if any(other.name == fault.name for other in self.faults):
                raise ValueError(f"a fault named {fault.name} is armed already")
            self.faults.append(fault)

    def match(self, kind: FaultKind, target: Target, now_s: float) -> Fault | None:
        """The first armed fault of this kind that concerns `target` now. Changes nothing."""
        for fault in self.faults:
            if fault.kind is kind and self._stands(fault, now_s) and fault.target.covers(target):
                return fault
        return None

    def strike(self, kind: FaultKind, target: Target, now_s: float, detail: str) -> Fault | None:
        """Like match, but the fault takes effect: its chance is drawn, it is counted and logged."""
        fault = self.match(kind, target, now_s)
        if fault is None or not self._is_drawn(fault):
            return None
        self.record(fault, now_s, detail)
        return fault

    def record(self, fault: Fault, now_s: float, detail: str) -> None:
        """Log that a fault took effect."""
        self._times[fault.name] = self._times.get(fault.name, 0) + 1
        self.log.append(Fired(now_s, fault.name, fault.kind, detail))

    def _stands(self, fault: Fault, now_s: float) -> bool:
        is_spent = fault.count is not None and self._times.get(fault.name, 0) >= fault.count
        return fault.from_s <= now_s < fault.until_s and not is_spent

    def _is_drawn(self, fault: Fault) -> bool:
        if fault.probability >= 1:
            return True
        number = self._asked[fault.name] = self._asked.get(fault.name, 0) + 1
        return self.draws.stream("fault", fault.name, number).random() < fault.probability
