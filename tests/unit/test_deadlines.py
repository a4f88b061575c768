"""R6.3: interruptible work with a deadline takes spot while that is safe, steady nodes when it is not, or waits."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from agent.core.deadlines import keep_deadlines
from agent.core.decide import decide
from agent.core.decision import Action, Reason, ReasonCode
from agent.core.market import offers
from agent.core.patience import Parting, part
from agent.core.placement import place
from agent.core.rules.wait_or_pay import OFF
from agent.core.snapshot import LocalNode, LocalState, QueuedTask, RunningTask, Snapshot
from contract.catalog import Billing
from contract.units import Gpus, Nodes
from contract.work import Tier
from tests.builders import EVERY, NOON, a_policy, a_snapshot, a_task, tasks, watched

HOUR = timedelta(hours=1)
SPOT, STEADY = "eks-l4-spot", "ack-a100-od"
SOLD_OUT = {SPOT: Reason(code=ReasonCode.BACKED_OFF, text="sold out")}


def due_in(hours: float, runtime: timedelta = 2 * HOUR, queued: datetime = NOON) -> QueuedTask:
    task = a_task(1, memory=20, preemptible=True)
    return replace(task, runtime=runtime, queued_since=queued, deadline=NOON + hours * HOUR)


def steered(task: QueuedTask, *, is_spot_there: bool = True, now: datetime = NOON) -> Parting:
    market = offers(a_snapshot(now), {} if is_spot_there else SOLD_OUT)
    return keep_deadlines(Parting(leaving=(task,), staying=()), market, a_policy(), now)


def home(task: QueuedTask) -> str:
    placed = place(a_snapshot(), [task], offers(a_snapshot(), {}), Nodes(10))
    return dict(placed.homes).get(task.task, "")


def test_with_time_to_spare_it_takes_spot_and_only_spot() -> None:
    (task,) = steered(due_in(12)).leaving
    assert Billing.ON_DEMAND not in task.paid_by
    assert home(task) == SPOT


def test_without_time_to_spare_it_takes_what_stays_though_spot_is_to_be_had() -> None:
    (task,) = steered(due_in(3)).leaving
    assert Billing.SPOT not in task.paid_by
    assert home(task) == STEADY


def test_while_spot_is_sold_out_it_waits_until_only_steady_nodes_can_still_meet_the_deadline() -> None:
    task = due_in(12)
    # 2 h of work, two changeovers of 69 min and a look must fit before the deadline.
    last = NOON + 12 * HOUR - 2 * HOUR - 2 * timedelta(minutes=69) - EVERY
    for now in (NOON, NOON + EVERY, NOON + 5 * HOUR, last):
        (stay,) = steered(task, is_spot_there=False, now=now).staying
        assert stay.why.startswith("for its deadline: no spot is to be had, and ")
    (left,) = steered(task, is_spot_there=False, now=last + EVERY).leaving
    assert Billing.SPOT not in left.paid_by


def test_a_deadline_never_takes_the_last_pool_away() -> None:
    spot_alone = replace(a_policy().placement, tiers={**a_policy().placement.tiers, Tier.EXPLORATION: (Billing.SPOT,)})
    policy = replace(a_policy(), placement=spot_alone)
    task = replace(due_in(3), tier=Tier.EXPLORATION)
    market = offers(a_snapshot(), {})
    parted = keep_deadlines(Parting(leaving=(task,), staying=()), market, policy, NOON)
    assert parted.leaving == (task,)


def test_a_deadline_that_is_lost_anyway_sends_nobody_away() -> None:
    task = replace(a_task(1), runtime=100 * HOUR, deadline=NOON - 24 * HOUR)
    assert not leaving(task, 0.1)


def test_work_that_has_no_choice_is_left_as_it_is() -> None:
    for task in (
        replace(due_in(12), preemptible=False),
        replace(due_in(12), runtime=None),
        replace(due_in(12), deadline=None),
    ):
        assert steered(task).leaving == (task,)


def test_a_pool_that_lost_for_the_deadline_says_so() -> None:
    (task,) = steered(due_in(3)).leaving
    placed = place(a_snapshot(), [task], offers(a_snapshot(), {}), Nodes(10))
    lost = next(item for item in placed.alternatives if item.what.startswith(SPOT))
    assert lost.lost_because.code is ReasonCode.DEADLINE
    assert "to meet its deadline it is paid" in lost.lost_because.text


def test_the_decision_rents_on_demand_for_a_pressing_deadline_and_spot_for_a_far_one() -> None:
    for hours, pool in ((3.0, STEADY), (24.0, SPOT)):
        queue = tuple(replace(due_in(hours), task=task.task) for task in tasks(6))
        snapshot = a_snapshot(queue=queue)
        decision, _ = decide(snapshot, a_policy(), watched(snapshot))
        assert decision.action is Action.GROW
        assert [change.pool for change in decision.changes] == [pool]


@given(hours=st.floats(-5, 200), runtime=st.floats(0.01, 100), waited=st.floats(0, 50), is_spot_there=st.booleans())
def test_nobody_waits_or_takes_spot_when_only_steady_nodes_can_still_meet_the_deadline(
    hours: float, runtime: float, waited: float, *, is_spot_there: bool
) -> None:
    task = due_in(hours, runtime * HOUR, NOON - waited * HOUR)
    parted = steered(task, is_spot_there=is_spot_there)
    slack = hours * HOUR - runtime * HOUR
    changeover = timedelta(minutes=9) + min(HOUR, runtime * HOUR)
    if slack < 2 * changeover + EVERY:
        assert [Billing.SPOT in each.paid_by for each in parted.leaving] == [False]


def full_for(hours: float) -> LocalState:
    nodes = (LocalNode(name="n", gpus=Gpus(8), free=Gpus(0)),)
    running = (RunningTask(task="r", nodes=(("n", Gpus(8)),), started_at=NOON, ends_at=NOON + hours * HOUR),)
    return LocalState(gpus=Gpus(8), gpus_used=Gpus(8), nodes=nodes, running=running)


def leaving(task: QueuedTask, hours: float) -> bool:
    snapshot: Snapshot = a_snapshot(queue=(task,), local=full_for(hours))
    parted = part(snapshot, (task,), replace(OFF, patience=timedelta(days=30)))
    assert isinstance(parted, Parting)
    return bool(parted.leaving)


def test_a_task_that_would_end_after_its_deadline_at_home_leaves_however_cheap_waiting_is() -> None:
    task = replace(a_task(1), runtime=2 * HOUR, deadline=NOON + 3 * HOUR)
    assert not leaving(task, 0.9)
    assert leaving(task, 1.1)
    assert not leaving(replace(task, deadline=None), 1.1)
