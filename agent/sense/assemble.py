"""Join all readings of one round into a Snapshot. Pure; whatever could not be read stays Unknown.

A node is matched with its cloud instance by instance id; a GPU pool's node without allocatable GPUs
counts as joined, not as ready (I32). Sizes and shapes come from the catalogue, never from nodes (I33).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import timedelta

from agent.core.policy import UseSignal
from agent.core.readings import (
    ClusterNode,
    ClusterPod,
    ClusterReading,
    PoolBinding,
    PoolReading,
    Readings,
)
from agent.core.snapshot import (
    LocalNode,
    LocalState,
    NodePhase,
    NodeView,
    PoolState,
    QueuedTask,
    RunningTask,
    Snapshot,
    Unknown,
)
from contract.catalog import Catalog, PoolRow
from contract.units import Gpus, Nodes, Percent
from contract.work import DataClass, Tier, WorkKind

_MIN_REPORTING = 0.8
# So many doubtful tasks are named in one picture; every picture goes into the ledger.
_NAMED = 20
# A gang of mixed labels is as far from leaving as its strictest pod.
_STRICTNESS = tuple(DataClass)


def assemble(readings: Readings, catalog: Catalog, signal: UseSignal) -> Snapshot:
    """One picture of one moment. Never raises for missing data."""
    home = {row.cluster for row in catalog.onprem_pools()}
    local = _local_state(home, readings)
    return Snapshot(
        taken_at=readings.taken_at,
        catalog=catalog,
        local_use=_utilization(readings, local) if signal is UseSignal.UTILIZATION else _allocation(local),
        local=local,
        queue=_queue(readings, home),
        pools=_pools(readings, catalog),
        notes=(
            *readings.use.notes,
            *(f"{stack}: {doubt.why}" for stack, doubt in readings.blind_stacks.items()),
            *_doubts(readings, home),
        ),
        blind_stacks=tuple(readings.blind_stacks),
    )


def _local_state(home: set[str], readings: Readings) -> LocalState | Unknown:
    nodes: list[LocalNode] = []
    running: list[RunningTask] = []
    used = 0
    for cluster in sorted(home):
        reading = readings.clusters.get(cluster, Unknown(f"{cluster} was not read"))
        if isinstance(reading, Unknown):
            return reading
        used_by_node = _used_by_node(reading.pods)
        for node in reading.nodes:
            if node.is_ready and not node.is_cordoned and node.gpus:
                # Where cards are shared more GPUs may be given out than there are cards.
                free = Gpus(max(0, node.gpus - used_by_node[node.name]))
                nodes.append(LocalNode(name=node.name, gpus=node.gpus, free=free))
                used += used_by_node[node.name]
        running += _running(reading.pods)
    if not nodes:
        return Unknown(f"no ready node with GPUs in {', '.join(sorted(home))}")
    gpus = Gpus(sum(node.gpus for node in nodes))
    return LocalState(gpus=gpus, gpus_used=Gpus(used), nodes=tuple(nodes), running=tuple(running))


def _running(pods: Iterable[ClusterPod]) -> list[RunningTask]:
    """What holds GPUs, by task. A gang runs from the start of its last pod on: before that it only waits."""
    gangs: defaultdict[str, list[ClusterPod]] = defaultdict(list)
    for pod in pods:
        if pod.node is not None:
            gangs[pod.task].append(pod)
    running = []
    for task, members in gangs.items():
        started = max(pod.started_at or pod.created_at for pod in members)
        runtime = _longest(members)
        running.append(
            RunningTask(
                task=task,
                nodes=tuple((node, Gpus(gpus)) for node, gpus in sorted(_used_by_node(members).items())),
                started_at=started,
                ends_at=None if runtime is None else started + runtime,
            )
        )
    return running


def _longest(pods: Iterable[ClusterPod]) -> timedelta | None:
    return max((pod.work.runtime for pod in pods if pod.work.runtime is not None), default=None)


def _doubts(readings: Readings, home: set[str]) -> Iterator[str]:
    """What pods say of their work and nobody understands, once a task."""
    doubtful: dict[str, tuple[str, tuple[str, ...]]] = {}
    for cluster in sorted(home):
        reading = readings.clusters.get(cluster)
        for pod in reading.pods if isinstance(reading, ClusterReading) else ():
            if pod.work.doubts:
                doubtful.setdefault(pod.task, (pod.name, pod.work.doubts))
    for task, (pod_name, doubts) in list(doubtful.items())[:_NAMED]:
        yield f"pod {pod_name} of {task}: {'; '.join(doubts)}"
    if len(doubtful) > _NAMED:
        yield f"{len(doubtful) - _NAMED} other tasks have labels that mean nothing"


def _utilization(readings: Readings, local: LocalState | Unknown) -> Percent | Unknown:
    """The reported use, if enough of the cluster's GPUs report; a site that is cut off must not look quiet."""
    use, reporting = readings.use.use, readings.use.series
    if isinstance(use, Unknown):
        return use
    if isinstance(local, Unknown):
        return Unknown(f"nobody can say how many GPUs should report their use: {local.why}")
    if reporting < _MIN_REPORTING * local.gpus:
        return Unknown(f"only {reporting} of {local.gpus} local GPUs report their use")
    return use


def _allocation(local: LocalState | Unknown) -> Percent | Unknown:
    if isinstance(local, Unknown):
        return local
    return Percent(min(100.0, 100.0 * local.gpus_used / local.gpus))


