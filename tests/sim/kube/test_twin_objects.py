"""How the twin's nodes and pods show: Ready without GPUs, waiting pods, moves between clusters."""

from __future__ import annotations

from dataclasses import replace

import pytest
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

from contract.labels import BURST_TAINT, DEPARTMENT, GPU_RESOURCE, POOL, TASK
from sim.world.faults import Fault, FaultKind, Target
from sim.world.nodes import Phase
from tests.sim.kube.cluster_under_test import ClusterUnderTest, api_client
from tests.sim.serving import Served


def gpus_of(node: client.V1Node) -> str | None:
    """Allocatable GPUs as the node tells them."""
    return node.status.allocatable.get(GPU_RESOURCE)  # type: ignore[no-any-return]


def conditions_of(thing: client.V1Node | client.V1Pod) -> dict[str, str]:
    """Conditions by type."""
    return {condition.type: condition.status for condition in thing.status.conditions}


def pods_of(core: client.CoreV1Api, job: str) -> list[client.V1Pod]:
    """The pods of a job in one cluster."""
    items = core.list_pod_for_all_namespaces(label_selector=f"{TASK}={job}").items
    return list(items)


def test_node_appears_when_it_joins_and_its_gpus_later(live: Served, ack: client.CoreV1Api) -> None:
    """I32: Ready long before it is capacity."""
    node = live.twin.world.groups.groups()[0].nodes[0]
    seen = []
    for _ in range(60):
        items = ack.list_node().items
        shown = (len(items), gpus_of(items[0])) if items else (0, None)
        if shown not in seen:
            seen.append(shown)
        live.twin.jump(10.0)
    assert seen == [(0, None), (1, None), (1, "8")]
    assert conditions_of(ack.read_node(node.name))["Ready"] == "True"


def test_rented_node_shows_pool_taints_and_provider_id(live: Served, ack: client.CoreV1Api) -> None:
    live.twin.jump(600.0)
    (node,) = ack.list_node(label_selector=f"{POOL}=ack-a100-spot").items
    assert node.spec.provider_id.startswith("cn-shanghai.i-uf6")
    assert BURST_TAINT in {taint.key for taint in node.spec.taints}
    assert node.metadata.labels["alibabacloud.com/nodepool-id"].startswith("np")
    assert node.status.node_info.kubelet_version.startswith("v1.35")
    joined_s = live.twin.world.groups.groups()[0].nodes[0].entered_s[Phase.JOINED]
    born = live.twin.world.ground.time(joined_s).replace(microsecond=0)
    assert node.metadata.creation_timestamp == born


def test_cordon_shows_as_taint_and_the_client_may_send_it_back(live: Served, cluster: ClusterUnderTest) -> None:
    cluster.core.patch_node(cluster.node, {"spec": {"unschedulable": True}})
    node = cluster.core.read_node(cluster.node)
    assert [taint.key for taint in node.spec.taints] == ["node.kubernetes.io/unschedulable"]
    cluster.core.replace_node(cluster.node, node)
    cluster.core.patch_node(cluster.node, {"spec": {"unschedulable": False}})
    assert cluster.core.read_node(cluster.node).spec.taints is None


def test_waiting_job_is_a_gang_of_pending_pods_at_home(cluster: ClusterUnderTest) -> None:
    pods = pods_of(cluster.core, "gang")
    assert [pod.status.phase for pod in pods] == ["Pending", "Pending"]
    for pod in pods:
        assert pod.metadata.labels[DEPARTMENT] == pod.metadata.namespace == "research"
        assert pod.spec.containers[0].resources.requests == {GPU_RESOURCE: "8"}
        (condition,) = pod.status.conditions
        assert (condition.type, condition.status, condition.reason) == ("PodScheduled", "False", "Unschedulable")
        assert "Insufficient nvidia.com/gpu" in condition.message
        assert pod.metadata.owner_references[0].kind == "Job"
        assert pod.spec.affinity is not None


