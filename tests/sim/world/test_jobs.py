"""Jobs: where they go, whole or not at all, and what they lose."""

from __future__ import annotations

import pytest

from contract.labels import TaintEffect
from sim.world.group_spec import Group
from sim.world.nodes import LossCause, NodeEdit, Phase, Taint
from sim.world.workload import Job, RunState
from sim.world.world import World
from tests.sim.builders import a_job, a_spec, a_world


def states(world: World) -> list[RunState]:
    """Where each job stands, in the order of submission."""
    return [run.state for run in world.dispatcher.runs]


def places(world: World) -> dict[str, tuple[str, ...]]:
    """The pools of each job that runs or ran."""
    return {run.job.name: run.pools for run in world.dispatcher.runs}


def a_cloud_world(pool: str, *jobs: Job, nodes: int = 1) -> tuple[World, Group]:
    """No owned node; a group whose nodes are ready before the jobs come."""
    world = a_world(local_nodes=0)
    group = world.groups.create(a_spec(pool, desired=nodes))
    world.advance_to(1000.0)
    for job in jobs:
        world.dispatcher.submit(job)
    return world, group


def test_job_runs_its_time_and_ends() -> None:
    world = a_world([a_job(submitted_s=10.0, duration_s=90.0)])
    world.advance_to(99.0)
    assert states(world) == [RunState.RUNNING]
    world.advance_to(100.0)
    assert states(world) == [RunState.FINISHED]
    assert world.is_done


def test_world_is_not_done_before_the_last_submission() -> None:
    world = a_world([a_job(duration_s=1.0), a_job("late", submitted_s=500.0, duration_s=1.0)])
    world.advance_to(100.0)
    assert not world.is_done
    world.advance_to(501.0)
    assert world.is_done


@pytest.mark.parametrize(("gpus", "sizes"), [(1, (1,)), (8, (8,)), (12, (8, 4)), (24, (8, 8, 8))])
def test_job_is_split_into_pods_of_eight(gpus: int, sizes: tuple[int, ...]) -> None:
    assert a_job(gpus=gpus).pod_sizes() == sizes


def test_gang_waits_until_all_of_it_fits() -> None:
    world = a_world([a_job("first", gpus=8, duration_s=100.0), a_job("gang", gpus=16)])
    world.advance_to(50.0)
    gang = world.dispatcher.runs[1]
    assert states(world) == [RunState.RUNNING, RunState.QUEUED]
    assert all(pod.node is None for pod in gang.pods)
    world.advance_to(100.0)
    assert states(world) == [RunState.FINISHED, RunState.RUNNING]
    assert gang.wait_s == 100.0


def test_gang_does_not_spread_over_clusters() -> None:
    world = a_world([a_job("gang", gpus=24)], local_nodes=2)
    group = world.groups.create(a_spec(desired=1))
    world.advance_to(2000.0)
    assert world.dispatcher.runs[0].state is RunState.QUEUED
    world.groups.set_desired(group.group_id, 3)
    world.advance_to(4000.0)
    assert places(world)["gang"] == ("ack-a100",)


def test_younger_job_that_fits_is_not_held_back() -> None:
    world = a_world([a_job("hog", gpus=8, duration_s=1000.0), a_job("gang", gpus=16), a_job("small", gpus=1)])
    world.advance_to(1.0)
    assert states(world) == [RunState.RUNNING, RunState.QUEUED, RunState.RUNNING]


def test_older_of_two_that_fit_comes_first() -> None:
    jobs = [a_job("hog", gpus=16, duration_s=100.0)] + [a_job(f"j-{n}", gpus=9) for n in range(2)]
    world = a_world(jobs)
    world.advance_to(100.0)
    assert states(world)[1:] == [RunState.RUNNING, RunState.QUEUED]


def test_owned_nodes_come_first_then_spot_then_on_demand() -> None:
    world = a_world(local_nodes=1)
    for pool in ("ack-a100", "ack-a100-spot"):
        world.groups.create(a_spec(pool, desired=1))
    world.advance_to(1000.0)
    for number in range(3):
        world.dispatcher.submit(a_job(f"job-{number}", duration_s=9000.0))
    assert list(places(world).values()) == [("idc-a100",), ("ack-a100-spot",), ("ack-a100",)]


def test_job_that_must_not_be_interrupted_never_lands_on_spot() -> None:
    world, _ = a_cloud_world("ack-a100-spot", a_job("core", is_preemptible=False), a_job("soft"))
    assert places(world) == {"core": (), "soft": ("ack-a100-spot",)}


def test_memory_of_the_card_must_suffice() -> None:
    world, _ = a_cloud_world("eks-l4-spot", a_job("big", gpus=1, gpu_memory_gib=80), a_job("small", gpus=1))
    assert places(world) == {"big": (), "small": ("eks-l4-spot",)}


def test_pod_of_eight_does_not_fit_a_node_of_four() -> None:
    world, _ = a_cloud_world("eks-l4-spot", a_job("eight", gpus=8), a_job("four", gpus=4), nodes=2)
    assert places(world) == {"eight": (), "four": ("eks-l4-spot",)}


