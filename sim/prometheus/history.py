"""What was measured: the use of each GPU and the length of each queue, over virtual time.

Follows the world; a held GPU runs at a share that belongs to its job, an idle one at 0. An idle GPU
carries its exporter's pod, a held one the job's pod, as the real exporter shows it. Must not answer
queries.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sim.kube.pod_object import EXPORTER_NAMESPACE, exporter_name
from sim.world.ground import Verb
from sim.world.nodes import Node, Phase
from sim.world.workload import Pod, PodPhase
from sim.world.world import World

GPU_UTIL = "DCGM_FI_DEV_GPU_UTIL"
PENDING = "kueue_pending_workloads"
_DRIVER = "580.105.08"


@dataclass(slots=True)
class Series:
    """One time series: its labels, and its values since each moment; None where it ends."""

    labels: Mapping[str, str]
    shown: str
    times: list[float] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    def set(self, at_s: float, value: float | None) -> None:
        """From now on this value."""
        if self.times and self.times[-1] == at_s:
            self.values[-1] = value
            return
        self.times.append(at_s)
        self.values.append(value)

    def at(self, at_s: float) -> float | None:
        """The value at a moment; None where there is none."""
        if self.times and self.times[-1] <= at_s:
            return self.values[-1]
        place = bisect_right(self.times, at_s)
        return self.values[place - 1] if place else None


class History:
    """All series of a world."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._series: dict[tuple[str, ...], Series] = {}
        self._live: dict[tuple[str, ...], Series] = {}
        self._changed_s = 0.0
        self._running: set[str] = set()
        world.fleet.followers.append(self._follow_node)
        world.ground.journal.pod_readers.append(self._follow_pod)
        world.dispatcher.queue.followers.append(self._follow_queue)
        for node in world.fleet.nodes.values():
            if node.phase is Phase.GPU_READY:
                self._start(node)
        for run in world.dispatcher.runs:
            for pod in run.pods:
                self._follow_pod(Verb.ADDED, pod)
        for department, count in world.dispatcher.queue.by_department.items():
            self._follow_queue(department, count)

    def of(self, name: str, from_s: float = 0.0) -> Iterator[Series]:
        """The series of a metric that may have a value at `from_s` or later."""
        kept = self._live if from_s >= self._changed_s else self._series
        return (series for key, series in kept.items() if key[0] == name)

    def _follow_node(self, node: Node, before: Phase) -> None:
        if node.phase is Phase.GPU_READY:
            self._start(node)
        elif node.phase is Phase.GONE:
            self._end(node)

    def _follow_pod(self, verb: Verb, pod: Pod) -> None:
        runs = pod.phase is PodPhase.RUNNING and verb is not Verb.DELETED
        if pod.node is None or runs == (pod.name in self._running):
            return
        at_s = self._world.now_s
        if runs:
            at_s = at_s if pod.bound_s is None else pod.bound_s
            self._running.add(pod.name)
            value = float(self._world.ground.draws.stream("use", pod.job.name).randint(88, 99))
        else:
            self._running.discard(pod.name)
            value = 0.0
        for gpu in pod.gpu_indexes:
            self._set(self._gpu_key(pod.node, gpu, None), None if runs else value, at_s)
            self._set(self._gpu_key(pod.node, gpu, pod), value if runs else None, at_s)

    def _follow_queue(self, department: str, count: int) -> None:
        # Kueue keeps a workload that was tried and did not fit apart from those still to be tried;
        # the world tries at once, so all that wait were tried.
        for status, value in (("active", 0), ("inadmissible", count)):
            key = (PENDING, department, status)
            if key not in self._series:
                labels = {"__name__": PENDING, "cluster_queue": department, "status": status, "job": "kueue"}
                labels["cluster"] = self._world.dispatcher.home_cluster
                self._series[key] = _series(labels)
            self._set(key, float(value), self._world.now_s)

    def _start(self, node: Node) -> None:
        for gpu in range(node.machine.gpus):
            self._set(self._gpu_key(node, gpu, None), 0.0, node.entered_s[Phase.GPU_READY])

    def _end(self, node: Node) -> None:
        for key in [key for key in self._live if key[:2] == (GPU_UTIL, node.name)]:
            self._set(key, None, self._world.now_s)

    def _set(self, key: tuple[str, ...], value: float | None, at_s: float) -> None:
        series, self._changed_s = self._series[key], self._world.now_s
        series.set(at_s, value)
        if value is None:
            self._live.pop(key, None)
        else:
            self._live[key] = series

    def _gpu_key(self, node: Node, gpu: int, pod: Pod | None) -> tuple[str, ...]:
        key = (GPU_UTIL, node.name, str(gpu), pod.name if pod else "")
        if key not in self._series:
            self._series[key] = _series(self._labels(node, gpu, pod))
        return key

    def _labels(self, node: Node, gpu: int, pod: Pod | None) -> dict[str, str]:
        ground = self._world.ground
        digits = ground.draws.hexadecimal(32, "gpu", node.instance_id, gpu)
        uuid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
        exporter = exporter_name(node, ground)
        return {
            "__name__": GPU_UTIL,
            "DCGM_FI_DRIVER_VERSION": _DRIVER,
            "Hostname": node.name,
            "UUID": f"GPU-{uuid}",
            "cluster": node.cluster,
            "container": "main" if pod else "nvidia-dcgm-exporter",
            "device": f"nvidia{gpu}",
            "gpu": str(gpu),
            "instance": f"{node.address}:9400",
            "job": "nvidia-dcgm-exporter",
            "modelName": node.machine.product,
            "namespace": pod.job.department if pod else EXPORTER_NAMESPACE,
            "pci_bus_id": f"00000000:{0x53 + 0x11 * gpu & 0xFF:02X}:00.0",
            "pod": pod.name if pod else exporter,
            "site": node.row.site,
        }


def _series(labels: dict[str, str]) -> Series:
    return Series(labels, json.dumps(labels, separators=(",", ":")))