def test_job_moves_to_the_cluster_where_it_runs(live: Served, cluster: ClusterUnderTest, ack: client.CoreV1Api) -> None:
    group = live.twin.world.groups.groups()[0]
    live.twin.world.groups.set_desired(group.group_id, 2)
    assert pods_of(ack, "gang") == []
    live.twin.jump(600.0)
    assert pods_of(cluster.core, "gang") == []
    pods = pods_of(ack, "gang")
    assert {pod.spec.node_name for pod in pods} == {node.name for node in group.nodes}
    assert all(conditions_of(pod)["Ready"] == "True" for pod in pods)
    assert len({pod.metadata.uid for pod in pods}) == 2


def test_finished_pods_stay_a_minute(live: Served, cluster: ClusterUnderTest) -> None:
    live.twin.world.dispatcher.submit(replace(live.twin.world.dispatcher.runs[0].job, name="short", duration_s=60.0))
    live.twin.jump(61.0)
    (pod,) = pods_of(cluster.core, "short")
    assert pod.status.phase == "Succeeded"
    live.twin.jump(61.0)
    assert pods_of(cluster.core, "short") == []


def test_each_gpu_node_runs_an_exporter_that_is_no_work(cluster: ClusterUnderTest) -> None:
    pods = cluster.core.list_namespaced_pod("gpu-operator").items
    assert {pod.spec.node_name for pod in pods} == {"idc-a100-01", "idc-a100-02"}
    for pod in pods:
        assert pod.metadata.owner_references[0].kind == "DaemonSet"
        assert pod.spec.containers[0].resources is None
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=pods[0].metadata.name))
    cluster.core.create_namespaced_pod_eviction(pods[0].metadata.name, "gpu-operator", eviction)
    assert len(cluster.core.list_namespaced_pod("gpu-operator").items) == 2


def test_draining_node_disappears_when_it_is_gone(live: Served, ack: client.CoreV1Api) -> None:
    live.twin.jump(600.0)
    group = live.twin.world.groups.groups()[0]
    live.twin.world.groups.set_desired(group.group_id, 0)
    assert ack.list_node().items[0].spec.unschedulable is True
    live.twin.jump(90.0)
    assert ack.list_node().items == []
    assert ack.list_namespaced_pod("gpu-operator").items == []


def test_deleted_node_object_stays_away_while_its_machine_costs(live: Served, ack: client.CoreV1Api) -> None:
    live.twin.jump(600.0)
    node = live.twin.world.groups.groups()[0].nodes[0]
    ack.delete_node(node.name)
    live.twin.jump(600.0)
    assert ack.list_node().items == []
    assert live.twin.world.results().nodes_left == 1


def test_coming_reclaim_shows_as_acks_condition(live: Served, ack: client.CoreV1Api) -> None:
    live.twin.jump(600.0)
    assert conditions_of(ack.list_node().items[0])["InstanceExpired"] == "False"
    fault = Fault(name="reclaim", kind=FaultKind.SPOT_RECLAIM, target=Target(pool="ack-a100-spot"), from_s=700.0)
    live.twin.world.arm([fault])
    live.twin.jump(100.0)
    assert conditions_of(ack.list_node().items[0])["InstanceExpired"] == "True"
    node = live.twin.world.groups.groups()[0].nodes[0]
    live.twin.jump(300.0)
    assert node.name not in {item.metadata.name for item in ack.list_node().items}


def test_evicted_pod_ends_after_its_grace_time(live: Served, cluster: ClusterUnderTest) -> None:
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=cluster.pod))
    cluster.core.create_namespaced_pod_eviction(cluster.pod, cluster.namespace, eviction)
    pod = cluster.core.read_namespaced_pod(cluster.pod, cluster.namespace)
    assert pod.metadata.deletion_grace_period_seconds == 30
    live.twin.jump(30.0)
    with pytest.raises(ApiException):
        cluster.core.read_namespaced_pod(cluster.pod, cluster.namespace)
    assert pods_of(cluster.core, cluster.job) != []


