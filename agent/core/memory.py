"""What must survive a tick: the agent's own samples, idle clocks, cool-downs, back-off. A value.

`observe` takes a snapshot in; `decide` gives the memory back; the shell stores it. Windows are
judged from these samples alone, so that a restarted Prometheus cannot rewrite the past.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from agent.core.snapshot import NodePhase, Snapshot, Unknown
from contract.units import Percent

# The longest window that can be judged; policy.py refuses a longer one.
KEEP = timedelta(hours=2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One observation of the two signals of R4.1 and R4.2."""

    at: datetime
    local_use: Percent | Unknown
    queued_tasks: int | Unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Everything a decision needs besides the snapshot.

    By instance: idle_since, seen, ready_at (first usable GPUs), silent_since (usable before, not now).
    By pool: short_since (fewer machines than configured), grown_at, back_off_until and failures (the
    cloud could not deliver), refused_until and refusals (a change could not be carried out).
    `replaced`: instances under notice whose replacement was ordered, with their pools. `vacating`: instances
    cordoned for an order to vacate, with their pools.
    `watched_since`: without a gap. `busy_until`: the agent itself was acting, which is no gap.
    """

    samples: tuple[Sample, ...] = ()
    watched_since: datetime | None = None
    busy_until: datetime | None = None
    idle_since: Mapping[str, datetime] = field(default_factory=dict)
    silent_since: Mapping[str, datetime] = field(default_factory=dict)
    short_since: Mapping[str, datetime] = field(default_factory=dict)
    seen: Mapping[str, tuple[str, NodePhase]] = field(default_factory=dict)
    ready_at: Mapping[str, datetime] = field(default_factory=dict)
    grown_at: Mapping[str, datetime] = field(default_factory=dict)
    back_off_until: Mapping[str, datetime] = field(default_factory=dict)
    failures: Mapping[str, int] = field(default_factory=dict)
    refused_until: Mapping[str, datetime] = field(default_factory=dict)
    refusals: Mapping[str, int] = field(default_factory=dict)
    replaced: Mapping[str, str] = field(default_factory=dict)
    vacating: Mapping[str, str] = field(default_factory=dict)
    last_grow: datetime | None = None
    last_shrink: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The samples of the last `span`: how many there should be, how many are valid and agree.

    `is_covered`: the agent has watched for the whole span, so that a fresh start cannot act early.
    """

    span: timedelta
    is_covered: bool
    expected: int
    valid: int
    agreeing: int
    unknown_why: str | None

    def holds(self, min_valid: Percent) -> bool:
        """Every valid sample agrees, and enough of them are valid."""
        return self.is_covered and self.is_trusted(min_valid) and self.agreeing == self.valid

    def is_trusted(self, min_valid: Percent) -> bool:
        """Enough samples are valid to judge at all."""
        return self.valid >= 1 and self.valid * 100 >= min_valid.value * self.expected


def observe(memory: Memory, snapshot: Snapshot, stale_after: timedelta) -> Memory:
    """Take a snapshot into the memory. Pure; the same moment twice changes nothing.

    After a gap longer than `stale_after` all clocks start again: a node may have worked unseen
    meanwhile (R4.8). So they do after the machine's clock was set back, and what memory holds of a
    future that never was is forgotten.
    """
    now = snapshot.taken_at
    last = memory.samples[-1].at if memory.samples else None
    if last is not None and now <= last:
        if last - now <= stale_after:
            return memory
        memory, last = _without_future(memory, now), None
    is_gap = last is None or now - max(last, memory.busy_until or last) > stale_after
    if is_gap:
        memory = replace(memory, idle_since={}, silent_since={}, short_since={}, watched_since=now)
    sample = Sample(at=now, local_use=snapshot.local_use, queued_tasks=snapshot.queued_tasks())
    kept = _recent(memory.samples, now - KEEP)
    ready_at = _ready_at(memory.ready_at, snapshot)
    return replace(
        memory,
        samples=(*kept, sample),
        idle_since=_idle_clocks(memory.idle_since, snapshot),
        silent_since=_silent_clocks(memory.silent_since, ready_at, snapshot),
        short_since=_short_clocks(memory.short_since, snapshot),
        seen=_seen(memory.seen, snapshot),
        ready_at=ready_at,
        failures=_failures(memory, snapshot),
        replaced=_replaced(memory.replaced, snapshot) if memory.replaced else memory.replaced,
        vacating=_vacating(memory.vacating, snapshot) if memory.vacating else memory.vacating,
    )


def _recent(samples: tuple[Sample, ...], oldest: datetime) -> tuple[Sample, ...]:
    """Without those before `oldest`; they stand in the order of time, and mostly one or none is to go."""
    gone = 0
    while gone < len(samples) and samples[gone].at < oldest:
        gone += 1
    return samples[gone:] if gone else samples


def _without_future(memory: Memory, now: datetime) -> Memory:
    """The clock was set back: samples and pauses that it had put later than now are void."""

    def past(stamps: Mapping[str, datetime]) -> dict[str, datetime]:
        return {key: at for key, at in stamps.items() if at <= now}

    return replace(
        memory,
        samples=(),
        busy_until=None,
        grown_at=past(memory.grown_at),
        back_off_until={},
        refused_until={},
        last_grow=memory.last_grow if memory.last_grow and memory.last_grow <= now else None,
        last_shrink=memory.last_shrink if memory.last_shrink and memory.last_shrink <= now else None,
    )