def _queue(readings: Readings, home: set[str]) -> tuple[QueuedTask, ...] | Unknown:
    """Waiting tasks of the owned clusters, oldest first: users submit there (R3.3)."""
    waiting: defaultdict[str, list[ClusterPod]] = defaultdict(list)
    for cluster in sorted(home):
        reading = readings.clusters.get(cluster, Unknown(f"{cluster} was not read"))
        if isinstance(reading, Unknown):
            return reading
        for pod in reading.pods:
            if pod.node is None:
                waiting[pod.task].append(pod)
    tasks = (_task(name, pods) for name, pods in waiting.items())
    return tuple(sorted(tasks, key=lambda task: (task.queued_since, task.task)))


def _task(name: str, pods: list[ClusterPod]) -> QueuedTask:
    """One gang. Where its pods differ, what asks most holds for all; of tiers the least urgent."""
    works = [pod.work for pod in pods]
    return QueuedTask(
        task=name,
        department=pods[0].department,
        gpus=Gpus(sum(pod.gpus for pod in pods)),
        gpus_per_pod=Gpus(max(pod.gpus for pod in pods)),
        gpu_memory=max(pod.gpu_memory for pod in pods),
        preemptible=all(pod.preemptible for pod in pods),
        queued_since=min(pod.created_at for pod in pods),
        pods=len(pods),
        wants=pods[0].wants,
        tier=max((work.tier for work in works), key=lambda tier: tier.rank),
        kind=next((work.kind for work in works if work.kind is not WorkKind.OTHER), WorkKind.OTHER),
        data=max((work.data for work in works), key=_STRICTNESS.index),
        needs_low_latency=any(work.needs_low_latency for work in works),
        runtime=_longest(pods),
        deadline=min((work.deadline for work in works if work.deadline is not None), default=None),
        user=next((work.user for work in works if work.user), ""),
    )


def _pools(readings: Readings, catalog: Catalog) -> tuple[PoolState, ...]:
    pods = {
        name: _by_node(reading.pods)
        for name, reading in readings.clusters.items()
        if isinstance(reading, ClusterReading)
    }
    states = []
    for stack in readings.stacks:
        for pool, configured in stack.configured.items():
            row = catalog.pools[pool]
            reading = readings.pools.get(pool, Unknown(f"{pool} was not read in its cloud"))
            bindings = stack.bindings
            states.append(
                PoolState(
                    pool=pool,
                    stack=stack.stack,
                    configured=configured,
                    applied=_applied(bindings, pool),
                    observed=_observed(row, reading, readings, pods.get(row.cluster, {})),
                    failure=reading.failure if isinstance(reading, PoolReading) else None,
                )
            )
    return tuple(states)


def _applied(bindings: Mapping[str, PoolBinding] | Unknown, pool: str) -> Nodes | Unknown:
    if isinstance(bindings, Unknown):
        return bindings
    binding = bindings.get(pool)
    return binding.applied if binding else Unknown(f"the state holds no {pool}")


def _observed(
    row: PoolRow, reading: PoolReading | Unknown, readings: Readings, pods: Mapping[str, list[ClusterPod]]
) -> tuple[NodeView, ...] | Unknown:
    if isinstance(reading, Unknown):
        return reading
    cluster = readings.clusters.get(row.cluster)
    if isinstance(cluster, Unknown) or cluster is None:
        return cluster or Unknown(f"{row.cluster} was not read")
    # By instance id alone: a label can be edited, and a busy node must not look like one that boots.
    nodes = {node.instance_id: node for node in cluster.nodes}
    views = []
    for instance in reading.instances:
        node = nodes.get(instance.instance_id)
        views.append(
            NodeView(
                name=node.name if node else instance.instance_id,
                pool=row.pool,
                phase=NodePhase.LEAVING if instance.is_leaving else _phase(node),
                since=instance.launched_at,
                gpus=node.gpus if node else Gpus(0),
                gpus_used=Gpus(sum(pod.gpus for pod in pods.get(node.name, ()))) if node else Gpus(0),
                instance_id=instance.instance_id,
                reclaim_at=node.reclaim.ends_at(readings.taken_at) if node and node.reclaim else None,
                tasks=_tasks_on(pods.get(node.name, ())) if node else (),
            )
        )
    return tuple(views)


def _phase(node: ClusterNode | None) -> NodePhase:
    if node is None or not node.is_ready:
        return NodePhase.BOOTING
    if node.is_cordoned:
        return NodePhase.DRAINING
    return NodePhase.GPU_READY if node.gpus > 0 else NodePhase.JOINED


def _by_node(pods: Iterable[ClusterPod]) -> dict[str, list[ClusterPod]]:
    found: defaultdict[str, list[ClusterPod]] = defaultdict(list)
    for pod in pods:
        if pod.node is not None:
            found[pod.node].append(pod)
    return dict(found)


def _tasks_on(pods: Iterable[ClusterPod]) -> tuple[tuple[str, Tier], ...]:
    """Whose pods hold the node's GPUs; a task whose pods differ counts as its most urgent one: it must not be moved."""
    tiers: dict[str, Tier] = {}
    for pod in pods:
        tiers[pod.task] = min(tiers.get(pod.task, pod.work.tier), pod.work.tier, key=lambda tier: tier.rank)
    return tuple(sorted(tiers.items()))


def _used_by_node(pods: Iterable[ClusterPod]) -> Counter[str]:
    used: Counter[str] = Counter()
    for pod in pods:
        if pod.node is not None:
            used[pod.node] += pod.gpus
    return used
