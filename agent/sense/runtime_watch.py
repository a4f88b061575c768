"""What became of work, watched from one round of sensing to the next: which tasks ended, and which vanished at work.

Keeps of each cluster the pods last seen at work and those shown as ended. A pod at work that is neither there nor
shown as ended any more was deleted, preempted, or swept before anybody looked: its task teaches nothing, not even if
it comes back and succeeds, for then it began again.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.core.ended_work import EndedPod, EndedTask, SeenWork, ended_tasks, tasks_at_work, vanished_task
from agent.core.readings import ClusterPod, ClusterReading
from agent.core.snapshot import Unknown

# A list of ended pods costs a page each 500; a cluster that keeps many is asked that much more rarely.
_PAGE = 500
_PAUSE_A_PAGE = timedelta(seconds=30)
# So many vanished tasks are told again until the ledger has them.
_VANISHED_KEPT = 1000


@dataclass(slots=True)
class _Cluster:
    """One cluster, as last seen. `at_work`: pods by uid that were seen at work and whose end was not."""

    at_work: dict[str, ClusterPod] = field(default_factory=dict)
    live: dict[str, str] = field(default_factory=dict)
    ended: tuple[EndedPod, ...] = ()
    asked_at: datetime | None = None

    def is_due(self, now: datetime) -> bool:
        """Whether to ask for ended pods; also when the clock was set back."""
        pause = len(self.ended) // _PAGE * _PAUSE_A_PAGE
        return self.asked_at is None or not self.asked_at <= now < self.asked_at + pause


class RuntimeWatch:
    """The watch over all clusters that are read."""

    def __init__(self) -> None:
        self._clusters: dict[str, _Cluster] = {}
        self._vanished: OrderedDict[str, EndedTask] = OrderedDict()
        self._running: dict[str, ClusterReading] = {}
        self._doubts: dict[str, str] = {}

    def look(self, reading: ClusterReading, ask: Callable[[], tuple[EndedPod, ...] | Unknown], now: datetime) -> None:
        """Take up what a cluster shows at work, and ask it for what has ended, in this order.

        So a pod that ends in between is seen twice and not missed.
        """
        seen = self._clusters.setdefault(reading.cluster, _Cluster())
        self._running[reading.cluster] = reading
        seen.live = {pod.uid: pod.owner for pod in reading.pods if pod.uid}
        if seen.is_due(now):
            answer = ask()
            if isinstance(answer, Unknown):
                self._doubts[reading.cluster] = f"ended work of {reading.cluster} cannot be read: {answer.why}"
            else:
                self._doubts.pop(reading.cluster, None)
                seen.ended, seen.asked_at = answer, now
                self._settle(seen, now)
        ended = {pod.uid for pod in seen.ended}
        at_work = (pod for pod in reading.pods if pod.uid and pod.node and pod.started_at)
        seen.at_work |= {pod.uid: pod for pod in at_work if pod.uid not in ended}

    def leave(self, cluster: str, now: datetime) -> None:
        """A cluster without rented nodes is not asked: what was last seen at work there is gone."""
        seen = self._clusters.pop(cluster, None)
        self._running.pop(cluster, None)
        self._doubts.pop(cluster, None)
        if seen is not None:
            seen.live = {}
            self._settle(seen, now)

    def seen_work(self, now: datetime) -> SeenWork:
        """What all clusters show as ended and at work."""
        ended = [pod for seen in self._clusters.values() for pod in seen.ended]
        gone = {pod.uid for pod in ended}
        unfinished = {owner for seen in self._clusters.values() for uid, owner in seen.live.items() if uid not in gone}
        return SeenWork(
            # Vanished first: of two words on one task the first counts.
            ended=(*self._vanished.values(), *ended_tasks(ended, unfinished, now)),
            # By cluster: two of them may have a task of one name.
            running=tuple(task for name in sorted(self._running) for task in tasks_at_work(self._running[name].pods)),
            notes=tuple(self._doubts.values()),
        )

    def _settle(self, seen: _Cluster, now: datetime) -> None:
        """Let go of pods whose end is seen; those of which nothing is seen any more have vanished."""
        ended = {pod.uid for pod in seen.ended}
        for uid, pod in list(seen.at_work.items()):
            if uid in seen.live:
                continue
            del seen.at_work[uid]
            if uid not in ended:
                self._vanished.setdefault(pod.owner, vanished_task(pod, now))
        while len(self._vanished) > _VANISHED_KEPT:
            self._vanished.popitem(last=False)
