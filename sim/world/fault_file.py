"""Reading of a fault plan: a YAML file, or one request that arms faults while the twin runs.

Times are durations since the start of the twin, such as `20m`. Refuses what it does not know, with
the row and the fix; must not arm anything.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from contract.fields import Fields, Findings
from contract.units import parse_duration
from contract.yaml_document import read_document
from sim.world.faults import FOREVER, Fault, FaultKind, Moment, Target

PROMETHEUS_MODES = ("empty", "nan", "inf", "absurd", "sentinel", "stale", "gap", "unavailable", "html")
API_MODES = ("unavailable", "reset")
_MODES = {FaultKind.PROMETHEUS: PROMETHEUS_MODES, FaultKind.API_DOWN: API_MODES}


def read_faults(path: Path) -> tuple[Fault, ...]:
    """Read a plan; raises InvalidInput with all problems."""
    value, findings = read_document(path)
    return parse_faults(value, findings)


def parse_faults(value: object, findings: Findings, *, now_s: float = 0.0, taken: int = 0) -> tuple[Fault, ...]:
    """Read `{"faults": [...]}`. Without `from` a fault stands from `now_s` on."""
    top = Fields(value, findings)
    faults = tuple(_fault(fields, now_s, taken + number) for number, fields in enumerate(top.rows("faults"), start=1))
    top.done()
    findings.raise_if_any()
    return faults


def _fault(fields: Fields, now_s: float, number: int) -> Fault:
    kind = fields.choice("kind", FaultKind)
    from_s = fields.take("from", _seconds, now_s, required=False)
    until_s = fields.take("until", _seconds, FOREVER, required=False)
    if "for" in fields:
        until_s = from_s + fields.take("for", _seconds, 0.0)
    fault = Fault(
        name=fields.text("name", f"{kind}-{number}"),
        kind=kind,
        target=_target(fields),
        from_s=from_s,
        until_s=until_s,
        count=fields.take("count", _whole, None, required=False),
        probability=fields.take("probability", _share, 1.0, required=False),
        moment=fields.choice("at", Moment, Moment.LAUNCH),
        factor=fields.take("factor", _positive, 1.0, required=False),
        limit=fields.integer("limit", default=0),
        delay_s=fields.take("by", _delay, 0.0, required=False),
        mode=fields.take("mode", _mode(kind), _MODES.get(kind, ("",))[0], required=False),
    )
    if not fault.from_s < fault.until_s:
        fields.problem("until", "lies before 'from'", "give a later time, or use 'for:'")
    fields.done()
    return fault


def _target(fields: Fields) -> Target:
    return Target(
        pool=fields.text("pool", ""),
        instance_type=fields.text("instance_type", ""),
        zone=fields.text("zone", ""),
        cluster=fields.text("cluster", ""),
        provider=fields.text("provider", ""),
    )


def _seconds(value: object) -> float:
    return parse_duration(value).total_seconds()


def _delay(value: object) -> float:
    return FOREVER if value == "never" else _seconds(value)


def _whole(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{value!r} is not a whole number above 0")
    return value


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= 1:
        raise ValueError(f"{value!r} is not a probability above 0, 1 at most")
    return float(value)


def _positive(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < FOREVER:
        raise ValueError(f"{value!r} is not a number above 0")
    return float(value)


def _mode(kind: FaultKind) -> Callable[[object], str]:
    def parse(value: object) -> str:
        known = _MODES.get(kind, ())
        if value not in known:
            allowed = ", ".join(known) or f"none: a fault of kind {kind} has no mode"
            raise ValueError(f"{value!r} is not a mode of {kind}; known: {allowed}")
        return str(value)

    return parse
