"""The pods of one Kubernetes cluster that have ended, as an EndedReader: when, how, and whose they were.

A pod that lacks what it must have is passed over: learning from fewer is better than from none.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from kubernetes.client import CoreV1Api

from agent.cluster_access import ClusterEndpoint, Json, connect, list_all, pod_gpus, pod_task
from agent.core.ended_work import EndedPod
from agent.sense.kubernetes import moment, task_uid
from agent.sense.pod_work import pod_work
from contract import labels
from contract.units import Gpus

_ENDED = "status.phase!=Pending,status.phase!=Running"
# Preempted, evicted, or its node went: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/
_DISRUPTED = "DisruptionTarget"


class KubernetesEnded:
    """Reads one cluster with one list call, page by page."""

    def __init__(self, endpoint: ClusterEndpoint) -> None:
        self._endpoint = endpoint
        self._api = CoreV1Api(connect(endpoint))

    def read(self) -> tuple[EndedPod, ...]:
        pods = list_all(self._endpoint, self._api.list_pod_for_all_namespaces, field_selector=_ENDED)
        return tuple(_readable(pods))


def _readable(pods: Iterator[Json]) -> Iterator[EndedPod]:
    for pod in pods:
        try:
            if pod_gpus(pod):
                yield _ended_pod(pod)
        except (KeyError, TypeError, ValueError, AttributeError):
            continue


def _ended_pod(pod: Json) -> EndedPod:
    metadata, status = pod["metadata"], pod["status"]
    own, started, ended = metadata.get("labels") or {}, status.get("startTime"), _ended_at(status)
    return EndedPod(
        uid=str(metadata["uid"]),
        owner=task_uid(metadata),
        task=pod_task(pod),
        department=own.get(labels.DEPARTMENT, "unknown"),
        gpus=Gpus(pod_gpus(pod)),
        created_at=moment(metadata["creationTimestamp"]),
        started_at=moment(started) if started else None,
        ended_at=ended,
        succeeded=status.get("phase") == "Succeeded" and not _was_told_to_go(metadata, status, ended),
        work=pod_work(own, metadata.get("annotations") or {}),
    )


def _ended_at(status: Json) -> datetime | None:
    """When its last container ended; None where its node never said so."""
    states = [(item.get("state") or {}).get("terminated") or {} for item in status.get("containerStatuses") or ()]
    return max((moment(state["finishedAt"]) for state in states if state.get("finishedAt")), default=None)


def _was_told_to_go(metadata: Json, status: Json, ended: datetime | None) -> bool:
    """Whether it was asked to end before it ended: who heeds SIGTERM ends with code 0 and counts as Succeeded.

    `deletionTimestamp` is when the grace is over, so the asking was that much earlier.
    """
    conditions = {item["type"]: item["status"] for item in status.get("conditions") or ()}
    if conditions.get(_DISRUPTED) == "True":
        return True
    if not metadata.get("deletionTimestamp") or ended is None:
        return False
    grace = timedelta(seconds=metadata.get("deletionGracePeriodSeconds") or 0)
    return moment(metadata["deletionTimestamp"]) - grace < ended
