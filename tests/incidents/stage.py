"""The whole tick on a twin's world: real senses, real cloud adapters, real ledger; Pulumi is the only stand-in.

The stand-in applies a size at once, as `pulumi up` does in the end; what it knows is its own state, so
that changes made past it stay unseen by it. Time is the world's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import pytest
from alibabacloud_credentials.utils import auth_util

from agent.act.node_gate import KubernetesGate
from agent.carry_out import Actuators
from agent.clouds.alicloud import AlicloudPools
from agent.clouds.aws import AwsPools
from agent.cluster_access import ClusterEndpoint
from agent.core.decision import Action, Decision
from agent.core.policy import Policy, UseSignal
from agent.core.readings import PoolBinding
from agent.ledger.store import SqlLedger, sqlite_url
from agent.loop import Agent, TickReport
from agent.ports import CloudReader, LedgerStore
from agent.sense.kubernetes import KubernetesReader
from agent.sense.prometheus import PrometheusEndpoint, PrometheusUse
from agent.sense.rounds import Rounds, Sources
from contract.catalog import Catalog, Provider
from contract.units import Nodes
from sim.world.clock import Clock
from sim.world.group_spec import Group
from sim.world.nodes import Node, Phase
from sim.world.twin import Twin
from sim.world.workload import Job
from sim.world.world import World
from tests.builders import a_policy
from tests.fakes.ledger import FakeLedger
from tests.fakes.stacks import FakeStacks
from tests.sim.builders import ROWS, a_catalog, a_spec
from tests.sim.wire_server import WireServer

EVERY_S = 30.0
STACK = "burst"


def a_quick_policy(**sizes: int) -> Policy:
    """The shipped rules with short spans: a course fits into an hour, one task is enough, one node is a step."""
    policy = a_policy()
    return replace(
        policy,
        queue_pressure=replace(
            policy.queue_pressure,
            hold_for=timedelta(minutes=1),
            queued_tasks_at_least=1,
            min_step=Nodes(sizes.get("min_step", 1)),
        ),
        idle_reclaim=replace(policy.idle_reclaim, hold_for=timedelta(minutes=1), node_idle_for=timedelta(minutes=2)),
        cool_down=replace(policy.cool_down, after_grow=timedelta(minutes=1), after_shrink=timedelta(minutes=1)),
    )


class WorldClock:
    """The world's time."""

    def __init__(self, world: World) -> None:
        self.world = world

    def now(self) -> datetime:
        return self.world.ground.time(self.world.now_s)


@dataclass
class WorldStacks(FakeStacks):
    """A Pulumi whose `up` reaches the world, and whose state is what it did itself."""

    world: World | None = None
    groups: dict[str, Group] = field(default_factory=dict)

    def bindings(self, stack: str) -> Mapping[str, PoolBinding]:
        return {
            pool: replace(binding, scaling_group=self.groups[pool].scaling_group_id)
            for pool, binding in super().bindings(stack).items()
        }

    def apply(self, stack: str, message: str) -> Mapping[str, PoolBinding]:
        before = dict(self.applied[stack])
        super().apply(stack, message)
        assert self.world is not None
        for pool, size in self.applied[stack].items():
            if before[pool] != size:
                self.world.groups.set_desired(self.groups[pool].group_id, size)
        return self.bindings(stack)


