"""Wait-or-pay on a snapshot: what it reads, what it cannot know, and how it joins the thresholds."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.decide import decide
from agent.core.decision import Action, ReasonCode
from agent.core.memory import Memory
from agent.core.patience import Parting, part
from agent.core.policies import wait_or_pay
from agent.core.policies.rent_for import as_joined
from agent.core.rules.wait_or_pay import OFF, Join, WaitOrPay
from agent.core.snapshot import LocalNode, LocalState, QueuedTask, RunningTask, Snapshot, Unknown
from contract.units import Gpus
from contract.work import Tier
from tests.builders import NOON, a_policy, a_snapshot, a_task

_HOUR = timedelta(hours=1)
RULES = replace(OFF, join=Join.PATIENCE)


def _home(nodes: int = 12, *, ends_in: timedelta | None = 10 * _HOUR) -> LocalState:
    """Full nodes of 8, each with one task that ends then."""
    return LocalState(
        gpus=Gpus(8 * nodes),
        gpus_used=Gpus(8 * nodes),
        nodes=tuple(LocalNode(name=f"home-{n}", gpus=Gpus(8), free=Gpus(0)) for n in range(nodes)),
        running=tuple(
            RunningTask(
                task=f"running-{n}",
                nodes=((f"home-{n}", Gpus(8)),),
                started_at=NOON - _HOUR,
                ends_at=None if ends_in is None else NOON + ends_in,
            )
            for n in range(nodes)
        ),
    )


def _task(number: int, gpus: int, hours: float, tier: Tier = Tier.RESEARCH) -> QueuedTask:
    return replace(a_task(number, gpus), runtime=hours * _HOUR, tier=tier)


def _part(queue: tuple[QueuedTask, ...], rules: WaitOrPay = RULES, local: LocalState | None = None) -> Parting:
    parting = part(a_snapshot(local=local or _home(), queue=queue), queue, rules)
    assert isinstance(parting, Parting)
    return parting


def test_small_tasks_leave_and_large_ones_wait() -> None:
    queue = (_task(0, 1, 1.0), _task(1, 8, 20.0))
    parting = _part(queue)
    assert [task.task for task in parting.leaving] == ["task-0000"]
    (stay,) = parting.staying
    assert stay.task.task == "task-0001"
    assert stay.starts_in == 10 * _HOUR
    assert "would start at home in 10h" in stay.why


def test_no_task_waits_longer_than_its_tier_allows() -> None:
    parting = _part((_task(0, 8, 100.0, Tier.PRODUCTION_CORE), _task(1, 8, 100.0)))
    assert [task.tier for task in parting.leaving] == [Tier.PRODUCTION_CORE]


def test_a_task_without_an_estimate_is_taken_to_run_an_hour() -> None:
    queue = (replace(_task(0, 1, 1.0), runtime=None),)
    assert _part(queue) == Parting(leaving=queue, staying=())


@pytest.mark.parametrize(
    ("local", "why"),
    [
        (Unknown("the site is cut off"), "the site is cut off"),
        (LocalState(gpus=Gpus(8), gpus_used=Gpus(8)), "its nodes were not read"),
    ],
)
def test_nothing_is_judged_on_a_home_that_is_not_known(local: LocalState | Unknown, why: str) -> None:
    queue = (_task(0, 1, 1.0),)
    parting = part(a_snapshot(local=local, queue=queue), queue, RULES)
    assert isinstance(parting, Unknown)
    assert why in parting.why


def test_what_outlived_its_estimate_is_taken_to_go_on_as_long_again() -> None:
    late = _home(1, ends_in=-timedelta(minutes=30))
    (stay,) = _part((_task(0, 8, 30.0),), local=late).staying
    assert stay.starts_in == _HOUR


def test_gpus_held_by_nobody_known_are_not_free() -> None:
    local = replace(_home(1), running=())
    (stay,) = _part((_task(0, 8, 30.0),), local=local).staying
    assert stay.starts_in == RULES.assumed_runtime


def test_a_task_on_a_node_that_is_gone_holds_nothing() -> None:
    elsewhere = RunningTask(task="ghost", nodes=(("gone", Gpus(8)),), started_at=NOON, ends_at=NOON + _HOUR)
    local = LocalState(
        gpus=Gpus(8),
        gpus_used=Gpus(0),
        nodes=(LocalNode(name="home-0", gpus=Gpus(8), free=Gpus(8)),),
        running=(elsewhere,),
    )
    (stay,) = _part((_task(0, 8, 1.0),), local=local).staying
    assert stay.starts_in == timedelta(0)


def test_a_node_with_fewer_gpus_takes_no_more_than_it_has() -> None:
    local = LocalState(
        gpus=Gpus(12),
        gpus_used=Gpus(8),
        nodes=(
            LocalNode(name="large", gpus=Gpus(8), free=Gpus(0)),
            LocalNode(name="small", gpus=Gpus(4), free=Gpus(4)),
        ),
        running=(RunningTask(task="r", nodes=(("large", Gpus(8)),), started_at=NOON, ends_at=NOON + _HOUR),),
    )
    queue = (_task(0, 8, 50.0), _task(1, 4, 1.0))
    starts = {stay.task.gpus: stay.starts_in for stay in _part(queue, local=local).staying}
    assert starts == {8: _HOUR, 4: timedelta(0)}


def test_a_task_that_no_owned_node_can_take_leaves() -> None:
    assert [task.gpus for task in _part((_task(0, 24, 1.0),), local=_home(2)).leaving] == [24]


def test_those_beyond_the_look_wait_for_their_turn() -> None:
    queue = tuple(_task(number, 8, 30.0 + number) for number in range(4))
    parting = _part(queue, replace(RULES, look_at=2))
    assert [stay.why for stay in parting.staying][2:] == ["more than 2 tasks come before it"] * 2


def test_under_thresholds_alone_it_has_no_opinion() -> None:
    proposal = wait_or_pay.propose(a_snapshot(), a_policy(), Memory())
    assert proposal.reason.code is ReasonCode.OFF


def test_patience_alone_rents_without_waiting_for_the_thresholds() -> None:
    policy = replace(a_policy(), wait_or_pay=RULES)
    snapshot = a_snapshot(local=_home(), queue=(_task(0, 1, 1.0),))
    decision, _ = decide(snapshot, policy, Memory())
    assert decision.action is Action.GROW
    assert decision.chosen.policy == "wait_or_pay"
    assert decision.changes[0].delta == 1


def test_when_all_do_better_to_wait_it_says_so_of_each() -> None:
    policy = replace(a_policy(), wait_or_pay=RULES)
    queue = tuple(_task(number, 8, 60.0) for number in range(7))
    decision, _ = decide(a_snapshot(local=_home(), queue=queue), policy, Memory())
    assert decision.action is Action.HOLD
    assert decision.chosen.reason.code is ReasonCode.WORTH_WAITING
    (mine,) = (proposal for proposal, _ in decision.rejected if proposal.policy == "wait_or_pay")
    assert [other.what for other in mine.alternatives][-1] == "leave: 2 more"
    assert len(mine.alternatives) == 6


@pytest.mark.parametrize(
    ("snapshot", "code"),
    [
        (a_snapshot(queue=()), ReasonCode.BELOW_THRESHOLD),
        (a_snapshot(queue=Unknown("no answer")), ReasonCode.SIGNAL_UNKNOWN),
        (replace(a_snapshot(), blind_stacks=("burst-aws",)), ReasonCode.SIGNAL_UNKNOWN),
        (a_snapshot(local=Unknown("cut off"), queue=(a_task(),)), ReasonCode.SIGNAL_UNKNOWN),
    ],
)
def test_patience_holds_when_nothing_waits_or_too_little_is_known(snapshot: Snapshot, code: ReasonCode) -> None:
    policy = replace(a_policy(), wait_or_pay=RULES)
    proposal = wait_or_pay.propose(snapshot, policy, Memory())
    assert proposal.action is Action.HOLD
    assert proposal.reason.code is code


@given(
    tasks=st.lists(st.tuples(st.sampled_from([1, 2, 4, 8, 16]), st.floats(0.1, 50.0)), max_size=12),
    ends_in=st.floats(0.1, 20.0),
)
def test_a_queue_is_split_and_nobody_is_lost(tasks: list[tuple[int, float]], ends_in: float) -> None:
    queue = tuple(_task(number, gpus, hours) for number, (gpus, hours) in enumerate(tasks))
    parting = _part(queue, local=_home(2, ends_in=ends_in * _HOUR))
    names = [task.task for task in parting.leaving] + [stay.task.task for stay in parting.staying]
    assert sorted(names) == [task.task for task in queue]


@given(
    sizes=st.lists(st.integers(1, 8), min_size=1, max_size=4),
    held=st.lists(st.tuples(st.integers(0, 3), st.integers(1, 16), st.integers(-2, 20)), max_size=8),
    free=st.integers(0, 8),
)
def test_cards_that_failed_under_their_work_and_shared_cards_stop_no_judgement(
    sizes: list[int], held: list[tuple[int, int, int]], free: int
) -> None:
    """A pod keeps its 8 GPUs on a node that has 7 left; where cards are shared more are held than there are."""
    home = LocalState(
        gpus=Gpus(sum(sizes)),
        gpus_used=Gpus(sum(sizes)),
        nodes=tuple(
            LocalNode(name=f"n{n}", gpus=Gpus(size), free=Gpus(min(free, size))) for n, size in enumerate(sizes)
        ),
        running=tuple(
            RunningTask(task=f"r{n}", nodes=((f"n{node}", Gpus(gpus)),), started_at=NOON, ends_at=NOON + hours * _HOUR)
            for n, (node, gpus, hours) in enumerate(held)
        ),
    )
    queue = (_task(0, 1, 1.0), _task(1, 8, 20.0), _task(2, 16, 5.0))
    parting = _part(queue, local=home)
    assert len(parting.leaving) + len(parting.staying) == 3


def test_work_without_gpus_waits_for_none() -> None:
    task = replace(_task(0, 1, 1.0), gpus=Gpus(0), gpus_per_pod=Gpus(0))
    assert _part((task, _task(1, 8, 50.0))).leaving[0] == task


def test_under_thresholds_a_task_that_waited_as_long_as_its_tier_allows_is_rented_for_all_the_same() -> None:
    policy = replace(a_policy(), wait_or_pay=replace(RULES, join=Join.BOTH))
    core = replace(_task(0, 8, 100.0, Tier.PRODUCTION_CORE), queued_since=NOON - timedelta(minutes=5))
    for queue, action in (((core,), Action.GROW), ((replace(core, queued_since=NOON),), Action.HOLD)):
        snapshot = a_snapshot(local=_home(), queue=queue)
        decision, _ = decide(snapshot, policy, Memory())
        assert decision.action is action
    assert decide(a_snapshot(local=_home(), queue=(core,)), a_policy(), Memory())[0].action is Action.HOLD


def test_an_overdue_task_that_fits_at_home_is_not_rented_for_nor_when_home_is_unknown() -> None:
    policy = replace(a_policy(), wait_or_pay=replace(RULES, join=Join.BOTH))
    core = replace(_task(0, 8, 100.0, Tier.PRODUCTION_CORE), queued_since=NOON - timedelta(minutes=6))
    free = LocalState(
        gpus=Gpus(8), gpus_used=Gpus(0), nodes=(LocalNode(name="n", gpus=Gpus(8), free=Gpus(8)),), running=()
    )
    for local in (free, replace(free, nodes=()), Unknown("no answer")):
        assert decide(a_snapshot(local=local, queue=(core,)), policy, Memory())[0].action is Action.HOLD
    blind = decide(a_snapshot(queue=Unknown("no answer")), policy, Memory())[0]
    reasons = {proposal.policy: reason.code for proposal, reason in blind.rejected}
    assert reasons["wait_or_pay"] is ReasonCode.SIGNAL_UNKNOWN


def test_nobody_parts_a_queue_that_is_not_known() -> None:
    blind = as_joined(a_snapshot(queue=Unknown("no answer")), (), a_policy())
    assert isinstance(blind, Unknown)
    assert blind.why == "the queue is unknown: no answer"
