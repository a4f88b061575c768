"""One call to a cloud's API: who asks what, and the mishaps that can meet any call."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from contract.catalog import Provider
from sim.world import refusals
from sim.world.faults import FaultKind, Target
from sim.world.group_spec import Group
from sim.world.refusals import CloudRefusal
from sim.world.world import World

_CREDENTIAL = re.compile(r"Credential=([^,\s]*)")
# The access key id that the twin takes for one that does not exist.
INVALID_KEY = "invalid"


@dataclass(frozen=True, slots=True)
class Credential:
    """What the Authorization header names; region and service are there on AWS only."""

    key: str
    region: str = ""
    service: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call, its parameters flat as both clouds send them. `abort` cuts the connection."""

    world: World
    action: str
    parameters: Mapping[str, str]
    path: Mapping[str, str]
    credential: Credential
    abort: Callable[[], None]

    def text(self, name: str) -> str:
        """A parameter; empty when absent."""
        return self.parameters.get(name, "")

    def flag(self, name: str, *, default: bool = False) -> bool:
        """A parameter that is true or false."""
        value = self.parameters.get(name)
        return default if value is None else value.lower() == "true"

    def number(self, name: str, default: int) -> int:
        """A whole number; what is none is refused as both clouds do."""
        value = self.parameters.get(name)
        if value is None:
            return default
        if not value.isdigit():
            raise CloudRefusal("InvalidParameterValue", f"The specified value of parameter {name} is not valid.")
        return int(value)

    def members(self, prefix: str) -> list[str]:
        """A list that was sent as prefix.1, prefix.2, ..."""
        values: list[str] = []
        while (value := self.parameters.get(f"{prefix}.{len(values) + 1}")) is not None:
            values.append(value)
        return values

    def groups(self, provider: Provider, region: str) -> tuple[Group, ...]:
        """The groups of a region."""
        return tuple(group for group in self.world.groups.groups(provider) if group.spec.region == region)


def read_credential(authorization: str) -> Credential:
    """The access key out of either cloud's signature header; empty when there is none."""
    match = _CREDENTIAL.search(authorization)
    parts = match[1].split("/") if match else [""]
    region, service = parts[2:4] if len(parts) == 5 else ("", "")
    return Credential(parts[0], region, service)


def strike_down(call: Call, provider: Provider, message: str) -> None:
    """Act out an outage of the API: 503, or the connection cut."""
    world = call.world
    fault = world.ground.faults.strike(
        FaultKind.API_DOWN, Target(provider=provider.value), world.now_s, f"{provider} {call.action}"
    )
    if fault is None:
        return
    if fault.mode == "reset":
        call.abort()
    raise CloudRefusal("ServiceUnavailable", message, 503)


def strike_throttle(call: Call, provider: Provider, groups: Iterable[Group]) -> None:
    """Refuse a reading call as too many. Changing calls ask the world, which strikes by itself."""
    world = call.world
    targets = [Target(pool=group.spec.pool, cluster=group.row.cluster, provider=provider.value) for group in groups]
    for target in targets or [Target(provider=provider.value)]:
        if world.ground.faults.strike(FaultKind.THROTTLING, target, world.now_s, call.action):
            raise refusals.throttled(provider)