@dataclass
class Stage:
    """A world of two owned nodes and one rented pool, and the agent that looks after it."""

    world: World
    group: Group
    stacks: WorldStacks
    policy: Policy
    make_agent: Callable[[], Agent]
    agent: Agent = field(init=False)
    reports: list[TickReport] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.agent = self.make_agent()

    def restart_agent(self) -> None:
        """The agent's process ends and another begins: only the ledger is left."""
        self.agent = self.make_agent()

    def tick(self) -> TickReport:
        """Thirty seconds pass, then the agent looks."""
        self.world.advance_to(self.world.now_s + EVERY_S)
        self.reports.append(self.agent.tick())
        return self.reports[-1]

    def run_until(self, is_so: Callable[[], bool], *, at_most: timedelta = timedelta(hours=1)) -> None:
        """Tick until it is so."""
        end_s = self.world.now_s + at_most.total_seconds()
        while not is_so():
            assert self.world.now_s < end_s, f"not so after {at_most}: {self.story()[-5:]}"
            self.tick()

    def run_for(self, span: timedelta) -> None:
        """Tick for a while."""
        for _ in range(int(span.total_seconds() // EVERY_S)):
            self.tick()

    def submit(self, *jobs: Job) -> None:
        """Users submit jobs now."""
        for job in jobs:
            self.world.dispatcher.submit(replace(job, submitted_s=self.world.now_s))

    def acted(self) -> list[Decision]:
        """The decisions that changed something, in order."""
        decisions = [report.decision for report in self.reports if not report.withdrawn]
        return [decision for decision in decisions if decision and decision.action is not Action.HOLD]

    def has_shrunk(self) -> bool:
        """Whether the agent gave something back."""
        return any(decision.action is Action.SHRINK for decision in self.acted())

    def story(self) -> list[str]:
        """What was done, for the eye."""
        return [
            f"{item.taken_at:%H:%M:%S} {item.action} {[(c.before, c.after) for c in item.changes]}"
            for item in self.acted()
        ]

    def standing(self) -> set[str]:
        """Ids of the pool's machines that are not on their way out."""
        return {node.instance_id for node in self.group.standing()}

    def bought(self) -> int:
        """Machines that the pool ever had."""
        return sum(node.group_id == self.group.group_id for node in self.world.fleet.all_time)

    def busy(self) -> set[str]:
        """Ids of the pool's machines that have work."""
        return {node.instance_id for node in self.group.standing() if is_busy(node)}

    def ready(self) -> int:
        """Machines with usable GPUs."""
        return sum(node.phase is Phase.GPU_READY for node in self.group.standing())


def is_busy(node: Node) -> bool:
    """Whether a machine has work."""
    return bool(node.pods())


@dataclass(frozen=True)
class StageHand:
    """Sets a stage up; one for each test."""

    server: WireServer
    folder: Path

    def stage(
        self,
        pool: str = "eks-h100",
        *,
        policy: Policy | None = None,
        quota: int = 10,
        jobs: Sequence[Job] = (),
        seed: int = 1,
        durable: bool = False,
        wrap: Callable[[CloudReader], CloudReader] = lambda cloud: cloud,
    ) -> Stage:
        """Two owned nodes and an empty pool of one cloud; `durable` keeps the ledger on disk, as the agent does."""
        row = replace(ROWS[pool], quota=Nodes(quota))
        catalog = a_stage_catalog(pool, quota)
        world = World(catalog, jobs, seed=seed)
        world.advance_to(0.0)
        group = world.groups.create(a_spec(pool, maximum=quota))
        self.server.show(world)
        text = f"config:\n  spillway:layer: burst\n  spillway:desired:\n    {pool}: 0\n"
        stacks = WorldStacks({STACK: text}, world=world, groups={pool: group})
        rules = policy or a_quick_policy()
        clouds = {row.provider: wrap(self._cloud(row.provider))}
        in_memory = FakeLedger()

        def make_agent() -> Agent:
            ledger = SqlLedger(sqlite_url(self.folder / "ledger.db")) if durable else in_memory
            return self._agent(catalog, WorldClock(world), stacks, clouds, ledger, rules)

        return Stage(world, group, stacks, rules, make_agent)

    def _cloud(self, provider: Provider) -> CloudReader:
        if provider is Provider.AWS:
            return AwsPools("us-east-1", self.server.url)
        return AlicloudPools("cn-shanghai", self.server.host)

    def _agent(
        self,
        catalog: Catalog,
        clock: WorldClock,
        stacks: WorldStacks,
        clouds: Mapping[Provider, CloudReader],
        ledger: LedgerStore,
        policy: Policy,
    ) -> Agent:
        endpoints = self._endpoints(clock.world)
        query = 'DCGM_FI_DEV_GPU_UTIL{cluster="idc-gpu"}'
        sources = Sources(
            clock=clock,
            metrics=PrometheusUse(PrometheusEndpoint(url=f"{self.server.url}/prometheus", query=query)),
            clusters={name: KubernetesReader(endpoint) for name, endpoint in endpoints.items()},
            clouds=clouds,
            stacks=stacks,
            stack_names=(STACK,),
        )
        gates = {name: KubernetesGate(endpoint) for name, endpoint in endpoints.items()}
        hands = Actuators(clock=clock, stacks=stacks, gates=gates, clouds=clouds, ledger=ledger)
        sensor = Rounds(sources, catalog, UseSignal.UTILIZATION, timedelta(minutes=5))
        return Agent(sensor=sensor, hands=hands, policy=policy)

    def _endpoints(self, world: World) -> dict[str, ClusterEndpoint]:
        tokens = Twin(Clock(world.ground.origin, speed=0), world).tokens
        return {
            name: ClusterEndpoint(name=name, url=f"{self.server.url}/k8s/{name}", token=partial(str, token))
            for name, token in tokens.items()
        }


def a_stage_catalog(pool: str, quota: int) -> Catalog:
    """One owned pool and one rented one."""
    whole = a_catalog()
    rows = {"idc-a100": whole.pools["idc-a100"], pool: replace(whole.pools[pool], quota=Nodes(quota))}
    return replace(whole, pools=rows)


def lend_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that the twin lets in, for both SDKs."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "twin",
        "AWS_SECRET_ACCESS_KEY": "twin",
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }.items():
        monkeypatch.setenv(name, value)
    # Alibaba's credentials package has read the environment when it was imported.
    monkeypatch.setattr(auth_util, "environment_access_key_id", "twin")
    monkeypatch.setattr(auth_util, "environment_access_key_secret", "twin")
