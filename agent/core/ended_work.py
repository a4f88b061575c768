"""Work that has ended, as values: which pods were one task, how it ended, and for how long it ran. Pure.

Only a task whose every pod succeeded, and of which no pod was ever seen to fail or to vanish at work, teaches a run
time: what was killed, preempted or begun again would teach a short one. So the first word on a task is the last one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from agent.core.readings import ClusterPod, PodWork
from agent.core.runtime_estimate import RuntimeBook, RuntimeKey, kin_names
from contract.units import Gpus
from contract.work import WorkKind

# The clocks of a node, an API server and the agent may differ by so much; beyond it one of them jumped.
CLOCK_SLACK = timedelta(minutes=5)
# Nothing runs longer; a node that booted in 1970 would say so.
LONGEST = timedelta(days=400)
# So many ended tasks are kept in all, the newest.
MOST_ENDED = 20_000
# An annotation may hold a whole page; a user has a name.
_USER_LETTERS = 100


class TaskEnd(StrEnum):
    """How a task ended. VANISHED: a pod of it at work was gone, nobody saw how: deleted, preempted, swept."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    VANISHED = "vanished"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedPod:
    """A pod with GPUs that has ended and is still shown. `owner`: what is the same for all pods of its task, a uid.

    `succeeded` is False too for one that was told to go and went politely.
    """

    uid: str
    owner: str
    task: str
    department: str
    gpus: Gpus
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    succeeded: bool
    work: PodWork = field(default_factory=PodWork)


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedTask:
    """A task that has ended. It started and ended with the pod that ran longest; `identity` is never given twice."""

    identity: str
    task: str
    key: RuntimeKey
    started_at: datetime
    ended_at: datetime
    outcome: TaskEnd

    @property
    def runtime_s(self) -> float:
        """For how long it held its GPUs."""
        return (self.ended_at - self.started_at).total_seconds()

    @property
    def kin(self) -> str:
        """What it is kept together with: tasks that ended alike, of its nearest kin."""
        return f"{self.outcome}: {kin_names(self.key)[0]}"

    @property
    def place(self) -> tuple[datetime, str]:
        """The order in which tasks are learned from, the same after each restart."""
        return (self.ended_at, self.identity)


@dataclass(frozen=True, slots=True, kw_only=True)
class AtWork:
    """A task that runs. `started_at`: with its last pod, as a gang only waits before."""

    task: str
    key: RuntimeKey
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenWork:
    """What one round of sensing tells beside its snapshot: tasks that ended, and those at work in any cluster read.

    `ended` holds all that are still shown, also those that were told before.
    """

    ended: tuple[EndedTask, ...] = ()
    running: tuple[AtWork, ...] = ()
    notes: tuple[str, ...] = ()


def runtime_key(department: str, kind: WorkKind, gpus: int, user: str) -> RuntimeKey:
    """What a run time is learned and asked by."""
    return RuntimeKey(department=department, kind=kind, gpus=gpus, user=user[:_USER_LETTERS])


def ended_tasks(pods: Iterable[EndedPod], unfinished: Collection[str], now: datetime) -> tuple[EndedTask, ...]:
    """The tasks of these pods, oldest first, without those of which a pod still waits or works (`unfinished`: owners).

    What cannot be believed now is left out: an end that is still to come, a run of no time or of years.
    """
    by_owner: defaultdict[str, list[EndedPod]] = defaultdict(list)
    for pod in pods:
        if pod.owner not in unfinished:
            by_owner[pod.owner].append(pod)
    found = (_ended_task(members, now) for members in by_owner.values())
    return tuple(sorted((task for task in found if task), key=lambda task: task.place))


def vanished_task(pod: ClusterPod, now: datetime) -> EndedTask:
    """A task of which a pod at work is gone, seen last before `now`."""
    return EndedTask(
        identity=pod.owner,
        task=pod.task,
        key=key_of([pod], pod.gpus),
        started_at=min(pod.started_at or pod.created_at, now),
        ended_at=now,
        outcome=TaskEnd.VANISHED,
    )


def tasks_at_work(pods: Iterable[ClusterPod]) -> tuple[AtWork, ...]:
    """Each task of which a pod has a node."""
    gangs: defaultdict[str, list[ClusterPod]] = defaultdict(list)
    for pod in pods:
        if pod.node is not None:
            gangs[pod.task].append(pod)
    return tuple(
        AtWork(
            task=task,
            key=key_of(members, sum(pod.gpus for pod in members)),
            started_at=max(pod.started_at or pod.created_at for pod in members),
        )
        for task, members in gangs.items()
    )


def key_of(pods: Sequence[ClusterPod] | Sequence[EndedPod], gpus: int) -> RuntimeKey:
    """One gang's key; as in the queue, the first pod that says something says it for all."""
    works = [pod.work for pod in pods]
    kind = next((work.kind for work in works if work.kind is not WorkKind.OTHER), WorkKind.OTHER)
    return runtime_key(pods[0].department, kind, gpus, next((work.user for work in works if work.user), ""))


def book_of(tasks: Iterable[EndedTask]) -> RuntimeBook:
    """What these tasks teach, in the order in which they come."""
    book = RuntimeBook()
    for task in tasks:
        teach(book, task)
    return book


def teach(book: RuntimeBook, task: EndedTask) -> None:
    """Learn from a task, if it is one to learn from."""
    if task.outcome is TaskEnd.SUCCEEDED:
        book.learn(task.key, task.runtime_s, task.ended_at)


def _ended_task(pods: list[EndedPod], now: datetime) -> EndedTask | None:
    if not all(pod.succeeded for pod in pods):
        return _made(pods, _failed_span(pods, now), TaskEnd.FAILED)
    spans = [_span(pod, now) for pod in pods]
    believed = [span for span in spans if span]
    if len(believed) < len(pods):
        return None
    return _made(pods, max(believed, key=lambda span: span[1] - span[0]), TaskEnd.SUCCEEDED)


def _made(pods: list[EndedPod], span: tuple[datetime, datetime], outcome: TaskEnd) -> EndedTask:
    return EndedTask(
        identity=pods[0].owner,
        task=pods[0].task,
        key=key_of(pods, _gpus_at_once(pods)),
        started_at=span[0],
        ended_at=span[1],
        outcome=outcome,
    )


def _failed_span(pods: list[EndedPod], now: datetime) -> tuple[datetime, datetime]:
    """Nobody learns from it: any order of the times that makes sense will do."""
    ended = min(now, max((pod.ended_at for pod in pods if pod.ended_at), default=now))
    return min(ended, min(pod.started_at or pod.created_at for pod in pods)), ended


def _span(pod: EndedPod, now: datetime) -> tuple[datetime, datetime] | None:
    """From start to end, if the clocks that said so can be believed."""
    started, ended = pod.started_at, pod.ended_at
    if started is None or ended is None:
        return None
    is_sane = pod.created_at - CLOCK_SLACK <= started < ended <= now + CLOCK_SLACK
    return (started, ended) if is_sane and ended - started <= LONGEST else None


def _gpus_at_once(pods: list[EndedPod]) -> int:
    """The most that the task held at one time: pods that came one after the other are no larger gang."""
    steps = []
    for pod in pods:
        started = pod.started_at or pod.created_at
        steps += [(started, pod.gpus), (max(started, pod.ended_at or started), Gpus(-pod.gpus))]
    most = held = 0
    for _, change in sorted(steps):
        held += change
        most = max(most, held)
    return most or max(pod.gpus for pod in pods)