def test_fullest_node_is_filled_first() -> None:
    world = a_world([a_job("a", gpus=2), a_job("b", gpus=2), a_job("c", gpus=4)])
    world.advance_to(1.0)
    assert [node.free for node in world.fleet.nodes.values()] == [0, 8]


def test_cordoned_node_takes_nothing_until_it_is_open_again() -> None:
    world = a_world(local_nodes=1)
    node = next(iter(world.fleet.nodes.values()))
    edit = NodeEdit(labels=node.labels, annotations={}, taints=(), is_unschedulable=True)
    world.edit_node(node, edit)
    world.dispatcher.submit(a_job())
    assert not node.is_busy
    world.edit_node(node, NodeEdit(labels=node.labels, annotations={}, taints=(), is_unschedulable=False))
    assert node.is_busy


def test_taint_that_no_job_tolerates_keeps_a_node_empty() -> None:
    world = a_world(local_nodes=1)
    node = next(iter(world.fleet.nodes.values()))
    keep_off = Taint("maintenance", "", TaintEffect.NO_SCHEDULE)
    world.edit_node(node, NodeEdit(labels=node.labels, annotations={}, taints=(keep_off,), is_unschedulable=False))
    world.dispatcher.submit(a_job())
    assert not node.is_busy


def test_lost_node_sends_the_whole_gang_back_to_the_queue() -> None:
    world, group = a_cloud_world("ack-a100", a_job("gang", gpus=16), nodes=2)
    world.advance_to(1100.0)
    world.groups.remove_instance(group.nodes[0].instance_id, decrement=True)
    run = world.dispatcher.runs[0]
    assert (run.state, run.restarts, run.lost) == (RunState.QUEUED, 1, 1)
    assert group.nodes[1].free == 8
    assert world.results().wasted_gpu_s == 16 * 100.0
    assert run.wait_s == 1000.0


def test_restarted_job_runs_its_whole_time_again() -> None:
    world = a_world([a_job(duration_s=100.0)], local_nodes=1)
    world.advance_to(90.0)
    world.dispatcher.evict(world.dispatcher.runs[0].pods[0], 0.0)
    world.advance_to(189.0)
    assert not world.is_done
    world.advance_to(190.0)
    assert world.is_done


def test_only_a_scale_in_counts_as_loss() -> None:
    for cause, lost in ((LossCause.SCALE_IN, 1), (LossCause.SPOT, 0)):
        world, group = a_cloud_world("ack-a100-spot", a_job())
        world.fleet.vanish(group.nodes[0], cause)
        assert (world.results().jobs_lost, world.results().restarts) == (lost, 1)


def test_eviction_gives_the_pod_its_grace_time() -> None:
    world = a_world([a_job(duration_s=1000.0)], local_nodes=1)
    world.advance_to(100.0)
    pod = world.dispatcher.runs[0].pods[0]
    world.dispatcher.evict(pod)
    world.dispatcher.evict(pod)
    world.advance_to(129.0)
    assert world.results().restarts == 0
    world.advance_to(130.0)
    assert world.results().restarts == 1
    assert pod.ended_s == 130.0


def test_job_that_ends_within_the_grace_time_has_ended_well() -> None:
    world = a_world([a_job(duration_s=110.0)], local_nodes=1)
    world.advance_to(100.0)
    world.dispatcher.evict(world.dispatcher.runs[0].pods[0])
    world.advance_to(200.0)
    assert world.results().jobs_finished == 1
    assert world.results().restarts == 0


def test_deleted_node_object_loses_its_pods_and_takes_no_more() -> None:
    world, group = a_cloud_world("ack-a100", a_job())
    world.delete_node_object(group.nodes[0])
    assert world.dispatcher.runs[0].state is RunState.QUEUED
    assert group.nodes[0].phase is Phase.GPU_READY


def test_same_job_twice_is_refused() -> None:
    world = a_world()
    world.dispatcher.submit(a_job())
    with pytest.raises(ValueError, match="before"):
        world.dispatcher.submit(a_job())


def test_demand_counts_waiting_and_running_gpus() -> None:
    world = a_world([a_job("a", gpus=8, duration_s=50.0), a_job("b", gpus=32)])
    world.advance_to(30.0)
    assert world.timeline.samples[-1].demand == 40
    assert world.timeline.samples[-1].queued_jobs == 1
    world.advance_to(60.0)
    assert world.timeline.samples[-1].demand == 32


def test_waits_are_taken_over_the_jobs_that_started() -> None:
    world = a_world([a_job(f"j-{n}", gpus=16, duration_s=100.0) for n in range(4)])
    world.advance_to(250.0)
    waits = world.results().waits
    assert waits is not None
    assert (waits.mean_s, waits.p50_s, waits.p99_s, waits.longest_s) == (100.0, 100.0, 200.0, 200.0)
    assert a_world().results().waits is None
