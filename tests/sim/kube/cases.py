"""What any Kubernetes API server must do for the agent, as cases that take official clients.

They hold on the twin and on a real API server alike; nothing here may know which one answers.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from kubernetes import client, watch
from kubernetes.client.exceptions import ApiException

from contract.labels import TASK
from tests.sim.kube.cluster_under_test import ClusterUnderTest

Case = Callable[[ClusterUnderTest], None]
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
JSON_PATCH = "application/json-patch+json"


def refused(call: Callable[..., object], *arguments: object, **options: object) -> ApiException:
    """The error of a call that must fail."""
    with pytest.raises(ApiException) as caught:
        call(*arguments, **options)
    return caught.value


def a_lease(cluster: ClusterUnderTest, holder: str = "agent-1") -> client.V1Lease:
    """A lease that is not stored yet."""
    now = datetime(2026, 11, 30, 8, tzinfo=UTC)
    spec = client.V1LeaseSpec(holder_identity=holder, lease_duration_seconds=15, renew_time=now, acquire_time=now)
    return client.V1Lease(metadata=client.V1ObjectMeta(name="spillway", namespace=cluster.namespace), spec=spec)


def a_budget(cluster: ClusterUnderTest, **bounds: object) -> client.V1PodDisruptionBudget:
    """A budget over the running pod."""
    selector = client.V1LabelSelector(match_labels={TASK: cluster.job})
    spec = client.V1PodDisruptionBudgetSpec(selector=selector, **bounds)
    metadata = client.V1ObjectMeta(name="keep", namespace=cluster.namespace)
    return client.V1PodDisruptionBudget(metadata=metadata, spec=spec)


def list_carries_a_version_and_items_their_identity(cluster: ClusterUnderTest) -> None:
    nodes = cluster.core.list_node()
    assert int(nodes.metadata.resource_version) > 0
    assert len({node.metadata.uid for node in nodes.items}) == len(nodes.items)
    assert all(node.metadata.creation_timestamp.tzinfo for node in nodes.items)
    assert [node.metadata.name for node in nodes.items] == sorted(node.metadata.name for node in nodes.items)


def one_object_is_the_same_alone_and_in_a_list(cluster: ClusterUnderTest) -> None:
    (listed,) = cluster.core.list_node(field_selector=f"metadata.name={cluster.node}").items
    alone = cluster.core.read_node(cluster.node)
    assert (alone.kind, alone.api_version) == ("Node", "v1")
    assert alone.metadata.to_dict() == listed.metadata.to_dict()
    assert alone.spec == listed.spec


def cordon_works_with_each_kind_of_patch(cluster: ClusterUnderTest) -> None:
    for content_type in (MERGE, STRATEGIC):
        assert cluster.patched_node({"spec": {"unschedulable": True}}, content_type).spec.unschedulable is True
        assert not cluster.patched_node({"spec": {"unschedulable": None}}, content_type).spec.unschedulable
    step = {"op": "add", "path": "/spec/unschedulable", "value": True}
    assert cluster.patched_node([step], JSON_PATCH).spec.unschedulable is True


def default_patch_of_the_client_cordons(cluster: ClusterUnderTest) -> None:
    cluster.core.patch_node(cluster.node, {"spec": {"unschedulable": True}})
    assert cluster.core.read_node(cluster.node).spec.unschedulable is True


def label_is_set_and_taken_away(cluster: ClusterUnderTest) -> None:
    before = cluster.core.read_node(cluster.node).metadata.labels
    labelled = cluster.core.patch_node(cluster.node, {"metadata": {"labels": {"spillway.dev/drain": "yes"}}})
    assert labelled.metadata.labels == before | {"spillway.dev/drain": "yes"}
    bare = cluster.core.patch_node(cluster.node, {"metadata": {"labels": {"spillway.dev/drain": None}}})
    assert bare.metadata.labels == before


def annotation_holds_any_text(cluster: ClusterUnderTest) -> None:
    text = '{"why": "idle since 09:00: “drain”"}'
    cluster.core.patch_node(cluster.node, {"metadata": {"annotations": {"spillway.dev/why": text}}})
    assert cluster.core.read_node(cluster.node).metadata.annotations["spillway.dev/why"] == text


def taints_are_replaced_as_a_whole(cluster: ClusterUnderTest) -> None:
    taint = {"key": "spillway.dev/draining", "value": "true", "effect": "NoSchedule"}
    cluster.patched_node({"spec": {"taints": [taint]}}, STRATEGIC)
    (shown,) = cluster.core.read_node(cluster.node).spec.taints
    assert (shown.key, shown.value, shown.effect) == ("spillway.dev/draining", "true", "NoSchedule")
    cluster.patched_node({"spec": {"taints": []}}, STRATEGIC)
    assert not cluster.core.read_node(cluster.node).spec.taints


def every_change_gives_a_new_version(cluster: ClusterUnderTest) -> None:
    first = cluster.core.patch_node(cluster.node, {"metadata": {"annotations": {"a": "1"}}})
    second = cluster.core.patch_node(cluster.node, {"metadata": {"annotations": {"a": "2"}}})
    assert int(second.metadata.resource_version) > int(first.metadata.resource_version)
    assert second.metadata.uid == first.metadata.uid


def patch_with_an_old_version_is_a_conflict(cluster: ClusterUnderTest) -> None:
    old = cluster.core.read_node(cluster.node).metadata.resource_version
    cluster.core.patch_node(cluster.node, {"metadata": {"annotations": {"a": "1"}}})
    stale = {"metadata": {"resourceVersion": old, "annotations": {"a": "2"}}}
    error = refused(cluster.core.patch_node, cluster.node, stale)
    assert error.status == 409
    assert '"reason":"Conflict"' in error.body.replace(" ", "")


def replaced_node_keeps_what_no_client_owns(cluster: ClusterUnderTest) -> None:
    node = cluster.core.read_node(cluster.node)
    node.spec.unschedulable = True
    replaced = cluster.core.replace_node(cluster.node, node)
    assert replaced.spec.unschedulable is True
    assert replaced.status.allocatable == node.status.allocatable
    assert refused(cluster.core.replace_node, cluster.node, node).status == 409


def label_value_that_is_not_one_is_invalid(cluster: ClusterUnderTest) -> None:
    error = refused(cluster.core.patch_node, cluster.node, {"metadata": {"labels": {"a": "not a label!"}}})
    assert error.status == 422
    assert "Invalid" in error.body


def taint_effect_in_another_clouds_spelling_is_invalid(cluster: ClusterUnderTest) -> None:
    """I25: NO_SCHEDULE is EKS' spelling, not Kubernetes'."""
    taint = {"key": "a", "effect": "NO_SCHEDULE"}
    error = refused(cluster.core.patch_node, cluster.node, {"spec": {"taints": [taint]}})
    assert error.status == 422
    assert "Unsupported value" in error.body


def absent_object_is_not_found_with_a_status(cluster: ClusterUnderTest) -> None:
    error = refused(cluster.core.read_node, "ghost")
    assert error.status == 404
    assert 'nodes \\"ghost\\" not found' in error.body
    assert refused(cluster.core.delete_node, "ghost").status == 404
    assert refused(cluster.core.read_namespaced_pod, "ghost", cluster.namespace).status == 404
    assert refused(cluster.coordination.read_namespaced_lease, "ghost", cluster.namespace).status == 404


def kind_that_is_not_served_is_an_error_not_an_empty_list(cluster: ClusterUnderTest) -> None:
    """I38: a kind that is not served must never read as "nothing there"."""
    objects = client.CustomObjectsApi(cluster.core.api_client)
    error = refused(objects.list_cluster_custom_object, "kueue.x-k8s.io", "v1alpha9", "clusterqueues")
    assert error.status == 404


def wrong_token_is_refused(cluster: ClusterUnderTest) -> None:
    configuration = cluster.core.api_client.configuration
    kept = dict(configuration.api_key)
    for token in ({"authorization": "Bearer wrong"}, {}):
        configuration.api_key = token
        assert refused(cluster.core.list_node).status == 401
    configuration.api_key = kept
    cluster.core.list_node()


def pods_are_found_by_label_node_and_phase(cluster: ClusterUnderTest) -> None:
    (pod,) = cluster.core.list_namespaced_pod(cluster.namespace, label_selector=f"{TASK}={cluster.job}").items
    assert pod.metadata.name == cluster.pod
    on_node = cluster.core.list_pod_for_all_namespaces(field_selector=f"spec.nodeName={pod.spec.node_name}").items
    assert cluster.pod in {other.metadata.name for other in on_node}
    running = cluster.core.list_pod_for_all_namespaces(field_selector="status.phase=Running").items
    assert cluster.pod in {other.metadata.name for other in running}
    combined = f"spec.nodeName={pod.spec.node_name},status.phase!=Running"
    others = cluster.core.list_pod_for_all_namespaces(field_selector=combined).items
    assert cluster.pod not in {other.metadata.name for other in others}


def set_based_selectors_are_understood(cluster: ClusterUnderTest) -> None:
    def names(selector: str) -> set[str]:
        items = cluster.core.list_pod_for_all_namespaces(label_selector=selector).items
        return {pod.metadata.name for pod in items}

    assert cluster.pod in names(f"{TASK} in ({cluster.job},other)")
    assert cluster.pod in names(TASK)
    assert cluster.pod not in names(f"!{TASK}")
    assert cluster.pod not in names(f"{TASK} notin ({cluster.job})")
    assert cluster.pod not in names(f"{TASK}!={cluster.job}")


def unknown_field_selector_is_refused(cluster: ClusterUnderTest) -> None:
    error = refused(cluster.core.list_pod_for_all_namespaces, field_selector="spec.mood=good")
    assert error.status == 400
    assert "field label not supported" in error.body


def pages_cover_the_list_once(cluster: ClusterUnderTest) -> None:
    whole = [pod.metadata.name for pod in cluster.core.list_pod_for_all_namespaces().items]
    paged: list[str] = []
    page = cluster.core.list_pod_for_all_namespaces(limit=1)
    while True:
        paged += [pod.metadata.name for pod in page.items]
        if not (token := page.metadata._continue):
            break
        page = cluster.core.list_pod_for_all_namespaces(limit=1, _continue=token)
    assert paged == whole


def watch_tells_what_changes_after_the_list(cluster: ClusterUnderTest) -> None:
    version = cluster.core.list_node().metadata.resource_version
    cluster.core.patch_node(cluster.node, {"metadata": {"annotations": {"seen": "1"}}})
    cluster.core.patch_node(cluster.node, {"metadata": {"annotations": {"seen": "2"}}})
    stream = watch.Watch()
    seen = []
    for event in stream.stream(cluster.core.list_node, resource_version=version, timeout_seconds=5):
        seen.append((event["type"], event["object"].metadata.annotations["seen"]))
        if len(seen) == 2:
            stream.stop()
    assert seen == [("MODIFIED", "1"), ("MODIFIED", "2")]


def watch_from_nothing_starts_with_what_is(cluster: ClusterUnderTest) -> None:
    names = {node.metadata.name for node in cluster.core.list_node().items}
    stream, seen = watch.Watch(), set()
    for event in stream.stream(cluster.core.list_node, timeout_seconds=5):
        assert event["type"] == "ADDED"
        seen.add(event["object"].metadata.name)
        if len(seen) == len(names):
            stream.stop()
    assert seen == names


def lease_is_made_once(cluster: ClusterUnderTest) -> None:
    made = cluster.coordination.create_namespaced_lease(cluster.namespace, a_lease(cluster))
    assert made.spec.holder_identity == "agent-1"
    assert made.metadata.uid
    error = refused(cluster.coordination.create_namespaced_lease, cluster.namespace, a_lease(cluster, "agent-2"))
    assert error.status == 409
    assert "AlreadyExists" in error.body
    kept = cluster.coordination.read_namespaced_lease("spillway", cluster.namespace)
    assert kept.spec.holder_identity == "agent-1"
    assert kept.spec.renew_time == datetime(2026, 11, 30, 8, tzinfo=UTC)


def of_two_who_renew_a_lease_one_wins(cluster: ClusterUnderTest) -> None:
    api = cluster.coordination
    api.create_namespaced_lease(cluster.namespace, a_lease(cluster))
    mine = api.read_namespaced_lease("spillway", cluster.namespace)
    yours = api.read_namespaced_lease("spillway", cluster.namespace)
    mine.spec.holder_identity = "mine"
    yours.spec.holder_identity = "yours"
    api.replace_namespaced_lease("spillway", cluster.namespace, mine)
    error = refused(api.replace_namespaced_lease, "spillway", cluster.namespace, yours)
    assert error.status == 409
    assert "the object has been modified" in error.body
    assert api.read_namespaced_lease("spillway", cluster.namespace).spec.holder_identity == "mine"


def lease_is_not_replaced_without_a_version(cluster: ClusterUnderTest) -> None:
    cluster.coordination.create_namespaced_lease(cluster.namespace, a_lease(cluster))
    replace = cluster.coordination.replace_namespaced_lease
    assert refused(replace, "spillway", cluster.namespace, a_lease(cluster, "thief")).status == 422


def lease_is_patched_listed_and_deleted(cluster: ClusterUnderTest) -> None:
    api = cluster.coordination
    api.create_namespaced_lease(cluster.namespace, a_lease(cluster))
    patched = api.patch_namespaced_lease("spillway", cluster.namespace, {"spec": {"holderIdentity": "agent-9"}})
    assert patched.spec.holder_identity == "agent-9"
    assert patched.spec.lease_duration_seconds == 15
    assert "spillway" in {lease.metadata.name for lease in api.list_namespaced_lease(cluster.namespace).items}
    assert api.list_namespaced_lease("default").items == []
    api.delete_namespaced_lease("spillway", cluster.namespace)
    assert refused(api.read_namespaced_lease, "spillway", cluster.namespace).status == 404


def lease_without_a_length_is_invalid(cluster: ClusterUnderTest) -> None:
    lease = a_lease(cluster)
    lease.spec.lease_duration_seconds = 0
    assert refused(cluster.coordination.create_namespaced_lease, cluster.namespace, lease).status == 422


def eviction_is_held_back_by_a_budget(cluster: ClusterUnderTest) -> None:
    cluster.policy.create_namespaced_pod_disruption_budget(cluster.namespace, a_budget(cluster, min_available=1))
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name=cluster.pod, namespace=cluster.namespace))
    evict = cluster.core.create_namespaced_pod_eviction
    error = refused(evict, cluster.pod, cluster.namespace, eviction)
    assert error.status == 429
    assert "disruption budget" in error.body
    assert cluster.core.read_namespaced_pod(cluster.pod, cluster.namespace).metadata.deletion_timestamp is None
    cluster.policy.delete_namespaced_pod_disruption_budget("keep", cluster.namespace)
    evict(cluster.pod, cluster.namespace, eviction)
    assert cluster.core.read_namespaced_pod(cluster.pod, cluster.namespace).metadata.deletion_timestamp is not None


def eviction_of_an_absent_pod_is_not_found(cluster: ClusterUnderTest) -> None:
    eviction = client.V1Eviction(metadata=client.V1ObjectMeta(name="ghost", namespace=cluster.namespace))
    evict = cluster.core.create_namespaced_pod_eviction
    assert refused(evict, "ghost", cluster.namespace, eviction).status == 404


def budgets_are_listed(cluster: ClusterUnderTest) -> None:
    cluster.policy.create_namespaced_pod_disruption_budget(cluster.namespace, a_budget(cluster, max_unavailable="50%"))
    for listing in (
        cluster.policy.list_namespaced_pod_disruption_budget(cluster.namespace),
        cluster.policy.list_pod_disruption_budget_for_all_namespaces(),
    ):
        (budget,) = [item for item in listing.items if item.metadata.name == "keep"]
        assert budget.spec.max_unavailable == "50%"
    patch = {"spec": {"maxUnavailable": 0}}
    cluster.policy.patch_namespaced_pod_disruption_budget("keep", cluster.namespace, patch)
    kept = cluster.policy.read_namespaced_pod_disruption_budget("keep", cluster.namespace)
    assert (kept.kind, kept.spec.max_unavailable) == ("PodDisruptionBudget", 0)


def deleted_pod_ends_and_its_job_makes_another(cluster: ClusterUnderTest) -> None:
    cluster.core.delete_namespaced_pod(cluster.pod, cluster.namespace, grace_period_seconds=0)
    assert refused(cluster.core.read_namespaced_pod, cluster.pod, cluster.namespace).status == 404


def server_tells_its_version(cluster: ClusterUnderTest) -> None:
    version = client.VersionApi(cluster.core.api_client).get_code()
    assert version.major == "1"
    assert int(version.minor.rstrip("+")) >= 30


CASES: tuple[Case, ...] = (
    list_carries_a_version_and_items_their_identity,
    one_object_is_the_same_alone_and_in_a_list,
    cordon_works_with_each_kind_of_patch,
    default_patch_of_the_client_cordons,
    label_is_set_and_taken_away,
    annotation_holds_any_text,
    taints_are_replaced_as_a_whole,
    every_change_gives_a_new_version,
    patch_with_an_old_version_is_a_conflict,
    replaced_node_keeps_what_no_client_owns,
    label_value_that_is_not_one_is_invalid,
    taint_effect_in_another_clouds_spelling_is_invalid,
    absent_object_is_not_found_with_a_status,
    kind_that_is_not_served_is_an_error_not_an_empty_list,
    wrong_token_is_refused,
    pods_are_found_by_label_node_and_phase,
    set_based_selectors_are_understood,
    unknown_field_selector_is_refused,
    pages_cover_the_list_once,
    watch_tells_what_changes_after_the_list,
    watch_from_nothing_starts_with_what_is,
    lease_is_made_once,
    of_two_who_renew_a_lease_one_wins,
    lease_is_not_replaced_without_a_version,
    lease_is_patched_listed_and_deleted,
    lease_without_a_length_is_invalid,
    eviction_is_held_back_by_a_budget,
    eviction_of_an_absent_pod_is_not_found,
    budgets_are_listed,
    deleted_pod_ends_and_its_job_makes_another,
    server_tells_its_version,
)
