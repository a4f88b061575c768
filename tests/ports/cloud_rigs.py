"""What the suite over CloudReader may do to a cloud, once for the fake and once for each real adapter on the twin."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest
from alibabacloud_credentials.utils import auth_util

from agent.clouds.alicloud import AlicloudPools
from agent.clouds.aws import AwsPools
from agent.core.readings import CloudInstance, PoolBinding, PoolReading
from agent.core.snapshot import LaunchFailure
from agent.errors import CloudUnavailable, NotAuthorised
from agent.ports import CloudReader
from contract.catalog import Provider
from contract.units import Nodes
from sim.wire.call import INVALID_KEY
from sim.world.faults import Fault, FaultKind, Target
from sim.world.group_spec import Group
from sim.world.world import World
from tests.fakes.cloud import FakeCloud
from tests.sim.builders import ROWS, a_catalog, a_spec
from tests.sim.wire_server import WireServer

QUOTA = 60
ROOMY = {"eks-h100", "ack-a100"}


class Rig(Protocol):
    """A cloud with one pool, and the hands to move it."""

    pool: str
    stock_out: str

    @property
    def cloud(self) -> CloudReader:
        """The reader under test."""

    def binding(self, applied: int, *, pool: str = "", group: str | None = None) -> PoolBinding:
        """The rig's pool as a stack would bind it, or another."""

    def now(self) -> datetime:
        """The cloud's own time."""

    def wait(self, seconds: float) -> None:
        """Let time pass."""

    def want(self, nodes: int) -> None:
        """Ask the cloud for a size."""

    def sell_out(self) -> None:
        """From now on no machine is to be had."""

    def restock(self) -> None:
        """Machines are to be had again."""

    def throttle(self) -> None:
        """From now on every call is one too many."""

    def lock_out(self) -> None:
        """The credentials are not, or no longer, good."""

    def ids(self) -> list[str]:
        """Instances that stand, oldest first."""


@dataclass
class WireRig:
    """A real adapter, by its official SDK, against the twin's wire."""

    provider: Provider
    world: World
    server: WireServer
    monkeypatch: pytest.MonkeyPatch
    cloud: CloudReader = field(init=False)

    def __post_init__(self) -> None:
        self.pool = "eks-h100" if self.provider is Provider.AWS else "ack-a100"
        aws = self.provider is Provider.AWS
        self.stock_out = "InsufficientInstanceCapacity" if aws else "OperationDenied.NoStock"
        self.group = self.add_group(self.pool)
        self.log_in("twin")

    def add_group(self, name: str, desired: int = 0) -> Group:
        """Another scaling group of the rig's row."""
        return self.world.groups.create(a_spec(self.pool, name=name, desired=desired, maximum=QUOTA))

    def log_in(self, key: str, endpoint: str = "") -> None:
        """A fresh adapter with this access key in the environment."""
        self.monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        self.monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key)
        self.monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        self.monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
        self.monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
        # Alibaba's credentials package has read the environment when it was imported.
        self.monkeypatch.setattr(auth_util, "environment_access_key_id", key)
        self.monkeypatch.setattr(auth_util, "environment_access_key_secret", key)
        self.cloud = self._adapter(endpoint or self.server.host)

    def _adapter(self, host: str) -> CloudReader:
        if self.provider is Provider.AWS:
            return AwsPools("us-east-1", f"http://{host}")
        return AlicloudPools("cn-shanghai", host)

    def binding(self, applied: int, *, pool: str = "", group: str | None = None) -> PoolBinding:
        name = self.group.scaling_group_id if group is None else group
        return PoolBinding(
            pool=pool or self.pool, node_pool_id=self.group.group_id, scaling_group=name, applied=Nodes(applied)
        )

    def now(self) -> datetime:
        return self.world.ground.time(self.world.now_s)

    def wait(self, seconds: float) -> None:
        self.world.advance_to(self.world.now_s + seconds)

    def want(self, nodes: int) -> None:
        self.world.groups.set_desired(self.group.group_id, nodes)

    def strike(self, kind: FaultKind, *, count: int | None = None, mode: str = "") -> None:
        """Arm a fault against this cloud."""
        name = f"{kind}-{len(self.world.ground.faults.faults)}"
        target = Target(provider=self.provider.value)
        self.world.arm([Fault(name=name, kind=kind, target=target, count=count, mode=mode)])

    def sell_out(self) -> None:
        self.strike(FaultKind.STOCK_OUT)

    def restock(self) -> None:
        self.world.ground.faults.faults.clear()

    def throttle(self) -> None:
        self.strike(FaultKind.THROTTLING)

    def lock_out(self) -> None:
        self.log_in(INVALID_KEY)

    def ids(self) -> list[str]:
        return [node.instance_id for node in self.group.standing()]


