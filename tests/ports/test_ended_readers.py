"""One suite over EndedReader: the official client against the twin and against hand-made objects, and the fake.

What ended is told with its own times; who was told to go, however politely it went, has not succeeded.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from agent.cluster_access import ClusterEndpoint
from agent.core.ended_work import EndedPod, EndedTask, TaskEnd, ended_tasks
from agent.core.readings import PodWork
from agent.errors import NotAuthorised, SignalUnavailable
from agent.ports import EndedReader
from agent.sense.ended_pods import KubernetesEnded
from agent.sense.kubernetes import KubernetesReader
from agent.sense.runtime_watch import RuntimeWatch
from contract import labels
from contract.work import WorkKind
from sim.world.clock import Clock
from sim.world.faults import Fault, FaultKind, Target
from sim.world.twin import Twin
from sim.world.world import World
from tests.fakes.hands import FakeEnded
from tests.ports.kube_objects import Json, Objects, a_pod, reader_of
from tests.sim.builders import a_job, a_spec, a_world
from tests.sim.wire_server import WireServer, serve

STARTED, ENDED = "2026-11-30T08:01:00Z", "2026-11-30T09:31:00Z"


@pytest.fixture(scope="module")
def server() -> Iterator[WireServer]:
    """One socket for the whole file."""
    with serve() as started:
        yield started


def ended_of(server: WireServer, *, path: str = "", token: str = "t") -> KubernetesEnded:
    return KubernetesEnded(
        ClusterEndpoint(name="idc-gpu", url=f"{server.url}{path}", token=lambda: token, timeout_seconds=5)
    )


def an_ended(name: str = "train-0", *, phase: str = "Succeeded", job: str = "train", **metadata: object) -> Json:
    """A v1 Pod that ran for an hour and a half and ended."""
    pod = a_pod(name, node="n-1")
    pod["metadata"] |= {"uid": f"uid-{name}", **metadata}
    if job:
        pod["metadata"]["labels"] = {labels.TASK: job}
        pod["metadata"]["ownerReferences"] = [{"uid": "other"}, {"uid": f"uid-of-{job}", "controller": True}]
    terminated = {"exitCode": 0, "startedAt": STARTED, "finishedAt": ENDED}
    containers = [{"name": "main", "state": {"terminated": terminated}}]
    pod["status"] = {"phase": phase, "startTime": STARTED, "containerStatuses": containers}
    return pod


def read(server: WireServer, *pods: object) -> tuple[EndedPod, ...]:
    server.app = Objects(pods=pods)
    return ended_of(server).read()


def one(server: WireServer, pod: Json) -> EndedPod:
    [found] = read(server, pod)
    return found


def twin_ended(server: WireServer, world: World, cluster: str = "idc-gpu") -> KubernetesEnded:
    server.show(world)
    token = Twin(Clock(world.ground.origin, speed=0), world).tokens[cluster]
    return ended_of(server, path=f"/k8s/{cluster}", token=token)


def twin_reader(server: WireServer, world: World, cluster: str = "idc-gpu") -> KubernetesReader:
    server.show(world)
    token = Twin(Clock(world.ground.origin, speed=0), world).tokens[cluster]
    return reader_of(server, path=f"/k8s/{cluster}", token=token)


# ---- the suite over every implementation ----


@pytest.fixture(params=["twin", "objects", "fake"])
def reader(request: pytest.FixtureRequest, server: WireServer) -> EndedReader:
    """A gang of two pods that ended after an hour and a half, told in three ways."""
    if request.param == "twin":
        world = a_world([a_job("train", gpus=16, duration_s=5400.0)])
        world.advance_to(5430.0)
        return twin_ended(server, world)
    server.app = Objects(pods=[an_ended("train-0"), an_ended("train-1")])
    wired = ended_of(server)
    return wired if request.param == "objects" else FakeEnded(wired.read())


def test_what_ended_is_one_task_with_its_times(reader: EndedReader) -> None:
    pods = reader.read()
    assert len({pod.uid for pod in pods}) == 2
    [task] = ended_tasks(pods, (), datetime(2027, 1, 1, tzinfo=UTC))
    assert (task.task, task.runtime_s, task.key.gpus) == ("research/train", 5400, 16)
    assert task.outcome is TaskEnd.SUCCEEDED


def test_reading_twice_gives_the_same(reader: EndedReader) -> None:
    assert reader.read() == reader.read()


def test_the_fake_fails_as_the_port_says() -> None:
    with pytest.raises(SignalUnavailable):
        FakeEnded(error=SignalUnavailable("no", target="cluster", hint="wait")).read()


# ---- how a pod ended ----


def test_a_pod_says_whose_and_what_it_was(server: WireServer) -> None:
    pod = an_ended()
    pod["metadata"]["labels"] |= {labels.DEPARTMENT: "vision", labels.USER: "anna", labels.KIND: "hpo"}
    found = one(server, pod)
    assert (found.department, found.gpus, found.work) == ("vision", 8, PodWork(kind=WorkKind.HPO, user="anna"))
    assert (found.uid, found.owner, found.succeeded) == ("uid-train-0", "uid-of-train", True)
    assert found.ended_at == datetime(2026, 11, 30, 9, 31, tzinfo=UTC)


def test_a_pod_without_a_job_and_without_labels_stands_for_itself(server: WireServer) -> None:
    found = one(server, an_ended("alone", job=""))
    assert (found.task, found.owner, found.department) == ("research/alone", "uid-alone", "unknown")
    orphan = an_ended("orphan")
    orphan["metadata"]["ownerReferences"] = [{"uid": "other"}]
    assert one(server, orphan).owner == "uid-orphan"


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "Failed"},
        {"phase": "Unknown"},
        {"deletionTimestamp": "2026-11-30T09:31:20Z", "deletionGracePeriodSeconds": 30},
        {"deletionTimestamp": "2026-11-30T09:30:00Z"},
    ],
    ids=["failed", "its node is silent", "heeded SIGTERM", "was deleted first"],
)
def test_who_failed_or_was_told_to_go_has_not_succeeded(server: WireServer, change: dict[str, str]) -> None:
    assert not one(server, an_ended(**change)).succeeded


def test_who_was_preempted_has_not_succeeded(server: WireServer) -> None:
    pod = an_ended()
    pod["status"]["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}]
    assert not one(server, pod).succeeded


def test_a_pod_that_is_swept_after_its_end_has_succeeded(server: WireServer) -> None:
    assert one(server, an_ended(deletionTimestamp=ENDED, deletionGracePeriodSeconds=0)).succeeded
    assert one(server, an_ended(deletionTimestamp="2026-11-30T09:40:00Z")).succeeded


def test_the_last_container_that_ended_ends_a_pod(server: WireServer) -> None:
    pod = an_ended()
    early = {"name": "sidecar", "state": {"terminated": {"exitCode": 0, "finishedAt": "2026-11-30T09:00:00Z"}}}
    pod["status"]["containerStatuses"] += [early, {"name": "odd", "state": None}]
    assert one(server, pod).ended_at == datetime(2026, 11, 30, 9, 31, tzinfo=UTC)


def test_a_pod_whose_node_never_told_the_end_has_none(server: WireServer) -> None:
    pod = an_ended(phase="Failed", deletionTimestamp=ENDED)
    pod["status"] = {"phase": "Failed"}
    found = one(server, pod)
    assert (found.started_at, found.ended_at, found.succeeded) == (None, None, False)


@pytest.mark.parametrize("spoil", ["uid", "creationTimestamp"])
def test_a_pod_that_lacks_what_it_must_have_is_passed_over_and_the_others_are_read(
    server: WireServer, spoil: str
) -> None:
    odd = an_ended("odd")
    del odd["metadata"][spoil]
    assert [pod.uid for pod in read(server, odd, an_ended("good"))] == ["uid-good"]


def test_a_time_without_a_zone_is_passed_over(server: WireServer) -> None:
    odd = an_ended("odd", creationTimestamp="2026-11-30T08:00:00")
    assert [pod.uid for pod in read(server, odd, an_ended("good"))] == ["uid-good"]


def test_pods_without_gpus_are_left_out(server: WireServer) -> None:
    pod = an_ended()
    pod["spec"]["containers"] = [{"name": "sidecar"}]
    assert read(server, pod) == ()


def test_only_ended_pods_are_asked_for(server: WireServer) -> None:
    app = Objects()
    server.app = app
    ended_of(server).read()
    assert app.queries[-1]["fieldSelector"] == "status.phase!=Pending,status.phase!=Running"


# ---- against the twin ----


def test_an_api_server_that_is_down_is_an_error_of_ours(server: WireServer) -> None:
    world = a_world()
    reader = twin_ended(server, world)
    world.arm([Fault(name="down", kind=FaultKind.API_DOWN, target=Target(cluster="idc-gpu"))])
    with pytest.raises(SignalUnavailable):
        reader.read()
    server.show(a_world())
    with pytest.raises(NotAuthorised):
        ended_of(server, path="/k8s/idc-gpu", token="wrong").read()


def test_work_that_is_still_there_is_not_told_as_ended(server: WireServer) -> None:
    world = a_world([a_job("busy", duration_s=9e4)])
    world.advance_to(600.0)
    assert twin_ended(server, world).read() == ()


def learned(server: WireServer, world: World, cluster: str, until_s: float) -> dict[str, tuple[TaskEnd, float]]:
    """What a watch over one cluster of the twin tells, a look every half minute."""
    live, ended, watch = twin_reader(server, world, cluster), twin_ended(server, world, cluster), RuntimeWatch()
    told: dict[str, tuple[TaskEnd, float]] = {}
    while world.now_s < until_s:
        world.advance_to(world.now_s + 30.0)
        now = world.ground.time(world.now_s)
        watch.look(live.read(), ended.read, now)
        for task in watch.seen_work(now).ended:
            told.setdefault(task.task, (task.outcome, task.runtime_s))
    return told


def test_every_job_of_the_twin_is_learned_with_the_time_that_it_ran(server: WireServer) -> None:
    jobs = [a_job(f"job-{n}", duration_s=300.0 + 97 * n, submitted_s=60.0 * n) for n in range(8)]
    told = learned(server, a_world(jobs), "idc-gpu", 4000.0)
    assert {name: outcome for name, (outcome, _) in told.items()} == {
        f"research/{job.name}": TaskEnd.SUCCEEDED for job in jobs
    }
    for job in jobs:
        assert told[f"research/{job.name}"][1] == pytest.approx(job.duration_s, abs=1)


def test_a_job_that_ran_in_a_cloud_is_learned_there(server: WireServer) -> None:
    jobs = [a_job("fill", gpus=16, duration_s=9e4), a_job("away", duration_s=700.0, submitted_s=1.0)]
    world = a_world(jobs)
    world.groups.create(a_spec("ack-a100-spot", desired=1))
    told = learned(server, world, "cloud-gpu-a", 2400.0)
    [(task, (outcome, runtime_s))] = told.items()
    assert (task, outcome) == ("research/away", TaskEnd.SUCCEEDED)
    assert runtime_s == pytest.approx(700, abs=1)


def test_a_job_whose_node_was_taken_away_teaches_nothing_though_it_succeeds_later(server: WireServer) -> None:
    jobs = [a_job("fill", gpus=16, duration_s=9e4), a_job("away", duration_s=1500.0, submitted_s=1.0)]
    world = a_world(jobs)
    group = world.groups.create(a_spec("ack-a100-spot", desired=1))
    world.advance_to(900.0)
    live, ended, watch = (
        twin_reader(server, world, "cloud-gpu-a"),
        twin_ended(server, world, "cloud-gpu-a"),
        RuntimeWatch(),
    )
    told: list[EndedTask] = []
    for step in range(120):
        world.advance_to(900.0 + 30.0 * step)
        if step == 4:
            world.groups.remove_instance(group.standing()[0].instance_id, decrement=False)
        now = world.ground.time(world.now_s)
        watch.look(live.read(), ended.read, now)
        told += [task for task in watch.seen_work(now).ended if task.identity not in {t.identity for t in told}]
    assert [(task.task, task.outcome) for task in told] == [("research/away", TaskEnd.VANISHED)]
