"""One round of sensing: ask every source, keep what failed as Unknown, assemble the Snapshot.

Pools and cloud clusters that are empty by every account are asked again only now and then, so that
the clouds' call quotas are spent where nodes are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from agent.core.config_change import desired_sizes
from agent.core.ended_work import SeenWork
from agent.core.policy import UseSignal
from agent.core.readings import ClusterReading, PoolBinding, PoolReading, Readings, StackReading
from agent.core.snapshot import Snapshot, Unknown
from agent.errors import (
    CloudRefused,
    CloudUnavailable,
    NotAuthorised,
    PulumiTimeout,
    SignalUnavailable,
    SpillwayError,
    StackMissing,
    StackUnreadable,
)
from agent.ports import Clock, CloudReader, ClusterReader, EndedReader, MetricsReader, StackDriver
from agent.sense.assemble import assemble
from agent.sense.runtime_watch import RuntimeWatch
from contract.catalog import Catalog, Provider
from contract.problems import InvalidInput
from contract.yaml_document import parse_document

T = TypeVar("T")
_EXPECTED = (SignalUnavailable, CloudUnavailable, CloudRefused, NotAuthorised, PulumiTimeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Everything that can be asked. Clusters (and what `ended` there) by name, clouds by provider, stacks by name."""

    clock: Clock
    metrics: MetricsReader
    clusters: Mapping[str, ClusterReader]
    clouds: Mapping[Provider, CloudReader]
    stacks: StackDriver
    stack_names: Sequence[str]
    ended: Mapping[str, EndedReader] = field(default_factory=dict)


