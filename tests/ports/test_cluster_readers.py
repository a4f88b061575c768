"""One suite over ClusterReader: the official client against the twin and against hand-made objects, and the fake.

A cluster that cannot be read is an error of ours, never an empty cluster; the traps of GPU counting are
acted out on real objects (tests/data/k8s_nodes) and on objects made by hand after public samples.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from agent.core.readings import ClusterReading
from agent.errors import NotAuthorised, SignalUnavailable, SpillwayError
from agent.ports import ClusterReader
from agent.sense.kubernetes import KubernetesReader, instance_id
from contract import labels
from contract.units import GiB, Gpus
from contract.work import DataClass, Tier
from sim.world.clock import Clock
from sim.world.faults import Fault, FaultKind, Target
from sim.world.twin import Twin
from sim.world.world import World
from tests.fakes.hands import FakeCluster
from tests.ports.kube_objects import CREATED, Json, Objects, a_node, a_pod, one_node, one_pod, read, reader_of
from tests.sim.builders import a_job, a_spec, a_world
from tests.sim.wire_server import WireServer, serve

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "k8s_nodes"
EVALUATION = Path(__file__).resolve().parents[3] / "shared" / "data" / "k8s_nodes"


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One socket for the whole file."""
    with serve() as started:
        yield started


# ---- the suite over every implementation ----


def a_world_at_work() -> World:
    """Two owned nodes, one of them at work; a gang waits."""
    jobs = [a_job("busy", duration_s=90_000.0), a_job("gang", gpus=16, submitted_s=1.0, gpu_memory_gib=80)]
    world = a_world(jobs)
    world.groups.create(a_spec("ack-a100-spot", desired=1))
    world.advance_to(900.0)
    return world


@pytest.fixture(params=["twin", "objects", "fake"])
def reader(request: pytest.FixtureRequest, server: WireServer) -> ClusterReader:
    """The same small cluster, told in three ways."""
    if request.param == "twin":
        world = a_world_at_work()
        server.show(world)
        token = token_of(world, "idc-gpu")
        return reader_of(server, path="/k8s/idc-gpu", token=token)
    busy = a_pod("busy-0", node="idc-a100-01") | {"status": {"phase": "Running"}}
    server.app = Objects(
        nodes=[a_node("idc-a100-01"), a_node("idc-a100-02")], pods=[busy, a_pod("gang-0"), a_pod("gang-1")]
    )
    wired = reader_of(server)
    return wired if request.param == "objects" else FakeCluster(wired.read())


def token_of(world: World, cluster: str) -> str:
    """The twin's tokens follow from its seed."""
    return Twin(Clock(world.ground.origin, speed=0), world).tokens[cluster]


def test_the_nodes_are_told_with_their_gpus(reader: ClusterReader) -> None:
    reading = reader.read()
    assert reading.cluster == "idc-gpu"
    nodes = {node.name: (node.is_ready, node.is_cordoned, node.gpus) for node in reading.nodes}
    assert nodes == {"idc-a100-01": (True, False, 8), "idc-a100-02": (True, False, 8)}


def test_pods_that_ask_for_gpus_are_told_waiting_or_placed(reader: ClusterReader) -> None:
    pods = reader.read().pods
    assert sorted(pod.node or "waits" for pod in pods) == ["idc-a100-01", "waits", "waits"]
    assert {pod.gpus for pod in pods} == {8}
    assert all(pod.created_at.tzinfo for pod in pods)


def test_reading_twice_gives_the_same(reader: ClusterReader) -> None:
    assert reader.read() == reader.read()


@pytest.mark.parametrize("error_type", [SignalUnavailable, NotAuthorised])
def test_the_fake_fails_as_the_port_says(error_type: type[SpillwayError]) -> None:
    error = error_type("no", target="cluster", hint="wait")
    with pytest.raises(error_type):
        FakeCluster(ClusterReading(cluster="c", nodes=(), pods=()), error).read()


# ---- against the twin ----


def twin_reader(server: WireServer, world: World, cluster: str) -> KubernetesReader:
    server.show(world)
    return reader_of(server, path=f"/k8s/{cluster}", token=token_of(world, cluster))


@pytest.mark.parametrize(("pool", "cluster"), [("ack-a100-spot", "cloud-gpu-a"), ("eks-h100", "cloud-gpu-b")])
def test_a_rented_node_is_matched_with_its_machine_on_both_clouds(server: WireServer, pool: str, cluster: str) -> None:
    world = a_world()
    group = world.groups.create(a_spec(pool, desired=2))
    world.advance_to(1200.0)
    nodes = twin_reader(server, world, cluster).read().nodes
    assert {node.instance_id for node in nodes} == {node.instance_id for node in group.standing()}
    assert {node.labels[labels.POOL] for node in nodes} == {pool}
    assert {node.gpus for node in nodes} == {8}