def window(
    memory: Memory,
    now: datetime,
    span: timedelta,
    every: timedelta,
    agrees: Callable[[Sample], bool | Unknown],
) -> Window:
    """Judge the samples in (now - span, now]. `agrees` gives Unknown for a sample that cannot tell."""
    verdicts = [agrees(sample) for sample in memory.samples if now - span < sample.at <= now]
    valid = [verdict for verdict in verdicts if not isinstance(verdict, Unknown)]
    unknown = next((verdict.why for verdict in reversed(verdicts) if isinstance(verdict, Unknown)), None)
    return Window(
        span=span,
        is_covered=any(sample.at <= now - span + every for sample in memory.samples),
        expected=max(1, span // every),
        valid=len(valid),
        agreeing=sum(valid),
        unknown_why=unknown,
    )


def queue_means(memory: Memory, now: datetime, span: timedelta) -> tuple[float, float] | None:
    """Mean queued tasks in the halves of (now - span, now], earlier first; None while one has no valid sample."""
    middle = now - span / 2
    halves: tuple[list[int], list[int]] = ([], [])
    for sample in memory.samples:
        if now - span < sample.at <= now and not isinstance(sample.queued_tasks, Unknown):
            halves[sample.at > middle].append(sample.queued_tasks)
    if not halves[0] or not halves[1]:
        return None
    return sum(halves[0]) / len(halves[0]), sum(halves[1]) / len(halves[1])


def _idle_clocks(before: Mapping[str, datetime], snapshot: Snapshot) -> dict[str, datetime]:
    nodes = (node for pool in snapshot.pools for node in pool.nodes())
    return {node.instance_id: before.get(node.instance_id, snapshot.taken_at) for node in nodes if node.is_empty}


def _silent_clocks(
    before: Mapping[str, datetime], ready_at: Mapping[str, datetime], snapshot: Snapshot
) -> dict[str, datetime]:
    """Since when a node that had usable GPUs has none."""
    coming = (NodePhase.BOOTING, NodePhase.JOINED)
    nodes = (node for pool in snapshot.pools for node in pool.nodes())
    silent = (node.instance_id for node in nodes if node.phase in coming and node.instance_id in ready_at)
    return {instance: before.get(instance, snapshot.taken_at) for instance in silent}


def _short_clocks(before: Mapping[str, datetime], snapshot: Snapshot) -> dict[str, datetime]:
    """Since when a pool has had fewer machines than are configured."""
    return {
        pool.pool: before.get(pool.pool, snapshot.taken_at)
        for pool in snapshot.pools
        if not isinstance(pool.observed, Unknown) and pool.standing < pool.configured
    }


def _seen(before: Mapping[str, tuple[str, NodePhase]], snapshot: Snapshot) -> dict[str, tuple[str, NodePhase]]:
    """Nodes now observed, and those of pools that could not be read (not seen is not gone)."""
    blind = {pool.pool for pool in snapshot.pools if isinstance(pool.observed, Unknown)}
    seen = {instance: entry for instance, entry in before.items() if entry[0] in blind}
    for pool in snapshot.pools:
        for node in pool.nodes():
            seen[node.instance_id] = (node.pool, node.phase)
    return seen


def _ready_at(before: Mapping[str, datetime], snapshot: Snapshot) -> dict[str, datetime]:
    """When each node was first seen with usable GPUs; forgotten when it is gone from a pool that was read."""
    blind = any(isinstance(pool.observed, Unknown) for pool in snapshot.pools)
    present = {node.instance_id: node for pool in snapshot.pools for node in pool.nodes()}
    ready = {instance: at for instance, at in before.items() if blind or instance in present}
    for instance, node in present.items():
        if node.phase is NodePhase.GPU_READY:
            ready.setdefault(instance, snapshot.taken_at)
    return ready


def _failures(memory: Memory, snapshot: Snapshot) -> dict[str, int]:
    """Failures in a row by pool; a node of a later order that became ready ends the row.

    What came of the order that failed does not: else a cloud that always brings a part would be asked for ever
    at the shortest back-off.
    """
    delivered = {
        pool.pool
        for pool in snapshot.pools
        for node in pool.nodes()
        if node.phase is NodePhase.GPU_READY and node.since >= _last_asked(memory, pool.pool, node.since)
    }
    return {pool: count for pool, count in memory.failures.items() if pool not in delivered}


def _last_asked(memory: Memory, pool: str, never: datetime) -> datetime:
    """When the pool was last asked for nodes, no sooner than its last back-off ended."""
    return max(memory.grown_at.get(pool, never), memory.back_off_until.get(pool, never))


def _replaced(before: Mapping[str, str], snapshot: Snapshot) -> dict[str, str]:
    """Those that still stand, or whose place is still empty: once the cloud filled it there is nothing to do."""
    open_places = {
        pool.pool for pool in snapshot.pools if isinstance(pool.observed, Unknown) or pool.standing < pool.configured
    }
    present = {node.instance_id for pool in snapshot.pools for node in pool.nodes()}
    return {instance: pool for instance, pool in before.items() if instance in present or pool in open_places}


def _vacating(before: Mapping[str, str], snapshot: Snapshot) -> dict[str, str]:
    """Those that still stand, as far as anybody can tell."""
    blind = {pool.pool for pool in snapshot.pools if isinstance(pool.observed, Unknown)}
    present = {node.instance_id for pool in snapshot.pools for node in pool.nodes()}
    return {instance: pool for instance, pool in before.items() if instance in present or pool in blind}