def test_budget_counts_what_it_may_lose(cluster: ClusterUnderTest) -> None:
    selector = client.V1LabelSelector(match_labels={DEPARTMENT: "research"})
    spec = client.V1PodDisruptionBudgetSpec(selector=selector, max_unavailable=3)
    budget = client.V1PodDisruptionBudget(metadata=client.V1ObjectMeta(name="loose"), spec=spec)
    made = cluster.policy.create_namespaced_pod_disruption_budget(cluster.namespace, budget)
    shown = made.status
    assert (shown.expected_pods, shown.current_healthy, shown.desired_healthy) == (3, 1, 0)
    assert shown.disruptions_allowed == 1


def test_watch_sees_what_happens_by_itself(live: Served, ack: client.CoreV1Api) -> None:
    version = ack.list_node().metadata.resource_version
    live.twin.jump(600.0)
    stream = watch.Watch()
    seen = []
    for event in stream.stream(ack.list_node, resource_version=version, timeout_seconds=5):
        seen.append((event["type"], gpus_of(event["object"])))
        if len(seen) == 2:
            stream.stop()
    assert seen == [("ADDED", None), ("MODIFIED", "8")]


def test_watch_filters_by_selector_and_namespace(live: Served, cluster: ClusterUnderTest) -> None:
    stream = watch.Watch()
    names = set()
    for event in stream.stream(cluster.core.list_namespaced_pod, "research", label_selector=f"{TASK}=gang"):
        names.add(event["object"].metadata.labels[TASK])
        stream.stop()
    assert names == {"gang"}


def test_watch_from_a_forgotten_version_is_gone(live: Served, cluster: ClusterUnderTest) -> None:
    for number in range(4200):
        live.twin.world.fleet.touch(live.twin.world.fleet.nodes["idc-a100-01" if number % 2 else "idc-a100-02"])
    with pytest.raises(ApiException) as caught:
        list(watch.Watch().stream(cluster.core.list_node, resource_version="1001", timeout_seconds=5))
    assert caught.value.status == 410


def test_clusters_do_not_share_tokens_or_objects(live: Served, ack: client.CoreV1Api) -> None:
    with api_client(f"{live.url}/k8s/cloud-gpu-b", live.twin.tokens["cloud-gpu-a"]) as api:
        with pytest.raises(ApiException) as caught:
            client.CoreV1Api(api).list_node()
        assert caught.value.status == 401
    assert ack.list_node().items == []


@pytest.mark.parametrize(
    ("kind", "mode", "status"),
    [(FaultKind.API_DOWN, "unavailable", 503), (FaultKind.API_THROTTLED, "", 429)],
)
def test_api_server_that_is_down_or_sheds_load_says_so(
    live: Served, cluster: ClusterUnderTest, ack: client.CoreV1Api, kind: FaultKind, mode: str, status: int
) -> None:
    live.twin.world.arm([Fault(name="down", kind=kind, target=Target(cluster="idc-gpu"), mode=mode, until_s=20.0)])
    with pytest.raises(ApiException) as caught:
        cluster.core.list_node()
    assert caught.value.status == status
    ack.list_node()
    live.twin.jump(20.0)
    cluster.core.list_node()
    assert {fired.fault for fired in live.twin.world.ground.faults.log} == {"down"}


def test_api_server_may_cut_the_connection(live: Served, cluster: ClusterUnderTest) -> None:
    target = Target(cluster="idc-gpu")
    live.twin.world.arm([Fault(name="cut", kind=FaultKind.API_DOWN, target=target, mode="reset", count=1)])
    with pytest.raises(Exception, match=r"Connection aborted|Connection broken|reset by peer"):
        cluster.core.list_node()
    cluster.core.list_node()
