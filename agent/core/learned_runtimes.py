"""Run times that nobody stated, filled in from the book; the picture then says from how many tasks of what kind. Pure.

A stated run time stays. What is filled in is part of the snapshot from then on, so that a rerun of the decision asks
no book. A task whose kin ended too seldom, or mostly still runs, stays unknown; the policy's `assumed_runtime` stands
in for it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import replace
from datetime import datetime, timedelta

from agent.core.ended_work import SeenWork, runtime_key
from agent.core.runtime_estimate import LEAST, Estimate, RuntimeBook, RuntimeKey, kin_names
from agent.core.snapshot import Learned, LocalState, QueuedTask, RunningTask, Snapshot, Unknown
from contract.units import show_duration

# So many sources are named one by one; one line each.
_NAMED = 10
_Source = tuple[Learned, timedelta | None]


def with_runtimes(snapshot: Snapshot, work: SeenWork, book: RuntimeBook) -> Snapshot:
    """The picture with what the book knows of tasks whose run time nobody stated."""
    queue, local, teller = snapshot.queue, snapshot.local, _Teller(book, work, snapshot.taken_at)
    if not isinstance(queue, Unknown):
        queue = tuple(teller.waiting(task) for task in queue)
    if isinstance(local, LocalState):
        local = replace(local, running=tuple(teller.running(task) for task in local.running))
    return replace(snapshot, queue=queue, local=local, notes=(*snapshot.notes, *work.notes))


def runtime_sentences(snapshot: Snapshot) -> tuple[str, ...]:
    """Where the run times of a picture came from: of those that wait source by source, of those at work in numbers."""
    return (*_of_queue(snapshot.queue), *_of_running(snapshot.local))


def told(estimate: Estimate) -> timedelta | None:
    """What a policy is told of a task to come, to the second; None for a guess from nothing."""
    return timedelta(seconds=max(1, round(estimate.median_s))) if estimate.seen else None


class _Teller:
    """The book beside what is at work now, for one picture; each kind of task is looked up once."""

    def __init__(self, book: RuntimeBook, work: SeenWork, now: datetime) -> None:
        self._book, self._now = book, now
        self._keys = {task.task: task.key for task in work.running}
        self._found: dict[RuntimeKey, Estimate] = {}
        self._begun: defaultdict[str, list[datetime]] = defaultdict(list)
        for task in sorted(work.running, key=lambda task: task.started_at):
            for kin in kin_names(task.key):
                self._begun[kin].append(task.started_at)

    def waiting(self, task: QueuedTask) -> QueuedTask:
        """A waiting task with a run time, if one is stated or can be told."""
        if task.runtime is not None:
            return task
        key = runtime_key(task.department, task.kind, task.gpus, task.user)
        if key not in self._found:
            self._found[key] = self._book.estimate(key, LEAST)
        estimate = self._found[key]
        runtime = self._believed(estimate, told(estimate))
        return task if runtime is None else replace(task, runtime=runtime, learned=_learned(estimate))

    def running(self, task: RunningTask) -> RunningTask:
        """A task at work with its end, by what those ran on that ran so long; unknown where hardly any did."""
        if task.ends_at is not None or task.task not in self._keys:
            return task
        ran = max(timedelta(0), self._now - task.started_at)
        left = self._book.remaining(self._keys[task.task], ran.total_seconds(), LEAST)
        rest = told(left)
        if rest is None or self._believed(left, ran + rest) is None:
            return task
        return replace(task, ends_at=self._now + rest, learned=_learned(left))

    def _believed(self, estimate: Estimate, runtime: timedelta | None) -> timedelta | None:
        """None where many still run beyond it: short tasks end first, and until the long ones do the book is too short.

        Asked are those of the kin that began since the oldest of those kept ended, no more than half as many as kept.
        """
        if runtime is None or estimate.since is None:
            return runtime
        begun = self._begun[estimate.kin]
        beyond = bisect_left(begun, self._now - runtime) - bisect_left(begun, estimate.since)
        return runtime if 2 * beyond <= estimate.seen else None


def _learned(estimate: Estimate) -> Learned:
    return Learned(seen=estimate.seen, of=estimate.from_what)


def _of_queue(queue: tuple[QueuedTask, ...] | Unknown) -> list[str]:
    if isinstance(queue, Unknown) or not queue:
        return []
    stated = sum(task.runtime is not None and task.learned is None for task in queue)
    unknown = sum(task.runtime is None for task in queue)
    sources: Counter[_Source] = Counter((task.learned, task.runtime) for task in queue if task.learned)
    learned = sum(sources.values())
    lines = [f"Runtimes of waiting tasks ({len(queue)}): {stated} stated, {learned} learned, {unknown} unknown"]
    for (source, runtime), count in sources.most_common(_NAMED):
        span = "" if runtime is None else f": {show_duration(runtime)}"
        lines.append(f"Learned for {count} of them from {source.seen} ended tasks ({source.of}){span}")
    if len(sources) > _NAMED:
        lines.append(f"Learned for the others from {len(sources) - _NAMED} other kinds of work")
    return lines


def _of_running(local: LocalState | Unknown) -> list[str]:
    running = () if isinstance(local, Unknown) else local.running
    if not running:
        return []
    learned = sum(task.learned is not None for task in running)
    unknown = sum(task.ends_at is None for task in running)
    stated = len(running) - learned - unknown
    return [f"Ends of running tasks ({len(running)}): {stated} stated, {learned} learned, {unknown} unknown"]
