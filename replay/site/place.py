"""The site at work: jobs queue, start at home or on rented machines, end or are lost. Discrete events, no decisions.

Order of service: tier, then arrival, and whoever fits starts (Kueue's BestEffortFIFO). A job runs wholly in one place.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

from agent.core.snapshot import QueuedTask
from contract.catalog import PoolRow
from replay.instant.rack import Rack, Shares
from replay.site.machines import Machine, Pool
from replay.trace import Job

HOME = ""
# (seconds, order, what happens): ties in the order in which they were put on the agenda.
Event = tuple[float, int, Callable[[float], None]]
MayHost = Callable[[QueuedTask, PoolRow], bool]


@dataclass(slots=True, eq=False)
class Running:
    """A job at work, and where: `machines` with GPUs on each, or `shares` of the owned nodes."""

    job: int
    began_s: float
    ends_s: float
    shares: Shares = ()
    machines: tuple[tuple[Machine, int], ...] = ()


@dataclass(slots=True, eq=False)
class Story:
    """What came of a job. `lost_s`: work that must be done again; `pool` where it ran last, HOME for the owned."""

    started_s: float = inf
    ended_s: float = inf
    pool: str = HOME
    losses: int = 0
    lost_s: float = 0.0
    cloud_gpu_s: float = 0.0


@dataclass(slots=True, eq=False)
class Site:
    """Queue, owned nodes, rented pools and agenda of one replay."""

    jobs: Sequence[Job]
    tasks: list[QueuedTask]
    rack: Rack
    owned_nodes: int
    pools: dict[str, Pool]
    may_host: MayHost
    checkpoint_s: float
    home_memory: int
    on_end: Callable[[int, float], None] = lambda _job, _runtime: None
    now_s: float = 0.0
    queue: list[tuple[int, int]] = field(default_factory=list)
    running: dict[int, Running] = field(default_factory=dict)
    stories: list[Story] = field(default_factory=list)
    home_used: int = 0
    home_gpu_s: float = 0.0
    is_changed: bool = True
    _agenda: list[Event] = field(default_factory=list)
    _order: int = 0
    _left_s: dict[int, float] = field(default_factory=dict)
    _hosts: dict[tuple[object, ...], tuple[Pool, ...]] = field(default_factory=dict)

    def at(self, when_s: float, what: Callable[[float], None]) -> None:
        """Put something on the agenda."""
        self._order += 1
        heappush(self._agenda, (when_s, self._order, what))

    def next_event_s(self) -> float:
        """When something happens next; infinite when nothing will."""
        return self._agenda[0][0] if self._agenda else inf

    def run_until(self, until_s: float) -> None:
        """Let everything up to and including that moment happen."""
        while self._agenda and self._agenda[0][0] <= until_s:
            now, _, what = heappop(self._agenda)
            self.now_s = now
            what(now)
        self.now_s = until_s

    def submit(self, job: int, now_s: float) -> None:
        """A job comes: it starts if it fits anywhere, else it waits."""
        self.is_changed = True
        if not self._start(job, now_s):
            insort(self.queue, (self.jobs[job].tier.rank, job))

    def offer(self, now_s: float) -> None:
        """Room came free somewhere: try the whole queue, each shape only until it fails."""
        self.is_changed = True
        failed: set[tuple[object, ...]] = set()
        left = []
        for entry in self.queue:
            shape = self._shape(entry[1])
            if shape in failed or not self._start(entry[1], now_s):
                failed.add(shape)
                left.append(entry)
        self.queue = left

    def lose(self, machine: Machine, now_s: float) -> None:
        """A machine goes with all that runs on it; its jobs queue again with what they had saved."""
        for job in sorted(machine.jobs):
            run = self.running.pop(job)
            self._free(run, now_s)
            done = now_s - run.began_s
            saved = done - done % self.checkpoint_s if self.checkpoint_s else 0.0
            self._left_s[job] = max(1.0, self._runtime(job) - saved)
            story = self.stories[job]
            story.losses, story.lost_s = story.losses + 1, story.lost_s + done - saved
            insort(self.queue, (self.jobs[job].tier.rank, job))
        self.is_changed = True

    @property
    def is_done(self) -> bool:
        """Nothing queues, nothing runs, nothing will come."""
        return not self.queue and not self.running and not self._agenda

    def _runtime(self, job: int) -> float:
        return self._left_s.get(job, self.jobs[job].runtime_s)

    def _start(self, job: int, now_s: float) -> bool:
        gpus = self.jobs[job].gpus
        if self.jobs[job].gpu_memory <= self.home_memory and self.rack.fits(gpus):
            run = Running(job, now_s, now_s + self._runtime(job), shares=self.rack.take(gpus))
            self.home_used += gpus
        else:
            machines = self._machines_for(job, gpus)
            if machines is None:
                return False
            run = Running(job, now_s, now_s + self._runtime(job), machines=machines)
            for machine, count in machines:
                machine.hold(job, count, now_s)
                self.pools[machine.row.pool].touch()
        story = self.stories[job]
        story.started_s = min(story.started_s, now_s)
        story.pool = run.machines[0][0].row.pool if run.machines else HOME
        self.running[job] = run
        self.at(run.ends_s, lambda now: self._end(run, now))
        return True

    def _machines_for(self, job: int, gpus: int) -> tuple[tuple[Machine, int], ...] | None:
        """Ready machines of one pool, cheapest pool first, fullest machine first; a gang takes whole ones."""
        for pool in self._pools_for(job):
            size = pool.row.gpus_per_node
            room = sorted((machine.free, machine.name) for machine in pool.standing.values() if machine.takes_work)
            if gpus <= size:
                fitting = next((name for free, name in room if free >= gpus), None)
                if fitting is not None:
                    return ((pool.standing[fitting], gpus),)
                continue
            whole = [name for free, name in room if free == size]
            count = -(-gpus // size)
            if len(whole) >= count:
                sizes = [size] * (count - 1) + [gpus - size * (count - 1)]
                return tuple((pool.standing[name], share) for name, share in zip(whole, sizes, strict=False))
        return None

    def _pools_for(self, job: int) -> tuple[Pool, ...]:
        shape = self._shape(job)
        if shape not in self._hosts:
            fitting = [pool for pool in self.pools.values() if self.may_host(self.tasks[job], pool.row)]
            self._hosts[shape] = tuple(fitting)
        return self._hosts[shape]

    def _shape(self, job: int) -> tuple[object, ...]:
        it = self.jobs[job]
        return (it.gpus, it.gpu_memory, it.is_preemptible, it.tier, it.kind, it.data)

    def _end(self, run: Running, now_s: float) -> None:
        if self.running.get(run.job) is not run:
            return
        del self.running[run.job]
        self._free(run, now_s)
        self.stories[run.job].ended_s = now_s
        self.on_end(run.job, self.jobs[run.job].runtime_s)
        self.offer(now_s)

    def _free(self, run: Running, now_s: float) -> None:
        gpus, hours = self.jobs[run.job].gpus, now_s - run.began_s
        if run.shares:
            self.rack.give(run.shares)
            self.home_used -= gpus
            self.home_gpu_s += gpus * hours
            return
        self.stories[run.job].cloud_gpu_s += gpus * hours
        for machine, count in run.machines:
            machine.release(run.job, count, run.began_s, now_s)
            self.pools[machine.row.pool].touch()
