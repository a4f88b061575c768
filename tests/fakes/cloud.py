"""A cloud in memory: pools as readings, failures as fields."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agent.core.readings import PoolBinding, PoolReading
from agent.errors import CloudRefused, SpillwayError


@dataclass
class FakeCloud:
    """A CloudReader. `pools` is what it holds, by pool; `error` is raised by every call while it is set.

    A failure shows only while a pool is short of what its stack applied, as on the real clouds.
    """

    pools: dict[str, PoolReading] = field(default_factory=dict)
    error: SpillwayError | None = None
    calls: list[str] = field(default_factory=list)

    def read_pools(self, bindings: Sequence[PoolBinding]) -> Mapping[str, PoolReading]:
        return {binding.pool: self._shown(binding) for binding in bindings}

    def set_protection(self, binding: PoolBinding, instance_ids: Sequence[str], *, protected: bool) -> None:
        reading = self._pool("set_protection", binding)
        self.pools[binding.pool] = replace(
            reading,
            instances=tuple(
                replace(item, is_protected=protected) if item.instance_id in instance_ids else item
                for item in reading.instances
            ),
        )

    def hold_still(self, binding: PoolBinding) -> None:
        self._pool("hold_still", binding)

    def protected(self, pool: str) -> set[str]:
        """Ids of the protected instances of a pool."""
        return {item.instance_id for item in self.pools[pool].instances if item.is_protected}

    def _shown(self, binding: PoolBinding) -> PoolReading:
        reading = self._pool("read_pools", binding)
        standing = sum(not item.is_leaving for item in reading.instances)
        return reading if standing < binding.applied else replace(reading, failure=None)

    def _pool(self, call: str, binding: PoolBinding) -> PoolReading:
        self.calls.append(f"{call} {binding.pool}")
        if self.error is not None:
            raise self.error
        if not binding.scaling_group or binding.pool not in self.pools:
            raise CloudRefused(f"no scaling group {binding.scaling_group!r}", target="fake cloud", hint="add the pool")
        return self.pools[binding.pool]
