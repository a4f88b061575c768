"""I44 (kedacore/keda#7475): NaN, +Inf and an empty answer mean unknown: the size is held, and it is said."""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.core.decision import Action, ReasonCode
from agent.core.snapshot import Unknown
from sim.world.faults import Fault, FaultKind
from tests.incidents.stage import Stage, StageHand
from tests.sim.builders import a_job

FILL = a_job("fill", gpus=16, duration_s=9e5)
MODES = ("nan", "inf", "empty")
modes = pytest.mark.parametrize("mode", MODES)


def blind_from_now(stage: Stage, *modes: str, each: timedelta = timedelta(minutes=5)) -> None:
    """The use query gives one bad answer after another."""
    start = stage.world.now_s
    for number, mode in enumerate(modes):
        from_s = start + number * each.total_seconds()
        until_s = from_s + each.total_seconds()
        stage.world.arm(
            [Fault(name=f"{mode}-{number}", kind=FaultKind.PROMETHEUS, mode=mode, from_s=from_s, until_s=until_s)]
        )


def test_a_full_site_with_a_queue_buys_nothing_while_its_use_is_unknown(hand: StageHand) -> None:
    stage = hand.stage()
    blind_from_now(stage, *MODES)
    stage.submit(FILL, *(a_job(f"task-{number}", duration_s=9e5) for number in range(6)))
    stage.run_for(timedelta(minutes=14))
    assert stage.acted() == []
    assert stage.standing() == set()
    stage.run_until(lambda: bool(stage.acted()), at_most=timedelta(minutes=5))
    assert stage.acted()[0].action is Action.GROW


def test_idle_nodes_stay_while_use_is_unknown_and_go_when_it_is_known_again(hand: StageHand) -> None:
    stage = hand.stage()
    stage.submit(a_job("short", gpus=16, duration_s=1200.0), a_job("task", duration_s=120.0))
    stage.run_until(lambda: stage.ready() == 1 and not stage.busy())
    standing = stage.standing()
    blind_from_now(stage, *MODES)
    stage.run_for(timedelta(minutes=14))
    assert stage.standing() == standing
    stage.run_until(lambda: not stage.standing(), at_most=timedelta(minutes=30))


@modes
def test_every_held_tick_says_why_and_the_ledger_keeps_it(hand: StageHand, mode: str) -> None:
    stage = hand.stage()
    blind_from_now(stage, mode)
    stage.submit(FILL, a_job("task", duration_s=9e5))
    stage.run_for(timedelta(minutes=4))
    ledger = stage.agent.hands.ledger
    stored = ledger.decisions(99, actions_only=False)
    assert len(stored) == len(stage.reports) == 8
    for item in stored:
        inputs = ledger.inputs(item.id)
        assert inputs is not None
        assert isinstance(inputs.snapshot.local_use, Unknown)
        assert item.decision.action is Action.HOLD
        assert item.decision.chosen.reason.code is ReasonCode.SIGNAL_UNKNOWN
        assert "local use is unknown: " in item.decision.chosen.reason.text


def test_one_good_answer_between_bad_ones_is_no_trend(hand: StageHand) -> None:
    """After KEDA issue 4249: a fallback that one good sample cancels flaps."""
    stage = hand.stage()
    stage.submit(FILL, a_job("task", duration_s=9e5))
    for number in range(20):
        start = stage.world.now_s + number * 60.0
        stage.world.arm(
            [
                Fault(
                    name=f"gap-{number}",
                    kind=FaultKind.PROMETHEUS,
                    mode="nan",
                    from_s=start + 15.0,
                    until_s=start + 45.0,
                )
            ]
        )
    stage.run_for(timedelta(minutes=19))
    known = [
        report for report in stage.reports if report.snapshot and not isinstance(report.snapshot.local_use, Unknown)
    ]
    assert 5 <= len(known) <= 30
    assert stage.acted() == []
