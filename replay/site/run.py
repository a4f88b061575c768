"""A whole trace under one decider, tick by tick: sense, decide, act, as the live loop does, on a site that is replayed.

The decider of the shipped policy is `decide()` itself, with the same snapshots, memory and order of steps as
agent/loop.py (tests/replay/test_same_path.py feeds both the same samples). Ticks at which nothing can be decided,
because nothing waits, nothing is rented and nothing asks for nodes, are sampled and passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from math import inf
from time import process_time

from agent.core.decide import decide, remember_attempt
from agent.core.decision import Action, Decision, PoolChange
from agent.core.memory import KEEP, Memory, Sample
from agent.core.policy import Policy
from agent.core.snapshot import LaunchFailure, LocalNode, LocalState, QueuedTask, RunningTask, Snapshot
from contract.catalog import Catalog, PoolRow
from contract.units import Gpus, Percent
from replay.instant.rack import Rack
from replay.site.estimates import Oracle
from replay.site.machines import SOLD_OUT, Machine, Pool
from replay.site.place import HOME, MayHost, Running, Site, Story
from replay.site.truth import Truth
from replay.trace import Job, Trace

# A decider that is not the shipped one: changes for a snapshot, with whatever it remembers inside.
Decider = Callable[[Snapshot], Sequence[PoolChange]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What is the same for all policies that are compared: the trace, the catalogue, the owned nodes, the truth."""

    trace: Trace
    catalog: Catalog
    owned_nodes: int
    truth: Truth
    may_host: MayHost
    per_node: int = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One decision that changed something, as it was made."""

    at_s: float
    changes: tuple[PoolChange, ...]
    by: str
    why: str
    decision: Decision | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What came of a run: jobs, machines, decisions; `demand` and `rented` as step functions (seconds, GPUs)."""

    ground: Ground
    name: str
    stories: Sequence[Story]
    machines: Sequence[Machine]
    turns: Sequence[Turn]
    steps: Sequence[tuple[float, int, int, int]]
    home_gpu_s: float
    end_s: float
    seconds: float