def test_a_node_that_is_ready_without_gpus_says_so(server: WireServer) -> None:
    """I32: joined, and the driver is not up yet."""
    world = a_world()
    world.arm([Fault(name="late", kind=FaultKind.GPU_LATE, delay_s=240.0)])
    world.groups.create(a_spec("eks-h100", desired=1))
    reader = twin_reader(server, world, "cloud-gpu-b")
    seen = []
    for at_s in range(0, 1500, 30):
        world.advance_to(float(at_s))
        seen += [(node.is_ready, int(node.gpus)) for node in reader.read().nodes]
    assert seen == sorted(seen)
    assert (True, 0) in seen
    assert seen[-1] == (True, 8)


def test_jobs_of_the_twin_keep_what_they_need(server: WireServer) -> None:
    job = a_job("big", gpus=16, gpu_memory_gib=80, department="vision", is_preemptible=True)
    world = a_world([a_job("fill", gpus=16, duration_s=9e4), job])
    world.advance_to(60.0)
    pods = [pod for pod in twin_reader(server, world, "idc-gpu").read().pods if pod.node is None]
    assert [(pod.gpus, pod.department, pod.gpu_memory, pod.preemptible) for pod in pods] == [
        (8, "vision", 80, True)
    ] * 2
    assert len({pod.task for pod in pods}) == 1


@pytest.mark.parametrize("kind", [FaultKind.API_DOWN, FaultKind.API_THROTTLED])
def test_an_api_server_that_is_down_or_tired_is_no_empty_cluster(server: WireServer, kind: FaultKind) -> None:
    world = a_world_at_work()
    reader = twin_reader(server, world, "idc-gpu")
    world.arm([Fault(name="down", kind=kind, target=Target(cluster="idc-gpu"))])
    with pytest.raises(SignalUnavailable):
        reader.read()


def test_a_wrong_token_is_told_apart(server: WireServer) -> None:
    server.show(a_world_at_work())
    with pytest.raises(NotAuthorised, match="answered 401"):
        reader_of(server, path="/k8s/idc-gpu", token="wrong").read()


# ---- counting GPUs ----


def sample(name: str, folder: Path = SAMPLES) -> Json:
    found: Json = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    found["metadata"].setdefault("creationTimestamp", CREATED)
    return found


@pytest.mark.parametrize(
    ("name", "gpus"), [("onprem_t4_2gpu", 2), ("onprem_a100_mig_4_instances", 0)], ids=["whole cards", "MIG instances"]
)
def test_real_nodes_count_the_cards_that_can_be_given_out_whole(server: WireServer, name: str, gpus: int) -> None:
    node = one_node(server, sample(name))
    assert (node.gpus, node.is_ready) == (gpus, True)
    assert node.created_at.tzinfo is not None


@pytest.mark.parametrize("name", ["mig_1g5gb_pod", "runai_fractional_pod"])
def test_real_pods_on_part_of_a_card_ask_for_no_whole_one(server: WireServer, name: str) -> None:
    assert read(server, Objects(pods=[sample(name)])).pods == ()


@pytest.mark.parametrize(
    ("gpus", "counted"),
    [
        ("8", 8),
        (8, 8),
        ("0", 0),
        (None, 0),
        ("500m", 0),
        ("-1", 0),
        ("1e3", 0),
        ("", 0),
        ("many", 0),
        ([], 0),
        (True, 0),
    ],
)
def test_what_is_no_whole_number_of_gpus_counts_as_none(server: WireServer, gpus: object, counted: int) -> None:
    assert one_node(server, a_node(gpus=gpus)).gpus == counted


def test_a_node_whose_labels_promise_a_gpu_that_is_not_there_has_none(server: WireServer) -> None:
    """The device plugin never came up: labels are no GPUs (after bottlerocket-os/bottlerocket#4087)."""
    node = a_node(gpus=None)
    node["metadata"]["labels"] = {"karpenter.k8s.aws/instance-gpu-count": "1", "nvidia.com/gpu.count": "1"}
    assert one_node(server, node).gpus == 0


@pytest.mark.parametrize(
    ("gpus", "cards", "counted"),
    [
        *(("10", "1", 1), ("40", "4", 4), ("8", "8", 8), ("6", "8", 6)),
        *(("0", "1", 0), (None, "1", 0), ("8", "0", 8), ("8", "many", 8), ("8", "", 8)),
    ],
)
def test_shares_of_a_card_are_no_cards(server: WireServer, gpus: object, cards: str, counted: int) -> None:
    """HAMi shows one card as ten: the count of cards wins. A card that cannot be given out is none (I32)."""
    node = a_node(gpus=gpus)
    node["metadata"]["labels"] = {labels.PHYSICAL_GPUS: cards}
    assert one_node(server, node).gpus == counted


