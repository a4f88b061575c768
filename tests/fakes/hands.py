"""Gates, clouds and sensors that do what they are told and note it; failures as fields."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from agent.core.ended_work import EndedPod, SeenWork
from agent.core.readings import ClusterReading, PoolBinding, PoolReading, UseReading
from agent.core.snapshot import Snapshot
from agent.errors import SpillwayError


@dataclass
class FakeGate:
    """Satisfies ports.NodeGate. `guarded`: by node the pod that a disruption budget keeps there."""

    busy: dict[str, int] = field(default_factory=dict)
    error: SpillwayError | None = None
    cordoned: list[str] = field(default_factory=list)
    evicted: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    guarded: dict[str, str] = field(default_factory=dict)

    def cordon(self, node: str) -> None:
        if self.error:
            raise self.error
        self.cordoned.append(node)

    def uncordon(self, node: str) -> None:
        if self.error:
            raise self.error
        if node in self.cordoned:
            self.cordoned.remove(node)

    def busy_gpus(self, node: str) -> int:
        return self.busy.get(node, 0)

    def evict(self, node: str, tasks: Collection[str]) -> tuple[str, ...]:
        if self.error:
            raise self.error
        self.evicted.append((node, tuple(tasks)))
        if node in self.guarded:
            return (self.guarded[node],)
        if tasks:
            self.busy.pop(node, None)
        return ()


@dataclass
class FakeCloudHands:
    """Satisfies ports.CloudReader; readings by pool are set as a field."""

    readings: dict[str, PoolReading] = field(default_factory=dict)
    error: SpillwayError | None = None
    protected: set[str] = field(default_factory=set)
    still: set[str] = field(default_factory=set)
    asked: list[tuple[str, ...]] = field(default_factory=list)

    def read_pools(self, bindings: Sequence[PoolBinding]) -> Mapping[str, PoolReading]:
        self.asked.append(tuple(binding.pool for binding in bindings))
        if self.error:
            raise self.error
        return {binding.pool: self.readings.get(binding.pool, PoolReading(instances=())) for binding in bindings}

    def set_protection(self, binding: PoolBinding, instance_ids: Sequence[str], *, protected: bool) -> None:
        if self.error:
            raise self.error
        if protected:
            self.protected |= set(instance_ids)
        else:
            self.protected -= set(instance_ids)

    def hold_still(self, binding: PoolBinding) -> None:
        if self.error:
            raise self.error
        self.still.add(binding.pool)


@dataclass
class FakeSensor:
    """Satisfies ports.Sensor: gives the snapshots set, the last one for ever, and the work set beside them."""

    snapshots: list[Snapshot]
    asked: int = 0
    forgotten: int = 0
    seen: SeenWork = field(default_factory=SeenWork)

    def forget(self) -> None:
        self.forgotten += 1

    def work(self) -> SeenWork:
        return self.seen

    def snapshot(self) -> Snapshot:
        self.asked += 1
        return self.snapshots[min(self.asked, len(self.snapshots)) - 1]


@dataclass
class FakeCluster:
    """Satisfies ports.ClusterReader."""

    reading: ClusterReading
    error: SpillwayError | None = None
    asked: int = 0

    def read(self) -> ClusterReading:
        self.asked += 1
        if self.error:
            raise self.error
        return self.reading


@dataclass
class FakeEnded:
    """Satisfies ports.EndedReader."""

    pods: tuple[EndedPod, ...] = ()
    error: SpillwayError | None = None
    asked: int = 0

    def read(self) -> tuple[EndedPod, ...]:
        self.asked += 1
        if self.error:
            raise self.error
        return self.pods


@dataclass
class FakeMetrics:
    """Satisfies ports.MetricsReader."""

    answer: Callable[[], UseReading]

    def local_use(self, now: object) -> UseReading:
        return self.answer()