class SiteRun:
    """One run. `policy` gives the rhythm and, without `decider`, the decisions."""

    def __init__(
        self, ground: Ground, policy: Policy, decider: Decider | None = None, *, decider_keeps: bool = False
    ) -> None:
        """`decider_keeps`: it rents nodes that no task waits for, so that no tick may be passed over."""
        self.ground, self._policy, self._decider = ground, policy, decider
        self._truth, self._start = ground.truth, ground.trace.starts_at
        self._oracle = Oracle(ground.truth, ground.trace.jobs)
        self._memory = Memory()
        self._machines = 0
        self._turns: list[Turn] = []
        self._steps: list[tuple[float, int, int, int]] = []
        self._local: tuple[int, LocalState] | None = None
        self._waiting: dict[int, QueuedTask] = {}
        self._site = self._make_site()
        self._keeps = decider_keeps if decider is not None else not _asks_for_nothing(policy)
        self.may_skip = not self._keeps
        # Hears every decision: the snapshot and memory that it was made from, and what it is.
        self.on_tick: Callable[[Snapshot, Memory, Decision], None] | None = None

    def run(self, name: str) -> Replay:
        """Every job to its end and every machine back, or a month later at the latest; machines that are kept stand."""
        began = process_time()
        every = self._policy.sampling.every.total_seconds()
        jobs = self.ground.trace.jobs
        last = (jobs[-1].arrival_s if jobs else 0.0) + max((job.runtime_s for job in jobs), default=0.0) + 30 * 86400.0
        tick = 0
        while tick * every <= last:
            tick = self._next_tick(tick, every)
            self._site.run_until(tick * every)
            self._tick(tick * every)
            # What a policy keeps ready would be kept for ever: the last job's end is the end of the story then.
            if self._site.is_done and (self._keeps or not any(pool.standing for pool in self._site.pools.values())):
                break
        site = self._site
        machines = [machine for pool in site.pools.values() for machine in (*pool.gone, *pool.standing.values())]
        return Replay(
            ground=self.ground,
            name=name,
            stories=site.stories,
            machines=machines,
            turns=self._turns,
            steps=self._steps,
            home_gpu_s=site.home_gpu_s,
            end_s=site.now_s,
            seconds=process_time() - began,
        )

    def _make_site(self) -> Site:
        ground = self.ground
        jobs = ground.trace.jobs
        site = Site(
            jobs=jobs,
            tasks=[queued_task(job, ground.trace.starts_at) for job in jobs],
            rack=Rack(ground.owned_nodes, ground.per_node, best_fit=True),
            owned_nodes=ground.owned_nodes,
            pools={row.pool: Pool(row) for row in _cheapest_first(ground.catalog)},
            may_host=ground.may_host,
            checkpoint_s=ground.truth.checkpoint_s,
            home_memory=max((int(row.gpu_memory) for row in ground.catalog.onprem_pools()), default=0),
            on_end=self._oracle.learn,
            stories=[Story() for _ in jobs],
        )
        for number, job in enumerate(jobs):
            site.at(job.arrival_s, partial(site.submit, number))
        return site

    def _next_tick(self, tick: int, every: float) -> int:
        """The next tick that can decide anything; the samples of those passed over are kept all the same."""
        site = self._site
        idle = self.may_skip and not site.queue and not any(pool.standing for pool in site.pools.values())
        upcoming = site.next_event_s() if idle else -inf
        until = tick + 1
        if idle and upcoming != inf:
            until = max(until, int(-(-upcoming // every)))
        for passed in range(max(tick + 1, until - int(KEEP.total_seconds() // every) - 1), until):
            self._sample(passed * every)
        return until

    def _sample(self, at_s: float) -> None:
        """A look at a quiet site, as observe() would take it in."""
        now = self._start + timedelta(seconds=at_s)
        sample = Sample(at=now, local_use=self._use(), queued_tasks=0)
        kept = tuple(old for old in self._memory.samples if now - old.at <= KEEP)
        watched = self._memory.watched_since or now
        self._memory = replace(self._memory, samples=(*kept, sample), watched_since=watched)

    def _tick(self, now_s: float) -> None:
        self._reclaims(now_s)
        snapshot = self.snapshot(now_s)
        self._note(now_s)
        if self._decider is not None:
            changes = tuple(self._decider(snapshot))
            if changes:
                self._turns.append(Turn(at_s=now_s, changes=changes, by="baseline", why=""))
                self._act(changes, now_s)
            return
        before = self._memory
        decision, self._memory = decide(snapshot, self._policy, before)
        if self.on_tick is not None:
            self.on_tick(snapshot, before, decision)
        if decision.action is not Action.HOLD:
            self._memory = remember_attempt(self._memory, decision, self._policy)
            why = decision.chosen.reason.text
            self._turns.append(
                Turn(at_s=now_s, changes=decision.changes, by=decision.chosen.policy, why=why, decision=decision)
            )
            self._act(decision.changes, now_s)

    def snapshot(self, now_s: float) -> Snapshot:
        """What an agent that sees everything would see now."""
        return Snapshot(
            taken_at=self._start + timedelta(seconds=now_s),
            catalog=self.ground.catalog,
            local_use=self._use(),
            local=self._local_state(),
            queue=tuple(self._queued(job) for _, job in self._site.queue),
            pools=tuple(pool.view(self._start) for pool in self._site.pools.values()),
        )

    def _use(self) -> Percent:
        return Percent(100.0 * self._site.home_used / (self.ground.owned_nodes * self.ground.per_node))

    def _queued(self, job: int) -> QueuedTask:
        """The task with what is told of its runtime; told once, when it is first seen waiting."""
        if job not in self._waiting:
            told = self._oracle.tell(job)
            runtime = None if told is None else timedelta(seconds=told)
            self._waiting[job] = replace(self._site.tasks[job], runtime=runtime)
        return self._waiting[job]

    def _local_state(self) -> LocalState:
        site, per_node = self._site, self.ground.per_node
        stamp = site.home_used * 1_000_003 + len(site.running)
        if not site.is_changed and self._local is not None and self._local[0] == stamp:
            return self._local[1]
        free = site.rack.free()
        state = LocalState(
            gpus=Gpus(len(free) * per_node),
            gpus_used=Gpus(site.home_used),
            nodes=tuple(LocalNode(name=f"home-{n}", gpus=Gpus(per_node), free=Gpus(f)) for n, f in enumerate(free)),
            running=tuple(self._running(run) for run in site.running.values() if run.shares) if site.queue else (),
        )
        site.is_changed = False
        self._local = (stamp, state)
        return state

    def _running(self, run: Running) -> RunningTask:
        told = self._oracle.tell(run.job)
        ends = None if told is None else self._start + timedelta(seconds=run.began_s + told)
        return RunningTask(
            task=self.ground.trace.jobs[run.job].name,
            nodes=tuple((f"home-{node}", Gpus(gpus)) for node, gpus in run.shares),
            started_at=self._start + timedelta(seconds=run.began_s),
            ends_at=ends,
        )

    def _act(self, changes: Sequence[PoolChange], now_s: float) -> None:
        when = now_s + self._truth.actuation_s
        self._site.run_until(when)
        for change in changes:
            pool = self._site.pools[change.pool]
            stay = 0
            for victim in change.victims:
                machine = pool.standing.get(victim)
                if machine is not None and machine.jobs:
                    # Work came in the seconds since the decision: the agent's second look leaves such a node out.
                    stay += 1
                elif machine is not None:
                    pool.remove(machine, when)
            pool.desired = int(change.after) + stay
            self._fill(pool, when)
            pool.touch()

    def _fill(self, pool: Pool, now_s: float) -> None:
        """The cloud brings what is missing, as far as it has it."""
        stock = self._truth.in_stock(pool.row, now_s) - len(pool.standing)
        missing = pool.desired - len(pool.standing)
        for _ in range(max(0, min(missing, stock))):
            self._order(pool, now_s)
        if missing > max(0, stock):
            at = self._start + timedelta(seconds=now_s)
            pool.failure = LaunchFailure(code=SOLD_OUT, message=f"{pool.row.pool} is sold out", at=at)

    def _order(self, pool: Pool, now_s: float) -> None:
        self._machines += 1
        boot = self._truth.boots_in(pool.row, self._machines)
        ready = inf if boot is None else now_s + boot
        machine = Machine(
            name=f"i-{self._machines:06d}",
            row=pool.row,
            ordered_s=now_s,
            ready_s=ready,
            free=int(pool.row.gpus_per_node),
        )
        pool.standing[machine.name] = machine
        if boot is not None:
            self._site.at(ready, lambda now: self._ready(pool, machine, now))

    def _ready(self, pool: Pool, machine: Machine, now_s: float) -> None:
        if machine.gone_s is None:
            machine.ready(now_s)
            pool.touch()
            self._site.offer(now_s)

    def _reclaims(self, now_s: float) -> None:
        """The spot market has fewer nodes than stand: the newest get notice, and go when it ends."""
        for pool in self._site.pools.values():
            if pool.row.pool not in self._truth.spot or not pool.standing:
                continue
            staying = [machine for machine in pool.standing.values() if machine.reclaim_s is None]
            too_many = len(staying) - self._truth.in_stock(pool.row, now_s)
            for machine in sorted(staying, key=lambda machine: machine.ordered_s)[len(staying) - max(0, too_many) :]:
                machine.reclaim_s = now_s + self._truth.notice_s
                pool.touch()
                self._site.at(machine.reclaim_s, partial(self._taken, pool, machine))

    def _taken(self, pool: Pool, machine: Machine, now_s: float) -> None:
        if machine.gone_s is None:
            self._site.lose(machine, now_s)
            pool.remove(machine, now_s)
            # The cloud would refill the place when it can; until then the order stands unfilled.
            self._fill(pool, now_s)

    def _note(self, now_s: float) -> None:
        site = self._site
        waiting = sum(site.jobs[job].gpus for _, job in site.queue)
        rented = sum(int(m.row.gpus_per_node) for pool in site.pools.values() for m in pool.standing.values())
        cloud_used = sum(
            int(m.row.gpus_per_node) - m.free for pool in site.pools.values() for m in pool.standing.values()
        )
        step = (now_s, site.home_used + cloud_used + waiting, rented, site.home_used)
        if not self._steps or self._steps[-1][1:] != step[1:]:
            self._steps.append(step)


def _asks_for_nothing(policy: Policy) -> bool:
    """No section asks for nodes that no task waits for."""
    keeps = any(window.nodes for window in policy.calendar.windows)
    return not keeps and not policy.prewarm.windows and not policy.warm_pool.nodes


def queued_task(job: Job, starts_at: datetime) -> QueuedTask:
    """A job as a task of the queue, before anybody tells its runtime."""
    pods = -(-job.gpus // 8)
    return QueuedTask(
        task=job.name,
        department=job.department,
        gpus=Gpus(job.gpus),
        gpus_per_pod=Gpus(min(job.gpus, 8)),
        gpu_memory=job.gpu_memory,
        preemptible=job.is_preemptible,
        queued_since=_at(starts_at, job.arrival_s),
        pods=pods,
        tier=job.tier,
        kind=job.kind,
        data=job.data,
        user=job.user,
        deadline=None if job.deadline_s is None else _at(starts_at, job.deadline_s),
    )


def _at(start: datetime, seconds: float) -> datetime:
    return start + timedelta(seconds=seconds)


def _cheapest_first(catalog: Catalog) -> list[PoolRow]:
    rows = catalog.cloud_pools()
    return sorted(rows, key=lambda row: (catalog.in_home_currency(row.price).amount / row.gpus_per_node, row.pool))


__all__ = ["HOME", "Decider", "Ground", "Replay", "SiteRun", "Turn"]