@pytest.mark.parametrize(("ready", "is_ready"), [("True", True), ("False", False), ("Unknown", False), ("true", False)])
def test_only_a_ready_node_is_ready(server: WireServer, ready: str, is_ready: bool) -> None:
    assert one_node(server, a_node(ready=ready)).is_ready is is_ready


def test_a_node_without_conditions_is_not_ready(server: WireServer) -> None:
    node = a_node()
    node["status"] = {"conditions": None, "allocatable": None}
    found = one_node(server, node)
    assert (found.is_ready, found.gpus) == (False, 0)


def test_a_cordoned_node_is_seen(server: WireServer) -> None:
    assert one_node(server, a_node(unschedulable=True)).is_cordoned
    assert not one_node(server, a_node()).is_cordoned


@pytest.mark.parametrize(
    ("provider", "own"),
    [
        ("aws:///us-east-1a/i-0123456789abcdef0", "i-0123456789abcdef0"),
        ("cn-shanghai.i-uf6abcdefghijklmnopq", "i-uf6abcdefghijklmnopq"),
        ("onprem://idc/idc-a100-01", "idc-a100-01"),
        ("", ""),
    ],
)
def test_the_machine_is_found_in_either_clouds_spelling(server: WireServer, provider: str, own: str) -> None:
    assert instance_id(provider) == own
    assert one_node(server, a_node(provider=provider)).instance_id == own


# ---- what pods want ----


def containers(*gpus: str) -> dict[str, Any]:
    return {"containers": [{"resources": {"requests": {"nvidia.com/gpu": count}}} for count in gpus]}


def test_containers_add_up_and_limits_count_once(server: WireServer) -> None:
    assert one_pod(server, a_pod(**containers("2", "1"))).gpus == 3
    both: dict[str, Any] = {
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": "4"}, "requests": {"nvidia.com/gpu": "4"}}}]
    }
    assert one_pod(server, a_pod(**both)).gpus == 4


@pytest.mark.parametrize("pod", [a_pod(gpus="0"), a_pod(containers=[]), a_pod(containers=[{"name": "sidecar"}])])
def test_pods_without_gpus_are_left_out(server: WireServer, pod: Json) -> None:
    assert read(server, Objects(pods=[pod])).pods == ()


def test_pods_of_one_job_are_one_task_and_a_lone_pod_is_its_own(server: WireServer) -> None:
    gang = [a_pod(f"w-{number}") for number in range(2)]
    for pod in gang:
        pod["metadata"]["labels"] = {labels.TASK: "train", labels.DEPARTMENT: "vision"}
    tasks = [(pod.task, pod.department) for pod in read(server, Objects(pods=[*gang, a_pod("alone")])).pods]
    assert tasks[0] == tasks[1] != tasks[2]
    assert "train" in tasks[0][0]
    assert "alone" in tasks[2][0]
    assert (tasks[0][1], tasks[2][1]) == ("vision", "unknown")


def test_jobs_of_one_name_in_two_namespaces_are_two_tasks(server: WireServer) -> None:
    """Two departments call their job 'train': that is no gang that must lie in one pool."""
    pods = [a_pod("w-0", namespace="vision"), a_pod("w-0", namespace="speech")]
    for pod in pods:
        pod["metadata"]["labels"] = {labels.TASK: "train"}
    assert len({pod.task for pod in read(server, Objects(pods=pods)).pods}) == 2


@pytest.mark.parametrize(
    ("tolerations", "may"),
    [
        ([{"key": labels.PREEMPTIBLE_TAINT, "operator": "Exists"}], True),
        ([{"operator": "Exists"}], True),
        ([{"key": labels.BURST_TAINT, "operator": "Exists"}], False),
        ([], False),
        (None, False),
    ],
)
def test_only_who_tolerates_spot_may_be_interrupted(server: WireServer, tolerations: object, may: bool) -> None:
    assert one_pod(server, a_pod(tolerations=tolerations)).preemptible is may


