"""Fixtures of the Kubernetes face: a served twin and official clients on its home cluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from kubernetes import client

from tests.sim.builders import a_job, a_spec, a_world
from tests.sim.kube.cluster_under_test import ClusterUnderTest, api_client
from tests.sim.serving import Served, Switchboard, served

HOME = "idc-gpu"


@pytest.fixture
def live(board: Switchboard) -> Iterator[Served]:
    """Two owned nodes: one busy, one idle; one job waits; an ACK group of one node."""
    jobs = [a_job("busy", duration_s=90_000.0), a_job("gang", gpus=16, submitted_s=1.0, gpu_memory_gib=80)]
    world = a_world(jobs)
    world.groups.create(a_spec("ack-a100-spot", desired=1))
    with served(board, world) as twin:
        twin.twin.jump(10.0)
        yield twin


@pytest.fixture
def cluster(live: Served) -> Iterator[ClusterUnderTest]:
    """Clients on the home cluster."""
    pod = live.twin.world.dispatcher.runs[0].pods[0]
    with api_client(f"{live.url}/k8s/{HOME}", live.twin.tokens[HOME]) as api:
        yield ClusterUnderTest(
            core=client.CoreV1Api(api),
            coordination=client.CoordinationV1Api(api),
            policy=client.PolicyV1Api(api),
            node="idc-a100-02",
            namespace=pod.job.department,
            pod=pod.name,
            job=pod.job.name,
        )


@pytest.fixture
def ack(live: Served) -> Iterator[client.CoreV1Api]:
    """A client on the ACK cluster."""
    with api_client(f"{live.url}/k8s/cloud-gpu-a", live.twin.tokens["cloud-gpu-a"]) as api:
        yield client.CoreV1Api(api)
