"""The shipped decision on an in-process world, without Pulumi, cluster or cloud APIs: hours in a second.

Used for the comparison in the demo's report: the same trace, world and seed under another policy.
Sizes take effect at once and shrinks name their nodes, as the real path ends up doing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from agent.core.decide import decide, remember_attempt
from agent.core.decision import Action, Decision
from agent.core.memory import Memory
from agent.core.policy import Policy
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
from contract.units import GiB, Gpus, Nodes, Percent
from sim.world.group_spec import Group, GroupSpec
from sim.world.nodes import Node, Phase, Taint
from sim.world.refusals import CloudRefusal
from sim.world.results import Results
from sim.world.workload import Job, RunState
from sim.world.world import World

_PHASES = {
    Phase.ORDERED: NodePhase.BOOTING,
    Phase.BOOTING: NodePhase.BOOTING,
    Phase.JOINED: NodePhase.JOINED,
    Phase.GPU_READY: NodePhase.GPU_READY,
}
# A run that has not come to rest after this long is reported as it stands.
_LONGEST = timedelta(hours=24)


def burst_at_once(policy: Policy) -> Policy:
    """The same policy without patience: any queued task that does not fit rents a step at the next sample.

    Steps, placement and the rule for giving back are the shipped ones, so that the difference is what
    waiting saves. It packs tasks onto nodes: the burst-at-once of the literature, which rents for each
    task alone, costs more.
    """
    return replace(
        policy,
        queue_pressure=replace(
            policy.queue_pressure,
            local_use_at_least=Percent(0.0),
            hold_for=policy.sampling.every,
            queued_tasks_at_least=1,
        ),
        cool_down=replace(policy.cool_down, after_grow=timedelta(0)),
    )


def burst_exactly(policy: Policy) -> Policy:
    """Burst at once, and only the nodes that the queue needs at that sample: no smallest step."""
    hasty = burst_at_once(policy)
    exact = replace(hasty.queue_pressure, min_step=Nodes(1), max_step=policy.limits.max_cloud_nodes)
    return replace(hasty, queue_pressure=exact)


def rehearse(catalog: Catalog, jobs: Sequence[Job], policy: Policy, seed: int) -> Results:
    """Run a whole trace until every job has ended and every rented node is gone."""
    world = World(catalog, jobs, seed=seed)
    groups = {row.pool: world.groups.create(group_spec(row)) for row in catalog.cloud_pools()}
    memory, at, every = Memory(), 0.0, policy.sampling.every.total_seconds()
    while at < _LONGEST.total_seconds():
        at += every
        world.advance_to(at)
        decision, memory = decide(world_snapshot(world, groups), policy, memory)
        if decision.action is not Action.HOLD:
            memory = remember_attempt(memory, decision, policy)
            _apply(decision, world, groups)
        if world.is_done and not any(group.present() for group in groups.values()):
            break
    return world.results()


def _apply(decision: Decision, world: World, groups: dict[str, Group]) -> None:
    for change in decision.changes:
        group = groups[change.pool]
        for victim in change.victims:
            world.groups.remove_instance(victim, decrement=True)
        if not change.victims:
            try:
                world.groups.set_desired(group.group_id, int(change.after))
            except CloudRefusal:
                # The order stays unfilled, and the next snapshot shows it: as with the real cloud.
                continue


def group_spec(row: PoolRow) -> GroupSpec:
    """The empty group that the Pulumi program would build for a row."""
    return GroupSpec(
        provider=row.provider,
        cluster=row.cluster,
        name=row.pool,
        region=row.region,
        zones=row.zones,
        instance_types=row.instance_types,
        is_spot=row.is_preemptible,
        minimum=0,
        maximum=int(row.quota),
        desired=0,
        labels=row.node_labels(),
        taints=tuple(Taint(key, value, effect) for key, value, effect in row.node_taints()),
    )


def world_snapshot(world: World, groups: dict[str, Group]) -> Snapshot:
    """What an agent that sees everything would see of a world; configured and applied are the groups' sizes."""
    catalog = world.ground.catalog
    local = [node for node in world.fleet.nodes.values() if node.is_local and node.phase is Phase.GPU_READY]
    gpus = sum(node.machine.gpus for node in local)
    used = sum(node.machine.gpus - node.free for node in local)
    return Snapshot(
        taken_at=world.ground.time(world.now_s),
        catalog=catalog,
        local_use=Percent(100.0 * used / gpus) if gpus else Unknown("no local GPU"),
        local=LocalState(
            gpus=Gpus(gpus),
            gpus_used=Gpus(used),
            nodes=tuple(
                LocalNode(name=node.name, gpus=Gpus(node.machine.gpus), free=Gpus(node.free)) for node in local
            ),
            running=_running(world, {node.name for node in local}),
        ),
        queue=tuple(_task(world, run.job) for run in world.dispatcher.queue),
        pools=tuple(_pool(world, pool, group) for pool, group in groups.items()),
    )


def _running(world: World, local: set[str]) -> tuple[RunningTask, ...]:
    """What runs at home; nobody tells for how long."""
    runs = (run for run in world.dispatcher.runs if run.state is RunState.RUNNING and run.started_s is not None)
    tasks = (
        RunningTask(
            task=run.job.name,
            nodes=tuple((pod.node.name, Gpus(pod.gpus)) for pod in run.pods if pod.node and pod.node.name in local),
            started_at=world.ground.time(run.started_s or 0.0),
        )
        for run in runs
    )
    return tuple(task for task in tasks if task.nodes)


def _task(world: World, job: Job) -> QueuedTask:
    return QueuedTask(
        task=job.name,
        department=job.department,
        gpus=Gpus(job.gpus),
        gpus_per_pod=Gpus(max(job.pod_sizes())),
        gpu_memory=GiB(job.gpu_memory_gib),
        preemptible=job.is_preemptible,
        queued_since=world.ground.time(job.submitted_s),
        pods=len(job.pod_sizes()),
    )


def _pool(world: World, pool: str, group: Group) -> PoolState:
    size = Nodes(group.desired)
    nodes = tuple(_node(world, node) for node in group.present())
    return PoolState(pool=pool, stack="rehearsal", configured=size, applied=size, observed=nodes)


def _node(world: World, node: Node) -> NodeView:
    ready = node.phase is Phase.GPU_READY
    return NodeView(
        name=node.name,
        pool=node.row.pool,
        phase=NodePhase.LEAVING if node.is_leaving else _PHASES.get(node.phase, NodePhase.DRAINING),
        since=world.ground.time(node.ordered_s),
        gpus=Gpus(node.machine.gpus if ready else 0),
        gpus_used=Gpus(node.machine.gpus - node.free if ready else 0),
        instance_id=node.instance_id,
        reclaim_at=None if node.reclaim_s is None else world.ground.time(node.reclaim_s),
    )