@dataclass
class FakeRig:
    """The fake, moved the way that a cloud would move: it shrinks oldest first and spares the protected."""

    cloud: FakeCloud = field(default_factory=FakeCloud)
    pool: str = "ack-a100"
    stock_out: str = "OperationDenied.NoStock"
    time: datetime = datetime(2026, 11, 30, tzinfo=UTC)
    is_sold_out: bool = False
    made: int = 0
    wanted: int = 0

    def __post_init__(self) -> None:
        self.cloud.pools[self.pool] = PoolReading(instances=())

    def binding(self, applied: int, *, pool: str = "", group: str | None = None) -> PoolBinding:
        name = "asg-1" if group is None else group
        known = self.pool if name == "asg-1" else f"pool of {name}"
        return PoolBinding(pool=pool or known, node_pool_id="np1", scaling_group=name, applied=Nodes(applied))

    def now(self) -> datetime:
        return self.time

    def wait(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)
        self.want(self.wanted)

    def want(self, nodes: int) -> None:
        self.wanted = nodes
        reading = self.cloud.pools[self.pool]
        standing = [item for item in reading.instances if not item.is_leaving]
        for item in [item for item in standing if not item.is_protected][: max(0, len(standing) - nodes)]:
            reading = replace(
                reading,
                instances=tuple(
                    replace(other, is_leaving=True) if other is item else other for other in reading.instances
                ),
            )
        if len(standing) < nodes and self.is_sold_out:
            failure = LaunchFailure(code=self.stock_out, message="sold out", at=self.time)
            reading = replace(reading, failure=failure)
        elif len(standing) < nodes:
            new = tuple(self._machine() for _ in range(nodes - len(standing)))
            reading = replace(reading, instances=(*reading.instances, *new), failure=None)
        self.cloud.pools[self.pool] = reading

    def sell_out(self) -> None:
        self.is_sold_out = True

    def restock(self) -> None:
        self.is_sold_out = False

    def throttle(self) -> None:
        self.cloud.error = CloudUnavailable("Throttling: too many calls", target="fake cloud", hint="wait")

    def lock_out(self) -> None:
        self.cloud.error = NotAuthorised("no such key", target="fake cloud", hint="renew it")

    def ids(self) -> list[str]:
        return [item.instance_id for item in self.cloud.pools[self.pool].instances if not item.is_leaving]

    def _machine(self) -> CloudInstance:
        self.made += 1
        return CloudInstance(
            instance_id=f"i-{self.made:03d}", launched_at=self.time, is_protected=False, is_leaving=False
        )


def wire_rig(provider: Provider, server: WireServer, monkeypatch: pytest.MonkeyPatch) -> WireRig:
    """A rig on a fresh twin with room for QUOTA nodes."""
    for row in ROOMY:
        monkeypatch.setitem(ROWS, row, replace(ROWS[row], quota=Nodes(QUOTA)))
    world = World(a_catalog(), seed=1)
    world.advance_to(0.0)
    server.show(world)
    return WireRig(provider, world, server, monkeypatch)
