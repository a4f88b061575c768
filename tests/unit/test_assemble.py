"""Many readings become one picture: what could not be read stays Unknown and is never taken for nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.policy import UseSignal
from agent.core.readings import (
    CloudInstance,
    ClusterNode,
    ClusterPod,
    ClusterReading,
    PodWork,
    PoolBinding,
    PoolReading,
    Readings,
    ReclaimNotice,
    StackReading,
    UseReading,
)
from agent.core.snapshot import (
    LaunchFailure,
    LocalNode,
    LocalState,
    NodePhase,
    PoolState,
    QueuedTask,
    RunningTask,
    Snapshot,
    Unknown,
)
from agent.sense.assemble import assemble
from contract import labels
from contract.units import GiB, Gpus, Nodes, Percent
from contract.work import DataClass, Tier, WorkKind
from tests.builders import NOON, a_catalog

POOL, CLOUD, HOME = "ack-a100-od", "cloud-gpu-a", "idc-gpu"
LONG_AGO = NOON - timedelta(days=90)
MINUTE = timedelta(minutes=1)


def a_node(
    name: str = "n-1", *, gpus: int = 8, ready: bool = True, cordoned: bool = False, pool: str = ""
) -> ClusterNode:
    return ClusterNode(
        name=name,
        labels={labels.POOL: pool} if pool else {},
        is_ready=ready,
        is_cordoned=cordoned,
        gpus=Gpus(gpus),
        instance_id=f"i-{name}" if pool else "",
        created_at=NOON - MINUTE,
    )


def a_pod(
    name: str = "p-1",
    node: str | None = None,
    *,
    gpus: int = 8,
    task: str = "",
    age: timedelta = MINUTE,
    spot: bool = False,
) -> ClusterPod:
    return ClusterPod(
        name=name,
        node=node,
        gpus=Gpus(gpus),
        task=task or name,
        department="research",
        gpu_memory=GiB(0),
        preemptible=spot,
        created_at=NOON - age,
    )


def home(*pods: ClusterPod, nodes: tuple[ClusterNode, ...] | None = None) -> ClusterReading:
    """The owned cluster: one node of 8 GPUs unless said otherwise."""
    return ClusterReading(cluster=HOME, nodes=(a_node(),) if nodes is None else nodes, pods=pods)


def an_instance(name: str, *, leaving: bool = False, launched: datetime = NOON - 5 * MINUTE) -> CloudInstance:
    return CloudInstance(instance_id=f"i-{name}", launched_at=launched, is_protected=False, is_leaving=leaving)


def a_binding(applied: int = 1) -> PoolBinding:
    return PoolBinding(pool=POOL, node_pool_id="np1", scaling_group="asg1", applied=Nodes(applied))


def the_use(use: float | Unknown = 90.0, series: int = 8, *notes: str) -> UseReading:
    return UseReading(use=use if isinstance(use, Unknown) else Percent(use), series=series, dropped=0, notes=notes)


def readings(
    *,
    use: UseReading | None = None,
    local: ClusterReading | Unknown | None = None,
    cloud: ClusterReading | Unknown | None = None,
    pool: PoolReading | Unknown | None = None,
    bindings: Mapping[str, PoolBinding] | Unknown | None = None,
) -> Readings:
    """A round in which everything could be read: one owned node, one empty rented pool of size 1."""
    return Readings(
        taken_at=NOON,
        use=use or the_use(),
        clusters={HOME: local or home(), CLOUD: cloud or ClusterReading(cluster=CLOUD, nodes=(), pods=())},
        stacks=(
            StackReading(
                stack="burst-alicloud",
                configured={POOL: Nodes(1)},
                bindings={POOL: a_binding()} if bindings is None else bindings,
            ),
        ),
        pools={POOL: pool or PoolReading(instances=())},
    )


def picture(given: Readings, signal: UseSignal = UseSignal.UTILIZATION) -> Snapshot:
    return assemble(given, a_catalog(), signal)


def the_pool(given: Readings) -> PoolState:
    return picture(given).pool(POOL)


# ---- notices ----


@pytest.mark.parametrize(
    ("at", "ends"), [(None, NOON + 2 * MINUTE), (NOON + MINUTE, NOON + MINUTE), (NOON - MINUTE, NOON - MINUTE)]
)
def test_a_notice_is_told_with_its_time_or_the_latest_that_it_can_mean(at: datetime | None, ends: datetime) -> None:
    notice = ReclaimNotice(at=at, within=2 * MINUTE)
    node = replace(a_node("n-1", pool=POOL), reclaim=notice)
    given = readings(
        cloud=ClusterReading(cluster=CLOUD, nodes=(node, a_node("n-2", pool=POOL)), pods=()),
        pool=PoolReading(instances=(an_instance("n-1"), an_instance("n-2"))),
    )
    assert {view.name: view.reclaim_at for view in the_pool(given).nodes()} == {"n-1": ends, "n-2": None}


# ---- what is not known ----


def why(value: object) -> str:
    assert isinstance(value, Unknown), value
    return value.why


def test_an_unread_home_cluster_makes_local_state_queue_and_allocation_unknown() -> None:
    snapshot = picture(readings(local=Unknown("connection refused")), UseSignal.ALLOCATION)
    assert why(snapshot.local) == why(snapshot.queue) == why(snapshot.local_use) == "connection refused"


def test_a_home_cluster_that_was_never_asked_is_unknown() -> None:
    snapshot = picture(replace(readings(), clusters={}))
    assert why(snapshot.queue) == "idc-gpu was not read"
    assert why(snapshot.local) == "idc-gpu was not read"


def test_a_home_cluster_without_a_usable_gpu_is_unknown_and_not_idle() -> None:
    nodes = (a_node("down", ready=False), a_node("cordoned", cordoned=True), a_node("no-driver", gpus=0))
    snapshot = picture(readings(local=home(nodes=nodes)), UseSignal.ALLOCATION)
    assert why(snapshot.local) == "no ready node with GPUs in idc-gpu"
    assert why(snapshot.local_use) == "no ready node with GPUs in idc-gpu"


def test_an_unread_cloud_makes_its_pool_unknown_and_keeps_the_sizes() -> None:
    state = the_pool(readings(pool=Unknown("throttled")))
    assert why(state.observed) == "throttled"
    assert (state.configured, state.applied) == (1, 1)


def test_a_pool_that_its_cloud_did_not_answer_for_is_unknown() -> None:
    assert why(the_pool(replace(readings(), pools={})).observed) == f"{POOL} was not read in its cloud"


def test_an_unread_cloud_cluster_makes_its_pools_unknown_though_the_cloud_answered() -> None:
    """Without the cluster nobody can say that an instance is idle."""
    full = PoolReading(instances=(an_instance("n-1"),))
    assert why(the_pool(readings(cloud=Unknown("401"), pool=full)).observed) == "401"
    unasked = replace(readings(pool=full), clusters={HOME: home()})
    assert why(the_pool(unasked).observed) == f"{CLOUD} was not read"


def test_an_unread_state_makes_the_applied_size_unknown_and_the_pool_unsettled() -> None:
    state = the_pool(readings(bindings=Unknown("pulumi timed out")))
    assert why(state.applied) == "pulumi timed out"
    assert not state.is_settled


def test_a_pool_that_the_state_does_not_hold_has_no_applied_size() -> None:
    assert why(the_pool(readings(bindings={})).applied) == f"the state holds no {POOL}"


def test_unknown_use_stays_unknown_with_its_own_reason() -> None:
    assert why(picture(readings(use=the_use(Unknown("NaN"), 0))).local_use) == "NaN"


# ---- how much of the cluster reports ----


@pytest.mark.parametrize(("series", "known"), [(0, False), (6, False), (7, True), (8, True), (9, True)])
def test_use_counts_only_when_four_fifths_of_the_gpus_report(series: int, known: bool) -> None:
    use = picture(readings(use=the_use(20.0, series))).local_use
    assert use == Percent(20.0) if known else why(use) == f"only {series} of 8 local GPUs report their use"


def test_use_is_unknown_while_nobody_can_say_how_many_gpus_should_report() -> None:
    """A site that is cut off shows a few idle cards of many: that is no quiet cluster (R4.8)."""
    use = picture(readings(use=the_use(0.0, 3), local=Unknown("connection refused"))).local_use
    assert "connection refused" in why(use)


def test_cards_of_nodes_that_cannot_work_need_not_report() -> None:
    nodes = (a_node("up"), a_node("down", ready=False), a_node("cordoned", cordoned=True))
    snapshot = picture(readings(use=the_use(50.0, 8), local=home(nodes=nodes)))
    assert snapshot.local_use == Percent(50.0)
    up = LocalNode(name="up", gpus=Gpus(8), free=Gpus(8))
    assert snapshot.local == LocalState(gpus=Gpus(8), gpus_used=Gpus(0), nodes=(up,))


def test_notes_of_the_metrics_reach_the_snapshot() -> None:
    assert picture(readings(use=the_use(50.0, 8, "1 of 9 not believable"))).notes == ("1 of 9 not believable",)


def test_allocation_counts_the_gpus_given_out() -> None:
    snapshot = picture(readings(local=home(a_pod("a", "n-1", gpus=2), a_pod("b", "n-1", gpus=4))), UseSignal.ALLOCATION)
    assert snapshot.local_use == Percent(75.0)


def test_allocation_never_passes_a_hundred() -> None:
    """Pods that are being ended still hold GPUs that others got already."""
    snapshot = picture(readings(local=home(a_pod("a", "n-1"), a_pod("b", "n-1"))), UseSignal.ALLOCATION)
    assert snapshot.local_use == Percent(100.0)


# ---- the queue ----


def test_pods_of_one_task_are_one_gang_from_its_first_pod_on() -> None:
    pods = (a_pod("w-0", task="train", age=MINUTE), a_pod("w-1", task="train", age=9 * MINUTE, gpus=4))
    queue = picture(readings(local=home(*pods))).queue
    assert not isinstance(queue, Unknown)
    [task] = queue
    assert (task.task, task.gpus, task.gpus_per_pod, task.queued_since) == ("train", 12, 8, NOON - 9 * MINUTE)


def test_a_gang_may_be_interrupted_only_if_all_of_it_may() -> None:
    pods = (a_pod("w-0", task="t", spot=True), a_pod("w-1", task="t", spot=False))
    queue = picture(readings(local=home(*pods))).queue
    assert not isinstance(queue, Unknown)
    assert [task.preemptible for task in queue] == [False]


def test_pods_that_run_do_not_queue() -> None:
    assert picture(readings(local=home(a_pod("r", "n-1")))).queue == ()


def test_the_queue_stands_oldest_first_and_ties_by_name() -> None:
    pods = (a_pod("b"), a_pod("c", age=3 * MINUTE), a_pod("a"))
    queue = picture(readings(local=home(*pods))).queue
    assert not isinstance(queue, Unknown)
    assert [task.task for task in queue] == ["c", "a", "b"]


def test_only_the_owned_cluster_has_a_queue() -> None:
    waiting = ClusterReading(cluster=CLOUD, nodes=(), pods=(a_pod("cloud-pod"),))
    assert picture(readings(cloud=waiting)).queue == ()


# ---- rented nodes ----


@pytest.mark.parametrize(
    ("node", "phase"),
    [
        (None, NodePhase.BOOTING),
        (a_node(pool=POOL, ready=False), NodePhase.BOOTING),
        (a_node(pool=POOL, gpus=0), NodePhase.JOINED),
        (a_node(pool=POOL), NodePhase.GPU_READY),
        (a_node(pool=POOL, cordoned=True), NodePhase.DRAINING),
    ],
)
def test_the_phase_of_a_node_follows_from_both_sides(node: ClusterNode | None, phase: NodePhase) -> None:
    """I32: Ready without GPUs is joined, which counts as coming."""
    cluster = ClusterReading(cluster=CLOUD, nodes=(node,) if node else (), pods=())
    [view] = the_pool(readings(cloud=cluster, pool=PoolReading(instances=(an_instance("n-1"),)))).nodes()
    assert view.phase is phase
    assert view.since == NOON - 5 * MINUTE, "the cloud's launch counts, not the joining"
    assert view.name == ("n-1" if node else "i-n-1")


def test_what_the_cloud_is_ending_is_leaving_whatever_the_cluster_shows() -> None:
    cluster = ClusterReading(cluster=CLOUD, nodes=(a_node(pool=POOL),), pods=())
    [view] = the_pool(readings(cloud=cluster, pool=PoolReading(instances=(an_instance("n-1", leaving=True),)))).nodes()
    assert view.phase is NodePhase.LEAVING


def test_a_node_object_without_an_instance_is_no_node() -> None:
    """The cluster forgets a node later than the cloud does."""
    cluster = ClusterReading(cluster=CLOUD, nodes=(a_node(pool=POOL),), pods=())
    assert the_pool(readings(cloud=cluster)).observed == ()


def test_a_node_is_known_by_its_instance_whatever_its_labels_say() -> None:
    """A label can be edited; a busy node must not look like one that boots."""
    cluster = ClusterReading(cluster=CLOUD, nodes=(a_node(pool="ack-other"),), pods=(a_pod("a", "n-1", gpus=2),))
    [view] = the_pool(readings(cloud=cluster, pool=PoolReading(instances=(an_instance("n-1"),)))).nodes()
    assert (view.phase, view.gpus_used) == (NodePhase.GPU_READY, 2)


def test_work_on_a_rented_node_is_counted() -> None:
    pods = (a_pod("a", "n-1", gpus=2), a_pod("b", "n-1", gpus=3), a_pod("c", "elsewhere"))
    cluster = ClusterReading(cluster=CLOUD, nodes=(a_node(pool=POOL),), pods=pods)
    [view] = the_pool(readings(cloud=cluster, pool=PoolReading(instances=(an_instance("n-1"),)))).nodes()
    assert (view.gpus, view.gpus_used, view.is_empty) == (8, 5, False)


def test_a_node_names_the_tasks_on_it_each_with_its_most_urgent_tier() -> None:
    core = replace(a_pod("b", "n-1", task="gang", gpus=2), work=PodWork(tier=Tier.PRODUCTION_CORE))
    other = replace(a_pod("a", "n-1", task="gang", gpus=2), work=PodWork(tier=Tier.RESEARCH))
    pods = (other, core, a_pod("c", "n-1", task="alone", gpus=1))
    cluster = ClusterReading(cluster=CLOUD, nodes=(a_node(pool=POOL),), pods=pods)
    [view] = the_pool(readings(cloud=cluster, pool=PoolReading(instances=(an_instance("n-1"),)))).nodes()
    assert view.tasks == (("alone", Tier.PRODUCTION), ("gang", Tier.PRODUCTION_CORE))


def test_a_launch_failure_is_handed_on() -> None:
    failure = LaunchFailure(code="NoStock", message="sold out", at=NOON)
    assert the_pool(readings(pool=PoolReading(instances=(), failure=failure))).failure == failure
    assert the_pool(readings(pool=Unknown("throttled"))).failure is None


# ---- what pods say of their work ----


def saying(pod: ClusterPod, **said: Any) -> ClusterPod:
    return replace(pod, work=replace(pod.work, **said))


def the_queue(*pods: ClusterPod) -> tuple[QueuedTask, ...]:
    queue = picture(readings(local=home(*pods))).queue
    assert not isinstance(queue, Unknown)
    return queue


def test_what_a_pod_says_of_its_work_is_in_the_queue() -> None:
    pod = saying(
        a_pod(),
        tier=Tier.RESEARCH,
        kind=WorkKind.HPO,
        data=DataClass.LINK_ONLY,
        needs_low_latency=True,
        runtime=MINUTE,
        deadline=NOON,
        user="lin",
    )
    [task] = the_queue(pod)
    assert (task.tier, task.kind, task.data) == (Tier.RESEARCH, WorkKind.HPO, DataClass.LINK_ONLY)
    assert (task.needs_low_latency, task.runtime, task.deadline, task.user) == (True, MINUTE, NOON, "lin")


def test_of_a_gang_that_disagrees_the_strictest_counts_and_nobody_overtakes() -> None:
    pods = (
        saying(a_pod("w-0", task="t"), tier=Tier.PRODUCTION_CORE, deadline=NOON + MINUTE, runtime=MINUTE),
        saying(a_pod("w-1", task="t"), tier=Tier.RESEARCH, data=DataClass.SENSITIVE, runtime=2 * MINUTE, user="lin"),
        saying(a_pod("w-2", task="t"), needs_low_latency=True, kind=WorkKind.PRETRAINING, deadline=NOON),
    )
    [task] = the_queue(*pods)
    assert (task.tier, task.kind, task.data) == (Tier.RESEARCH, WorkKind.PRETRAINING, DataClass.SENSITIVE)
    assert (task.needs_low_latency, task.runtime, task.deadline, task.user) == (True, 2 * MINUTE, NOON, "lin")


def test_what_nobody_understands_is_noted_once_a_task() -> None:
    doubt = "spillway.dev/tier 'prod' means nothing, taken as production"
    pods = (saying(a_pod("w-0", task="r/t"), doubts=(doubt,)), saying(a_pod("w-1", task="r/t"), doubts=(doubt,)))
    assert picture(readings(local=home(*pods))).notes == (f"pod w-0 of r/t: {doubt}",)
    cloud = ClusterReading(cluster=CLOUD, nodes=(), pods=pods)
    assert picture(readings(cloud=cloud)).notes == (), "the owned clusters are where work is submitted"
    assert picture(readings(local=Unknown("401"))).notes == ()


def test_a_flood_of_bad_labels_does_not_fill_the_ledger() -> None:
    pods = (saying(a_pod(f"p-{number}"), doubts=("bad",)) for number in range(50))
    notes = picture(readings(local=home(*pods))).notes
    assert (len(notes), notes[-1]) == (21, "30 other tasks have labels that mean nothing")


# ---- the owned nodes, and what runs there ----


def the_local(*pods: ClusterPod, nodes: tuple[ClusterNode, ...]) -> LocalState:
    local = picture(readings(local=home(*pods, nodes=nodes))).local
    assert isinstance(local, LocalState)
    return local


def test_the_owned_nodes_that_can_work_are_listed_with_what_is_free() -> None:
    nodes = (a_node("a"), a_node("b"), a_node("c", cordoned=True), a_node("d", ready=False), a_node("e", gpus=0))
    local = the_local(a_pod("x", "a", gpus=3), a_pod("y", "b", gpus=9), a_pod("z", "c", gpus=2), nodes=nodes)
    assert [(node.name, node.gpus, node.free) for node in local.nodes] == [("a", 8, 5), ("b", 8, 0)]
    assert [task.task for task in local.running] == ["x", "y", "z"], "work on a cordoned node runs too"


def test_a_gang_runs_from_the_start_of_its_last_pod_and_ends_as_it_said() -> None:
    pods = (
        replace(a_pod("w-0", "a", gpus=4, task="t"), started_at=NOON - 9 * MINUTE),
        replace(a_pod("w-1", "b", gpus=8, task="t"), started_at=NOON - 5 * MINUTE),
        a_pod("w-2", "a", gpus=2, task="t", age=7 * MINUTE),
        a_pod("w-3", task="t"),
    )
    [quiet] = the_local(*pods, nodes=(a_node("a"), a_node("b"))).running
    assert quiet == RunningTask(task="t", nodes=(("a", Gpus(6)), ("b", Gpus(8))), started_at=NOON - 5 * MINUTE)
    [told] = the_local(*(saying(pod, runtime=30 * MINUTE) for pod in pods), nodes=(a_node("a"),)).running
    assert told.ends_at == NOON + 25 * MINUTE


# ---- whatever comes ----

unknowns = st.just(Unknown("no answer"))
maybe_home = st.one_of(
    unknowns,
    st.builds(
        lambda pods, nodes: home(*pods, nodes=tuple(nodes)),
        st.lists(st.builds(a_pod, st.sampled_from("abc"), st.sampled_from([None, "n-1", "gone"])), max_size=4),
        st.lists(st.builds(a_node, st.sampled_from(["n-1", "n-2"]), gpus=st.integers(0, 8)), max_size=3),
    ),
)
maybe_pool = st.one_of(
    unknowns,
    st.builds(lambda names: PoolReading(instances=tuple(map(an_instance, names))), st.sets(st.sampled_from("xyz"))),
)


@settings(deadline=None)
@given(
    use=st.one_of(unknowns, st.floats(0, 100)),
    series=st.integers(0, 30),
    local=maybe_home,
    pool=maybe_pool,
    bindings=st.one_of(unknowns, st.just({}), st.builds(lambda size: {POOL: a_binding(size)}, st.integers(0, 4))),
    signal=st.sampled_from(UseSignal),
)
def test_no_round_raises_and_unknown_in_is_unknown_out(
    use: float | Unknown,
    series: int,
    local: ClusterReading | Unknown,
    pool: PoolReading | Unknown,
    bindings: Mapping[str, PoolBinding] | Unknown,
    signal: UseSignal,
) -> None:
    given = readings(use=the_use(use, series), local=local, pool=pool, bindings=bindings)
    snapshot = picture(given, signal)
    state = snapshot.pool(POOL)
    if isinstance(local, Unknown):
        assert isinstance(snapshot.queue, Unknown)
        assert isinstance(snapshot.local, Unknown)
        assert isinstance(snapshot.local_use, Unknown)
    if isinstance(use, Unknown) and signal is UseSignal.UTILIZATION:
        assert isinstance(snapshot.local_use, Unknown)
    assert isinstance(state.observed, Unknown) is isinstance(pool, Unknown)
    is_applied = not isinstance(bindings, Unknown) and POOL in bindings and bindings[POOL].applied == 1
    assert state.is_settled is (is_applied and state.standing <= 1)
