"""I29 (kubernetes/autoscaler#6107): exactly the idle nodes go; no busy one is taken, not even for zone balance.

Acted out on the twin's scaling groups through the real adapters, the agent's own tick and node gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

import pytest

from agent.core.readings import PoolBinding, PoolReading
from agent.ports import CloudReader
from sim.world.scaling_groups import AZ_REBALANCE
from sim.world.workload import Job, Run
from tests.incidents.stage import Stage, StageHand, a_quick_policy
from tests.sim.builders import ROWS, a_job

SIZE = 6
FILL = a_job("fill", gpus=16, duration_s=9e5)
pools = pytest.mark.parametrize("pool", ["eks-h100", "ack-a100"])


@dataclass(frozen=True)
class CarelessCloud:
    """A cloud that is neither asked to protect anybody nor to hold still."""

    cloud: CloudReader

    def read_pools(self, bindings: Sequence[PoolBinding]) -> Mapping[str, PoolReading]:
        return self.cloud.read_pools(bindings)

    def set_protection(self, binding: PoolBinding, instance_ids: Sequence[str], *, protected: bool) -> None:
        return None

    def hold_still(self, binding: PoolBinding) -> None:
        return None


def jobs() -> list[Job]:
    """A task a node; which nodes fall idle is settled once all of them work."""
    return [a_job(f"task-{number}", duration_s=9e5) for number in range(SIZE)]


def a_busy_pool(hand: StageHand, pool: str, seed: int, *, careless: bool = False) -> Stage:
    """Six nodes over two zones, all at work; the owned site is full."""
    policy = a_quick_policy(min_step=SIZE)
    stage = hand.stage(pool, policy=policy, seed=seed, wrap=CarelessCloud if careless else lambda cloud: cloud)
    stage.submit(FILL, *jobs())
    stage.run_until(lambda: len(stage.busy()) == SIZE)
    return stage


def fall_idle(stage: Stage, zone: str) -> set[str]:
    """The tasks in one zone end, and the owned site falls quiet; gives the idle nodes."""
    idle = {node.instance_id for node in stage.group.standing() if node.zone == zone}
    for run in stage.world.dispatcher.runs:
        node = run.pods[0].node
        if run.job.name == "fill" or (node and node.instance_id in idle):
            end_now(stage, run)
    return idle


def end_now(stage: Stage, run: Run) -> None:
    """The job's work is done."""
    assert run.ending is not None
    finish = run.ending.action
    run.ending.cancel()
    stage.world.ground.agenda.after(1.0, finish)


@pools
@pytest.mark.parametrize("seed", [1, 2])
def test_exactly_the_idle_nodes_go_and_every_busy_one_stays(hand: StageHand, pool: str, seed: int) -> None:
    stage = a_busy_pool(hand, pool, seed)
    zone = ROWS[pool].zones[seed % 2]
    idle = fall_idle(stage, zone)
    busy = stage.standing() - idle
    assert idle
    assert busy

    stage.run_until(stage.has_shrunk)
    stage.run_for(timedelta(minutes=20))

    gone = {victim for item in stage.acted() for change in item.changes for victim in change.victims}
    assert gone == idle
    assert stage.standing() == stage.busy() == busy
    assert stage.world.results().jobs_lost == 0
    assert all(node.restarts == 0 for node in stage.world.dispatcher.runs)
    zones = Counter(node.zone for node in stage.group.standing())
    assert zones[zone] == 0, "uneven on purpose, and left so"


def test_zone_balancing_of_a_gpu_group_is_off_before_anything_changes(hand: StageHand) -> None:
    stage = hand.stage("eks-h100")
    stage.submit(FILL, a_job("task", duration_s=9e5))
    assert AZ_REBALANCE not in stage.group.suspended
    stage.run_until(lambda: bool(stage.acted()))
    assert AZ_REBALANCE in stage.group.suspended


def test_protection_ends_once_the_leaving_nodes_are_gone(hand: StageHand) -> None:
    stage = a_busy_pool(hand, "eks-h100", 1)
    fall_idle(stage, ROWS["eks-h100"].zones[0])
    stage.run_until(stage.has_shrunk)
    assert any(node.is_protected for node in stage.group.standing())
    stage.run_for(timedelta(minutes=10))
    assert not any(node.is_protected for node in stage.group.standing())


def test_the_trap_is_real_without_protection_work_is_lost(hand: StageHand) -> None:
    """The same course beside a cloud that is asked for nothing: some seed loses a job to the cloud's own choice."""
    for seed in range(1, 9):
        stage = a_busy_pool(hand, "eks-h100", seed, careless=True)
        fall_idle(stage, ROWS["eks-h100"].zones[seed % 2])
        stage.run_until(stage.has_shrunk)
        stage.run_for(timedelta(minutes=5))
        if stage.world.results().jobs_lost:
            return
    pytest.fail("no seed lost a job: these tests prove nothing")
