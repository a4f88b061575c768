"""One tick of the agent as a process of its own, so that a test can kill it: `python -m tests.incidents.one_tick FILE`.

FILE is JSON: where the project, the ledger and the twin are, and the whole environment of the engine.
"""

from __future__ import annotations

import json
import sys
from datetime import timedelta
from pathlib import Path

from agent.act.pulumi_stack import PulumiSettings, PulumiStacks
from agent.carry_out import Actuators
from agent.core.snapshot import Snapshot
from agent.ledger.store import SqlLedger, sqlite_url
from agent.loop import Agent
from agent.ports import StackDriver, TickRecord
from contract.catalog import Catalog, Provider, read_catalog
from tests.builders import NOON, a_policy, a_pool, a_snapshot, a_task, decided, watched
from tests.fakes.clock import FakeClock
from tests.fakes.hands import FakeCloudHands, FakeGate, FakeSensor

POOL = "eks-a100-od"


def a_surge(catalog: Catalog, *, configured: int = 0, waiting: int = 6) -> Snapshot:
    """A full site; tasks that fit into the pool of the test wait."""
    queue = tuple(a_task(number, memory=40) for number in range(waiting))
    return a_snapshot(queue=queue, catalog=catalog, pools=[a_pool(pool=POOL, configured=configured)])


def an_agent(stacks: StackDriver, ledger: SqlLedger, *snapshots: Snapshot) -> Agent:
    """The shipped agent with the real driver and ledger; what it senses is given."""
    cloud = FakeCloudHands()
    hands = Actuators(
        clock=FakeClock(),
        stacks=stacks,
        gates={"cloud-gpu-b": FakeGate()},
        clouds={Provider.AWS: cloud},
        ledger=ledger,
    )
    return Agent(sensor=FakeSensor(list(snapshots)), hands=hands, policy=a_policy())


def remember(ledger: SqlLedger, snapshot: Snapshot) -> None:
    """As if the agent had watched this state for ten minutes."""
    memory = watched(snapshot, timedelta(minutes=10))
    past = a_snapshot(NOON - timedelta(seconds=30), use=50.0)
    hold = decided(past, memory)
    tick = TickRecord(
        snapshot=past,
        policy=a_policy(),
        memory_before=memory,
        decided=hold,
        decision=hold,
        memory_after=memory,
        events=(),
    )
    ledger.record(tick)


def main(file: Path) -> None:
    """Watch, then tick once."""
    given = json.loads(file.read_text(encoding="utf-8"))
    folder = Path(given["folder"])
    stacks = PulumiStacks(
        PulumiSettings(
            project_dir=folder,
            project="spillway",
            stacks_dir=folder / "stacks",
            binary=Path(given["binary"]),
            home=folder / "home",
            backend_url=given["environment"]["PULUMI_BACKEND_URL"],
            environment=given["environment"],
            limit_seconds=60.0,
        )
    )
    ledger = SqlLedger(sqlite_url(Path(given["ledger"])))
    snapshot = a_surge(read_catalog(folder / "stacks" / "catalog.yaml"))
    remember(ledger, snapshot)
    an_agent(stacks, ledger, snapshot).tick()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
