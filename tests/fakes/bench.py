"""An agent on fakes that has watched its first picture for two hours."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta

from agent.carry_out import Actuators
from agent.core.snapshot import Snapshot
from agent.loop import Agent
from agent.ports import TickRecord
from contract.catalog import Provider
from tests.builders import a_policy, a_snapshot, decided, watched
from tests.fakes.clock import FakeClock
from tests.fakes.hands import FakeCloudHands, FakeGate, FakeSensor
from tests.fakes.ledger import FakeLedger
from tests.fakes.stacks import FakeStacks, stack_text


@dataclass
class Bench:
    """An agent on fakes."""

    agent: Agent
    sensor: FakeSensor
    stacks: FakeStacks
    gate: FakeGate
    cloud: FakeCloudHands
    ledger: FakeLedger


def bench(*snapshots: Snapshot, size: int = 0) -> Bench:
    stacks = FakeStacks({"burst-alicloud": stack_text(ack_a100_od=size), "burst-aws": stack_text(eks_l4_spot=0)})
    sensor, gate, cloud, ledger = FakeSensor(list(snapshots)), FakeGate(), FakeCloudHands(), FakeLedger()
    seed_memory(ledger, snapshots[0])
    hands = Actuators(
        clock=FakeClock(),
        stacks=stacks,
        gates={"cloud-gpu-a": gate, "cloud-gpu-b": gate},
        clouds={Provider.ALICLOUD: cloud, Provider.AWS: cloud},
        ledger=ledger,
    )
    return Bench(Agent(sensor=sensor, hands=hands, policy=a_policy()), sensor, stacks, gate, cloud, ledger)


def seed_memory(ledger: FakeLedger, snapshot: Snapshot) -> None:
    """As if the agent had watched this state for two hours."""
    past = replace(snapshot, taken_at=snapshot.taken_at - timedelta(seconds=30))
    memory = watched(snapshot)
    hold = decided(a_snapshot(past.taken_at, use=50.0))
    record = TickRecord(
        snapshot=past,
        policy=a_policy(),
        memory_before=memory,
        decided=hold,
        decision=hold,
        memory_after=memory,
        events=(),
    )
    ledger.record(record)