class Rounds:
    """A Sensor over real sources. Keeps only what it may reuse: readings of empty pools."""

    def __init__(self, sources: Sources, catalog: Catalog, signal: UseSignal, recheck_empty: timedelta) -> None:
        self._sources = sources
        self._catalog = catalog
        self._signal = signal
        self._recheck_empty = recheck_empty
        self._empty_since: dict[str, datetime] = {}
        self._watch = RuntimeWatch()
        self._work = SeenWork()

    def snapshot(self) -> Snapshot:
        now = self._sources.clock.now()
        answers = self._ask_stacks()
        stacks = tuple(answer for answer in answers.values() if isinstance(answer, StackReading))
        pools = self._read_pools(stacks, now)
        readings = Readings(
            taken_at=now,
            use=self._sources.metrics.local_use(now),
            clusters=self._read_clusters(pools, now),
            stacks=stacks,
            pools=pools,
            blind_stacks={name: answer for name, answer in answers.items() if isinstance(answer, Unknown)},
        )
        self._work = self._watch.seen_work(now)
        return assemble(readings, self._catalog, self._signal)

    def work(self) -> SeenWork:
        return self._work

    def forget(self) -> None:
        self._empty_since.clear()

    def _ask_stacks(self) -> dict[str, StackReading | Unknown]:
        """One bad stack must not blind the agent for the others; when all are bad nothing can be decided."""
        answers: dict[str, StackReading | Unknown] = {}
        failures: list[SpillwayError | InvalidInput] = []
        for stack in self._sources.stack_names:
            try:
                answers[stack] = self._read_stack(stack)
            except (StackMissing, StackUnreadable, InvalidInput) as error:
                answers[stack] = Unknown(str(error))
                failures.append(error)
        if len(failures) == len(answers):
            raise failures[0]
        return answers

    def _read_stack(self, stack: str) -> StackReading:
        value, findings = parse_document(self._sources.stacks.read_file(stack), f"Pulumi.{stack}.yaml")
        sizes = desired_sizes(value, findings)
        for pool in sizes:
            if pool not in self._catalog.pools:
                findings.add(
                    ("config", "spillway:desired", pool), "is not in the catalogue", "add its row or remove it"
                )
        findings.raise_if_any()
        bindings = _ask(lambda: self._sources.stacks.bindings(stack))
        for pool in () if isinstance(bindings, Unknown) else bindings.keys() - sizes.keys():
            # A file that was cut off at the end of a line is still good YAML.
            findings.add(
                ("config", "spillway:desired", pool), "is in the state and has no size", "restore the file from git"
            )
        findings.raise_if_any()
        return StackReading(stack=stack, configured=sizes, bindings=bindings)

    def _read_pools(self, stacks: Sequence[StackReading], now: datetime) -> dict[str, PoolReading | Unknown]:
        readings: dict[str, PoolReading | Unknown] = {}
        wanted: dict[Provider, list[PoolBinding]] = {}
        for stack in stacks:
            for pool, configured in stack.configured.items():
                binding = stack.bindings if isinstance(stack.bindings, Unknown) else stack.bindings.get(pool)
                if not isinstance(binding, PoolBinding):
                    readings[pool] = binding or Unknown(f"{pool} is not in the state of {stack.stack}: run 'pulumi up'")
                elif configured == 0 == binding.applied and self._was_empty(pool, now):
                    readings[pool] = PoolReading(instances=())
                else:
                    wanted.setdefault(self._catalog.pools[pool].provider, []).append(binding)
        for provider, bindings in wanted.items():
            readings |= self._read_cloud(provider, bindings)
        self._note_empty(readings, now)
        return readings

    def _read_cloud(self, provider: Provider, bindings: Sequence[PoolBinding]) -> dict[str, PoolReading | Unknown]:
        cloud = self._sources.clouds.get(provider)
        if cloud is None:
            return {binding.pool: Unknown(f"no access to {provider} is configured") for binding in bindings}
        answer = _ask(lambda: cloud.read_pools(bindings))
        if isinstance(answer, Unknown):
            return {binding.pool: answer for binding in bindings}
        return dict(answer)

    def _was_empty(self, pool: str, now: datetime) -> bool:
        since = self._empty_since.get(pool)
        return since is not None and now - since < self._recheck_empty

    def _note_empty(self, readings: Mapping[str, PoolReading | Unknown], now: datetime) -> None:
        for pool, reading in readings.items():
            if isinstance(reading, PoolReading) and not reading.instances:
                if not self._was_empty(pool, now):
                    self._empty_since[pool] = now
            else:
                self._empty_since.pop(pool, None)

    def _read_clusters(
        self, pools: Mapping[str, PoolReading | Unknown], now: datetime
    ) -> dict[str, ClusterReading | Unknown]:
        needed = {row.cluster for row in self._catalog.onprem_pools()}
        for pool, reading in pools.items():
            if isinstance(reading, Unknown) or reading.instances:
                needed.add(self._catalog.pools[pool].cluster)
        readings: dict[str, ClusterReading | Unknown] = {}
        for row in self._catalog.pools.values():
            reader = self._sources.clusters.get(row.cluster)
            if row.cluster in readings:
                continue
            if row.cluster not in needed:
                readings[row.cluster] = ClusterReading(cluster=row.cluster, nodes=(), pods=())
                self._watch.leave(row.cluster, now)
            elif reader is None:
                readings[row.cluster] = Unknown(f"no access to cluster {row.cluster} is configured")
            else:
                readings[row.cluster] = self._read_cluster(row.cluster, reader, now)
        return readings

    def _read_cluster(self, name: str, reader: ClusterReader, now: datetime) -> ClusterReading | Unknown:
        """What a cluster holds now; then what has ended there, whose failure costs nothing but a lesson."""
        reading = _ask(reader.read)
        ended = self._sources.ended.get(name)
        if isinstance(reading, ClusterReading) and ended is not None:
            self._watch.look(reading, lambda: _ask(ended.read), now)
        return reading


def _ask(question: Callable[[], T]) -> T | Unknown:
    """The answer, or why there is none: an expected failure of one source must not void the rest."""
    try:
        return question()
    except _EXPECTED as error:
        return Unknown(f"{error} ({error.code})")