def affinity(*terms: Sequence[tuple[str, str, object]]) -> Json:
    def expressions(term: Sequence[tuple[str, str, object]]) -> Json:
        return {
            "matchExpressions": [{"key": key, "operator": operator, "values": values} for key, operator, values in term]
        }

    required = {"nodeSelectorTerms": [expressions(term) for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


GFD, OWN = labels.GPU_MEMORY_MIB, labels.GPU_MEMORY


@pytest.mark.parametrize(
    ("spec", "gib"),
    [
        ({}, 0),
        (affinity([(GFD, "Gt", ["40959"])]), 40),
        (affinity([(GFD, "Gt", ["81919"])]), 80),
        (affinity([(OWN, "Gt", ["79"])]), 80),
        (affinity([(GFD, "Gt", ["23000"]), (OWN, "Gt", ["39"])]), 40),
        (affinity([(OWN, "Gt", ["79"])], [(OWN, "Gt", ["39"])]), 40),
        (affinity([(OWN, "Gt", ["79"])], [("zone", "In", ["a"])]), 0),
        (affinity([(OWN, "In", ["80"])]), 0),
        (affinity([(OWN, "Gt", ["lots"])]), 0),
        (affinity([(OWN, "Gt", None)]), 0),
    ],
)
def test_the_least_memory_of_a_card_is_read_from_the_affinity(server: WireServer, spec: Json, gib: int) -> None:
    assert one_pod(server, a_pod(**spec)).gpu_memory == GiB(gib)


@pytest.mark.parametrize(
    ("spec", "wants"),
    [
        ({}, ()),
        ({"nodeSelector": {labels.GPU_MODEL: "H100", "disk": "ssd"}}, ((labels.GPU_MODEL, ("H100",)),)),
        (affinity([(labels.GPU_MODEL, "In", ["H100", "H200"])]), ((labels.GPU_MODEL, ("H100", "H200")),)),
        (affinity([(labels.GPU_MODEL, "NotIn", ["T4"])]), ()),
        (affinity([(labels.GPU_MODEL, "In", ["H100"])], [(labels.GPU_MODEL, "In", ["A100"])]), ()),
        (affinity([("topology.kubernetes.io/zone", "In", ["a"])]), ()),
    ],
)
def test_the_labels_of_ours_that_a_pod_insists_on_are_kept(server: WireServer, spec: Json, wants: object) -> None:
    assert one_pod(server, a_pod(**spec)).wants == wants


def test_what_a_pod_says_of_its_work_is_read_from_labels_and_annotations(server: WireServer) -> None:
    pod = a_pod(node="n-1")
    pod["metadata"]["labels"] = {labels.TIER: "research", labels.DATA_CLASS: "secret"}
    pod["metadata"]["annotations"] = {labels.RUNTIME: "2h"}
    pod["status"]["startTime"] = "2026-11-30T09:00:00Z"
    found = one_pod(server, pod)
    assert (found.work.tier, found.work.data) == (Tier.RESEARCH, DataClass.SENSITIVE)
    assert (found.work.runtime, len(found.work.doubts)) == (timedelta(hours=2), 1)
    assert found.started_at == datetime(2026, 11, 30, 9, tzinfo=UTC)
    assert one_pod(server, a_pod()).started_at is None


# ---- pages ----


def test_pages_are_followed_to_the_end(server: WireServer) -> None:
    app = Objects(
        nodes=[a_node(f"n-{number}") for number in range(7)], pods=[a_pod(f"p-{n}") for n in range(5)], page=3
    )
    reading = read(server, app)
    assert [node.name for node in reading.nodes] == [f"n-{number}" for number in range(7)]
    assert len(reading.pods) == 5
    assert len(app.queries) == 3 + 2


def test_ended_pods_are_not_even_asked_for(server: WireServer) -> None:
    app = Objects()
    read(server, app)
    assert app.queries[-1]["fieldSelector"] == "status.phase!=Succeeded,status.phase!=Failed"


# ---- samples for evaluation only ----

EVALUATED = {
    "ack_gn5i_p4_cordoned_idle": (1, True, "i-00000000000000000000"),
    "ack_gn7i_a10_hami_10_shares_1_gpu": (1, False, ""),
    "ack_p100_v1_9": (1, False, ""),
    "eks_g4dn_2xlarge_gpu_resource_missing": (0, False, "i-00000000000000000"),
    "eks_g5_xlarge_karpenter_spot_tainted": (1, False, "i-00000000000000000"),
    "eks_p3_2xlarge_managed_nodegroup": (1, False, "i-00000000000000000"),
    "eks_p5_48xlarge_h100": (8, False, "i-00000000000000000"),
}


@pytest.mark.evaluation
@pytest.mark.parametrize("name", sorted(EVALUATED))
def test_samples_of_public_clusters_are_read(server: WireServer, name: str) -> None:
    if not (EVALUATION / f"{name}.json").is_file():
        pytest.skip(f"{EVALUATION / name}.json is not here: evaluation data that we may not ship")
    node = one_node(server, sample(name, EVALUATION))
    assert (node.gpus, node.is_cordoned, node.instance_id) == EVALUATED[name]
    assert node.created_at == datetime(2026, 11, 30, 8, tzinfo=UTC)
    assert node.gpus == Gpus(EVALUATED[name][0])
