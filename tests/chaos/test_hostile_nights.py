"""R10.1 acted out: a real surge, the whole tick, and a world in which every door fails or kills now and then.

What must hold in every night: no job is lost to a scale-in, no limit is passed, and once the doors work
again every change is ended, every file says what the state says, and no node is left.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from random import Random

import pytest

from agent.bootstrap import read_policy
from agent.carry_out import Actuators
from agent.loop import Agent
from contract.catalog import Catalog, Provider, read_catalog
from sim.world.workload import Job, read_workload
from sim.world.world import World
from tests.chaos.hostile import HostileCloud, HostileGate, HostileSensor, HostileStacks, Killed, Night
from tests.fakes.ledger import FakeLedger
from tests.fakes.stacks import sizes_of

ROOT = Path(__file__).resolve().parents[2]
EVERY_S = 30.0
SURGE_S = 4 * 3600.0
LONGEST_S = 12 * 3600.0


class WorldClock:
    """The world's own time."""

    def __init__(self, world: World) -> None:
        self._world = world

    def now(self) -> datetime:
        return self._world.ground.time(self._world.now_s)


class Play:
    """One night: the agent is started again whenever it was killed; the ledger is all it keeps."""

    def __init__(self, catalog: Catalog, jobs: tuple[Job, ...], seed: int, hostility: float) -> None:
        self.world = World(catalog, jobs, seed=seed)
        self.night = Night(self.world, Random(seed), hostility)
        self.stacks = HostileStacks(self.night)
        self.ledger = FakeLedger()
        self.policy = read_policy(ROOT / "stacks" / "policy.yaml", catalog)
        self.is_blind_to_work = False
        self.kills = 0
        self.most_rented = 0

    def agent(self) -> Agent:
        cloud, gate = HostileCloud(self.night), HostileGate(self.night, is_blind=self.is_blind_to_work)
        sensor = HostileSensor(self.night, self.stacks, is_blind=self.is_blind_to_work)
        hands = Actuators(
            clock=WorldClock(self.world),
            stacks=self.stacks,
            gates=dict.fromkeys(("cloud-gpu-a", "cloud-gpu-b"), gate),
            clouds={Provider.ALICLOUD: cloud, Provider.AWS: cloud},
            ledger=self.ledger,
        )
        return Agent(sensor=sensor, hands=hands, policy=self.policy)

    def run(self) -> None:
        at, agent = 0.0, self.agent()
        while at < LONGEST_S and not self.is_over():
            at += EVERY_S
            self.world.advance_to(at)
            if at > SURGE_S:
                self.night.hostility = 0.0
            try:
                agent.tick()
            except Killed:
                self.kills += 1
                agent = self.agent()
            rented = sum(max(group.desired, len(group.standing())) for group in self.night.groups.values())
            self.most_rented = max(self.most_rented, rented)

    def is_over(self) -> bool:
        done = self.world.is_done and not any(group.present() for group in self.night.groups.values())
        return done and not self.ledger.open_changes()


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return read_catalog(ROOT / "stacks" / "catalog.yaml")


@pytest.fixture(scope="module")
def jobs() -> tuple[Job, ...]:
    return tuple(read_workload(ROOT / "sim" / "traces" / "itp04_surge.csv"))


@pytest.mark.parametrize(("seed", "hostility"), [(1, 0.0), (2, 0.05), (3, 0.05), (4, 0.2), (5, 0.3), (6, 0.3)])
def test_a_hostile_night_loses_no_job_and_leaves_no_node(
    catalog: Catalog, jobs: tuple[Job, ...], seed: int, hostility: float
) -> None:
    play = Play(catalog, jobs, seed, hostility)
    play.run()
    results = play.world.results()
    assert results.jobs_lost == 0, "a scale-in ended a node with work"
    assert play.most_rented <= play.policy.limits.max_cloud_nodes
    assert play.is_over(), "nodes, work or open changes are left"
    assert results.jobs_finished == len(jobs)
    for stack, state in play.stacks.state.items():
        assert sizes_of(play.stacks.files[stack]) == state == dict.fromkeys(state, 0)
    assert not play.stacks.is_locked
    if hostility >= 0.3:
        assert play.kills > 0, "a night without a kill proves little"


def test_the_nights_can_tell_a_bad_agent(catalog: Catalog, jobs: tuple[Job, ...]) -> None:
    """A canary: an agent whose senses say that nobody works ends nodes with work, and the night shows it."""
    play = Play(catalog, jobs, seed=1, hostility=0.0)
    play.is_blind_to_work = True
    play.run()
    assert play.world.results().jobs_lost > 0
