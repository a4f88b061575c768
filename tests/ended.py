"""Builders of ended work: pods, tasks, and the pods of those at work; each gives a fresh value."""

from __future__ import annotations

from datetime import datetime, timedelta

from agent.core.ended_work import EndedPod, EndedTask, TaskEnd
from agent.core.readings import ClusterPod, PodWork
from agent.core.runtime_estimate import RuntimeKey
from contract.units import GiB, Gpus
from contract.work import WorkKind
from tests.builders import NOON

HOUR = timedelta(hours=1)
ANNA = RuntimeKey(department="vision", kind=WorkKind.HPO, gpus=8, user="anna")
ANNAS_WORK = "hpo of user anna on 5-8 GPUs"


def an_ended_task(
    number: int = 0,
    runtime: timedelta = HOUR,
    *,
    key: RuntimeKey = ANNA,
    outcome: TaskEnd = TaskEnd.SUCCEEDED,
    ended: datetime | None = None,
) -> EndedTask:
    """Task `number` of Anna; later numbers ended later, a minute apart, before noon."""
    at = ended or NOON - HOUR + timedelta(minutes=number)
    return EndedTask(
        identity=f"uid-{number:05d}",
        task=f"vision/train-{number}",
        key=key,
        started_at=at - runtime,
        ended_at=at,
        outcome=outcome,
    )


def an_ended_pod(
    uid: str = "p-1",
    owner: str = "job-1",
    *,
    ran: timedelta = HOUR,
    ended: datetime | None = NOON - timedelta(minutes=1),
    succeeded: bool = True,
    gpus: int = 8,
) -> EndedPod:
    """A pod of Anna that ended a minute before noon after an hour."""
    started = (ended or NOON) - ran
    return EndedPod(
        uid=uid,
        owner=owner,
        task=f"vision/{owner}",
        department="vision",
        gpus=Gpus(gpus),
        created_at=min(started, NOON) - timedelta(minutes=1),
        started_at=started,
        ended_at=ended,
        succeeded=succeeded,
        work=PodWork(kind=WorkKind.HPO, user="anna"),
    )


def a_pod_at_work(uid: str = "p-1", owner: str = "job-1", *, node: str | None = "n-1") -> ClusterPod:
    """A pod of Anna that began an hour before noon; without a node it waits."""
    return ClusterPod(
        name=uid,
        node=node,
        gpus=Gpus(8),
        task=f"vision/{owner}",
        department="vision",
        gpu_memory=GiB(0),
        preemptible=False,
        created_at=NOON - HOUR,
        work=PodWork(kind=WorkKind.HPO, user="anna"),
        started_at=NOON - HOUR if node else None,
        uid=uid,
        owner=owner,
    )
