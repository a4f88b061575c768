"""R5.2: a pool with hours is rented inside them only, and work waits for a cheaper moment when that pays."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.codec import from_json, to_json
from agent.core.decide import decide
from agent.core.decision import Action, ReasonCode
from agent.core.market import offers
from agent.core.opening_hours import hours_next, hours_now, may_rent
from agent.core.patience import Parting
from agent.core.placement import place
from agent.core.policy import Policy
from agent.core.postpone import postpone
from agent.core.rules.wait_or_pay import Join
from agent.core.snapshot import LocalNode, LocalState, NodeView, QueuedTask, RunningTask, Snapshot
from contract.catalog import Billing, Catalog, PoolRow
from contract.hours import Hours, Weekday
from contract.units import Gpus, Nodes
from contract.work import Tier, WorkKind
from tests.builders import NOON, a_catalog, a_node, a_policy, a_pool, a_snapshot, a_task, an_on_demand_row, watched

# NOON is 12:00 UTC, a Monday; 20:00 in Shanghai. The night opens two hours later.
NIGHT = Hours(zone="Asia/Shanghai", opens=timedelta(hours=22), length=timedelta(hours=8))
OPEN = NOON + timedelta(hours=3)
TWO_HOURS, LONG = timedelta(hours=2), timedelta(hours=200)


def a_night_row(price: str = "100") -> PoolRow:
    row = an_on_demand_row("ack-a100-night", 10, price)
    return replace(row, billing=Billing.OFF_PEAK, hours=NIGHT, hosts=("training", "hpo"))


def catalog(price: str = "100") -> Catalog:
    return a_catalog(*a_catalog().pools.values(), a_night_row(price))


def seen(at: datetime = NOON, *night: NodeView, price: str = "100") -> Snapshot:
    pools = [a_pool(), a_pool(*night, pool="ack-a100-night")]
    return a_snapshot(at, pools=pools, catalog=catalog(price))


def patient() -> Policy:
    policy = a_policy()
    return replace(policy, wait_or_pay=replace(policy.wait_or_pay, patience=timedelta(minutes=10)))


def a_job(runtime: timedelta | None = TWO_HOURS, **more: object) -> QueuedTask:
    return replace(a_task(1), runtime=runtime, kind=WorkKind.OTHER, tier=Tier.RESEARCH, **more)  # type: ignore[arg-type]


def who_waits(task: QueuedTask, snapshot: Snapshot, policy: Policy | None = None) -> list[str]:
    market = offers(snapshot, {})
    parted = postpone(Parting(leaving=(task,), staying=()), market, policy or patient(), snapshot.taken_at)
    assert len(parted.leaving) + len(parted.staying) == 1
    return [stay.why for stay in parted.staying]


def homes(snapshot: Snapshot, *tasks: QueuedTask) -> dict[str, str]:
    placed = place(snapshot, tasks, offers(snapshot, {}), Nodes(10))
    return dict(placed.homes)


def test_a_pool_is_open_inside_its_hours_and_says_when_it_opens() -> None:
    row = a_night_row()
    assert not may_rent(row, NOON)
    assert (found := hours_next(row, NOON))
    assert found.start == NOON + timedelta(hours=2)
    assert may_rent(row, found.start)
    assert may_rent(row, found.end - timedelta(seconds=1))
    assert not may_rent(row, found.end)


def test_a_pool_without_hours_is_always_open() -> None:
    row = an_on_demand_row()
    assert may_rent(row, NOON)
    assert hours_now(row, NOON) is None
    assert hours_next(row, NOON) is None


def test_the_night_of_the_change_of_clocks_has_its_real_length() -> None:
    row = replace(a_night_row(), hours=Hours(zone="Europe/Berlin", opens=timedelta(hours=1), length=timedelta(hours=4)))
    for day in (datetime(2026, 3, 29, 0, 0, tzinfo=UTC), datetime(2026, 10, 25, 0, 0, tzinfo=UTC)):
        minutes = [day - timedelta(hours=3) + timedelta(minutes=minute) for minute in range(12 * 60)]
        assert sum(may_rent(row, minute) for minute in minutes) == 240


def test_hours_on_weekdays_only_leave_the_others_closed() -> None:
    row = replace(a_night_row(), hours=replace(NIGHT, weekdays=(Weekday.TUE,)))
    assert not may_rent(row, OPEN)
    assert may_rent(row, OPEN + timedelta(days=1))


def test_outside_its_hours_a_pool_brings_nothing_and_says_when_it_will() -> None:
    placed = place(seen(), [a_job()], offers(seen(), {}), Nodes(10))
    assert dict(placed.homes) == {"task-0001": "ack-a100-od"}
    lost = next(item for item in placed.alternatives if item.what.startswith("ack-a100-night"))
    assert lost.lost_because.code is ReasonCode.OFF_HOURS
    assert lost.lost_because.text == "its hours begin at 2026-11-30T14:00+00:00"


def test_inside_its_hours_the_cheaper_pool_takes_what_ends_before_they_do() -> None:
    assert homes(seen(OPEN), a_job()) == {"task-0001": "ack-a100-night"}
    for runtime in (timedelta(hours=6), None):
        placed = place(seen(OPEN), [a_job(runtime)], offers(seen(OPEN), {}), Nodes(10))
        assert dict(placed.homes) == {"task-0001": "ack-a100-od"}
        lost = next(item for item in placed.alternatives if item.what.startswith("ack-a100-night"))
        assert lost.lost_because.code is ReasonCode.OFF_HOURS


def test_a_free_node_there_takes_no_work_that_would_outlast_the_hours_either() -> None:
    snapshot = seen(OPEN, a_node(1, pool="ack-a100-night"))
    assert homes(snapshot, a_job(timedelta(hours=6))) == {"task-0001": "ack-a100-od"}


def test_a_task_waits_for_the_night_when_its_saving_is_worth_the_wait() -> None:
    # 16 GPU-hours, 64 % cheaper: worth 1.7 h at 10 min a GPU-hour; the night is 2 h away.
    assert not who_waits(a_job(), seen())
    assert who_waits(a_job(gpus=Gpus(16), pods=2), seen())
    assert who_waits(a_job(), seen(NOON + timedelta(minutes=30)))


def test_the_reason_names_pool_time_and_price() -> None:
    (why,) = who_waits(a_job(gpus=Gpus(16), pods=2), seen())
    assert why == "ack-a100-night opens in 2h at ¥12.50 a GPU-hour, which is worth the wait"


@pytest.mark.parametrize(
    "task",
    [
        a_job(runtime=None, gpus=Gpus(64), pods=8),
        a_job(timedelta(hours=7), gpus=Gpus(64), pods=8),
        a_job(gpus=Gpus(64), pods=8, deadline=NOON + timedelta(hours=3)),
        a_job(gpus=Gpus(64), pods=8, queued_since=NOON - timedelta(hours=23)),
        replace(a_job(gpus=Gpus(64), pods=8), tier=Tier.PRODUCTION_CORE),
        replace(a_job(gpus=Gpus(64), pods=8), kind=WorkKind.INFERENCE),
    ],
    ids=["unknown runtime", "longer than the hours", "deadline", "longest wait", "core", "kind not paid so"],
)
def test_nobody_waits_for_hours_that_are_of_no_use_to_him(task: QueuedTask) -> None:
    assert not who_waits(task, seen())


def test_nobody_waits_for_what_is_not_cheaper_nor_for_a_pool_without_room() -> None:
    big = a_job(gpus=Gpus(64), pods=8)
    assert not who_waits(big, seen(price="277.933"))
    full = a_snapshot(pools=[a_pool(), a_pool(configured=10, pool="ack-a100-night")], catalog=catalog())
    assert not who_waits(big, full)


@given(hours=st.floats(0.1, 5.0), gpus=st.integers(1, 64), price=st.integers(1, 277))
def test_whoever_waits_saves_more_than_the_wait_is_worth(hours: float, gpus: int, price: int) -> None:
    task = a_job(timedelta(hours=hours), gpus=Gpus(gpus), gpus_per_pod=Gpus(1), pods=gpus)
    waits = bool(who_waits(task, seen(price=str(price))))
    saved = gpus * hours * (1 - price / 277.933)
    assert not waits or saved * timedelta(minutes=10) >= timedelta(hours=2) - timedelta(seconds=1)


def test_the_decision_holds_for_a_task_that_waits_for_the_night_and_tells_why() -> None:
    policy = patient()
    policy = replace(
        policy,
        wait_or_pay=replace(policy.wait_or_pay, join=Join.BOTH),
        queue_pressure=replace(policy.queue_pressure, queued_tasks_at_least=1),
    )
    task = a_job(gpus=Gpus(16), pods=2, queued_since=NOON - timedelta(hours=1))
    snapshot = replace(seen(), queue=(task,), local=full_cluster())
    decision, _ = decide(snapshot, policy, watched(snapshot))
    assert decision.action is Action.HOLD
    lost = [item for proposal, _ in decision.rejected for item in proposal.alternatives]
    assert any("opens in 2h" in item.lost_because.text for item in lost)


def full_cluster() -> LocalState:
    nodes = tuple(LocalNode(name=f"n{number}", gpus=Gpus(8), free=Gpus(0)) for number in range(12))
    running = tuple(
        RunningTask(task=f"r{n}", nodes=((f"n{n}", Gpus(8)),), started_at=NOON, ends_at=NOON + LONG) for n in range(12)
    )
    return LocalState(gpus=Gpus(96), gpus_used=Gpus(96), nodes=nodes, running=running)


def test_when_the_hours_end_idle_nodes_go_back_at_once_and_busy_ones_stay() -> None:
    closing = NOON + timedelta(hours=10)
    nodes = [a_node(1, pool="ack-a100-night"), a_node(2, pool="ack-a100-night", used=8)]
    before, after = (seen(at, *nodes) for at in (closing - timedelta(seconds=30), closing))
    memory = watched(before, timedelta(minutes=3))
    held, memory = decide(before, a_policy(), memory)
    assert held.action is Action.HOLD
    decision, _ = decide(after, a_policy(), memory)
    assert decision.chosen.policy == "off_hours"
    assert [change.victims for change in decision.changes] == [("i-001",)]
    assert "1 with work stay" in decision.chosen.reason.text
    busy = seen(closing, nodes[1])
    held, _ = decide(busy, a_policy(), watched(busy, timedelta(minutes=3)))
    assert held.action is Action.HOLD


def test_a_snapshot_with_hours_comes_back_from_the_ledger_as_it_was() -> None:
    snapshot = seen()
    assert from_json(Snapshot, to_json(snapshot)) == snapshot


def test_a_pool_about_to_close_is_closed_for_whoever_buys_without_tasks() -> None:
    closing = NOON + timedelta(hours=10)
    for before, reason in ((timedelta(minutes=9), ReasonCode.OFF_HOURS), (timedelta(minutes=10), None)):
        (offer,) = [offer for offer in offers(seen(closing - before), {}) if offer.row.pool == "ack-a100-night"]
        assert (offer.closed.code if offer.closed else None) is reason


def test_a_cheap_pool_that_closes_too_soon_is_no_reason_to_leave_now() -> None:
    """The night of two hours hence is waited for though another cheap pool is open for half an hour more."""
    closing = Hours(zone="UTC", opens=timedelta(hours=11), length=timedelta(minutes=90))
    day = replace(a_night_row(), pool="ack-a100-day", hours=closing)
    rows = a_catalog(*catalog().pools.values(), day)
    pools = [a_pool(), a_pool(pool="ack-a100-night"), a_pool(pool="ack-a100-day")]
    assert who_waits(a_job(gpus=Gpus(16), pods=2), a_snapshot(pools=pools, catalog=rows))


def test_when_the_last_node_of_the_hours_is_idle_nothing_is_said_of_others() -> None:
    closing = NOON + timedelta(hours=10)
    snapshot = seen(closing, a_node(1, pool="ack-a100-night"))
    decision, _ = decide(snapshot, a_policy(), watched(snapshot, timedelta(minutes=3)))
    assert decision.chosen.reason.text == "the hours of ack-a100-night are over: 1 nodes without work go back"
