"""A decision in sentences: the whole text of each kind, from recorded values alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.codec import from_json, to_json
from agent.core.decision import Action, Alternative, Decision, Evidence, PoolChange, Proposal, Reason, ReasonCode
from agent.core.explain import headline, losers, sentences
from agent.core.snapshot import Unknown
from contract.units import Money, Nodes
from tests.builders import NOON, a_node, a_pool, a_snapshot, decided, tasks, watched


def cny(amount: str) -> Money:
    return Money(Decimal(amount), "CNY")


def a_reason(text: str, code: ReasonCode = ReasonCode.TRIGGERED) -> Reason:
    return Reason(code=code, text=text)


def a_change(before: int, after: int, *victims: str, pool: str = "ack-a100-od") -> PoolChange:
    return PoolChange(pool=pool, stack="burst-alicloud", before=Nodes(before), after=Nodes(after), victims=victims)


IDLE = Proposal(policy="idle_reclaim", action=Action.HOLD, reason=a_reason("not quiet", ReasonCode.BELOW_THRESHOLD))
FULL = Evidence(name="local GPU use", seen="95.0 % now", wanted="at or above 85.0 % for 5m", met=True)

GROW = Decision(
    taken_at=NOON,
    chosen=Proposal(
        policy="queue_pressure",
        action=Action.GROW,
        reason=a_reason("7 tasks wait for 56 GPUs"),
        evidence=(FULL,),
        changes=(a_change(0, 4), a_change(2, 3, pool="eks-a100-od")),
        alternatives=(
            Alternative(
                what="eks-h100-od +7",
                cost_per_hour=cny("2743.19"),
                lost_because=a_reason("¥48.99 per GPU-hour against ¥34.74 of ack-a100-od", ReasonCode.DEARER),
            ),
        ),
    ),
    cost_per_hour=cny("1389.665"),
    caps=(a_reason("at most 5 rented nodes in all: 7 nodes of ack-a100-od became 4", ReasonCode.NODE_LIMIT),),
    rejected=((IDLE, IDLE.reason),),
)
SHRINK = Decision(
    taken_at=NOON,
    chosen=Proposal(
        policy="idle_reclaim",
        action=Action.SHRINK,
        reason=a_reason("2 rented nodes have been idle for 1h"),
        evidence=(replace(FULL, seen="2.0 % now", wanted="at or below 40.0 % for 10m"),),
        changes=(a_change(3, 1, "i-001", "i-002"),),
    ),
    cost_per_hour=cny("-555.866"),
)
HOLD = Decision(
    taken_at=NOON,
    chosen=Proposal(
        policy="hold",
        action=Action.HOLD,
        reason=a_reason("local use is unknown: Prometheus gave no series", ReasonCode.SIGNAL_UNKNOWN),
        evidence=(replace(FULL, seen="unknown now", met=None), Evidence(name="q", seen="0", wanted="5", met=False)),
    ),
    cost_per_hour=cny("0"),
    rejected=((IDLE, a_reason("queue_pressure comes first", ReasonCode.OUTRANKED)),),
)


def test_a_growth_is_told_from_what_is_bought_to_what_lost() -> None:
    assert sentences(GROW) == (
        "Burst: ack-a100-od 0 -> 4 (+4), eks-a100-od 2 -> 3 (+1); ¥1,389.66 an hour more.",
        "Because (queue_pressure): 7 tasks wait for 56 GPUs.",
        "Seen: local GPU use 95.0 % now; wanted at or above 85.0 % for 5m (met).",
        "Cut down: at most 5 rented nodes in all: 7 nodes of ack-a100-od became 4.",
        "Considered eks-h100-od +7 at ¥2,743.19 an hour: lost because "
        "¥48.99 per GPU-hour against ¥34.74 of ack-a100-od.",
        "Considered idle_reclaim (hold): not quiet.",
        "Considered do nothing at ¥0.00 an hour: lost because "
        "queue_pressure asks for a change: 7 tasks wait for 56 GPUs.",
    )


def test_a_shrink_names_every_node_that_leaves_and_what_is_saved() -> None:
    assert sentences(SHRINK) == (
        "Give back: ack-a100-od 3 -> 1 (-2); ¥555.87 an hour less.",
        "Because (idle_reclaim): 2 rented nodes have been idle for 1h.",
        "Seen: local GPU use 2.0 % now; wanted at or below 40.0 % for 10m (met).",
        "Leaving ack-a100-od: i-001, i-002; all other nodes are protected meanwhile.",
        "Considered do nothing at ¥0.00 an hour: lost because "
        "idle_reclaim asks for a change: 2 rented nodes have been idle for 1h.",
    )


def test_doing_nothing_is_explained_too_and_doubt_is_no_no() -> None:
    assert sentences(HOLD) == (
        "Hold: local use is unknown: Prometheus gave no series.",
        "Seen: local GPU use unknown now; wanted at or above 85.0 % for 5m (unknown).",
        "Seen: q 0; wanted 5 (not met).",
        "Considered idle_reclaim (hold): queue_pressure comes first.",
    )


def test_what_a_losing_policy_considered_is_told_too_and_twice_by_nobody() -> None:
    """A hold has no pools of its own: those that could have been bought stand with the policy that was held."""
    wanting = replace(GROW.chosen, policy="queue_pressure")
    waiting = a_reason("2m left of the 5m after the last growth", ReasonCode.COOL_DOWN)
    hold = replace(HOLD, rejected=((wanting, waiting), (replace(wanting, policy="wait_or_pay"), waiting)))
    assert [(loser.by, loser.what) for loser in losers(hold)] == [
        ("queue_pressure", "queue_pressure: grow ack-a100-od 0 -> 4 (+4) eks-a100-od 2 -> 3 (+1)"),
        ("queue_pressure", "eks-h100-od +7"),
        ("wait_or_pay", "wait_or_pay: grow ack-a100-od 0 -> 4 (+4) eks-a100-od 2 -> 3 (+1)"),
    ]
    lines = sentences(hold)
    assert (
        "Considered queue_pressure (grow ack-a100-od 0 -> 4 (+4) eks-a100-od 2 -> 3 (+1)): " + waiting.text + "."
        in lines
    )
    assert sum("eks-h100-od +7" in line for line in lines) == 1


@settings(max_examples=40, deadline=None)
@given(queued=st.integers(0, 40), use=st.floats(0, 100), last=st.integers(0, 20), idle=st.integers(0, 3))
def test_every_alternative_of_every_policy_is_told_with_the_reason_it_lost(
    queued: int, use: float, last: int, idle: int
) -> None:
    nodes = [a_node(number) for number in range(idle)]
    snapshot = a_snapshot(use=use, queue=tasks(queued), pools=[a_pool(*nodes), a_pool(pool="eks-l4-spot")])
    memory = replace(watched(snapshot), last_grow=NOON - timedelta(minutes=last))
    decision = decided(snapshot, memory)
    told = {(loser.what, loser.lost_because) for loser in losers(decision)}
    considered = [decision.chosen, *(proposal for proposal, _ in decision.rejected)]
    assert {(item.what, item.lost_because) for proposal in considered for item in proposal.alternatives} <= told
    assert {reason for _, reason in decision.rejected} <= {reason for _, reason in told}
    text = "\n".join(sentences(decision))
    assert all(reason.text in text for _, reason in told)
    assert all(cap.text in text for cap in decision.caps)


@pytest.mark.parametrize("decision", [GROW, SHRINK, HOLD], ids=lambda decision: decision.action.value)
def test_a_stored_decision_is_explained_in_the_same_words(decision: Decision) -> None:
    assert sentences(from_json(Decision, to_json(decision))) == sentences(decision)


@pytest.mark.parametrize("decision", [GROW, SHRINK, HOLD], ids=lambda decision: decision.action.value)
def test_the_headline_is_one_line_and_the_first_sentence(decision: Decision) -> None:
    assert headline(decision) == sentences(decision)[0]
    assert "\n" not in headline(decision)


@pytest.mark.parametrize(
    ("cost", "says"), [("0", "¥0.00 an hour more"), ("12.5", "¥12.50 an hour more"), ("-12.5", "¥12.50 an hour less")]
)
def test_money_is_said_as_more_or_less_and_never_with_a_sign(cost: str, says: str) -> None:
    assert headline(replace(GROW, cost_per_hour=cny(cost))).endswith(f"; {says}.")


def test_an_order_that_is_taken_back_names_no_node() -> None:
    taken_back = replace(SHRINK, chosen=replace(SHRINK.chosen, changes=(a_change(6, 1),)))
    assert not any("Leaving" in line for line in sentences(taken_back))


@settings(max_examples=40, deadline=None)
@given(queued=st.integers(0, 40), use=st.one_of(st.none(), st.floats(0, 100)), idle=st.integers(0, 3))
def test_every_real_decision_has_a_cause_and_tells_each_loser_once(queued: int, use: float | None, idle: int) -> None:
    nodes = [a_node(number) for number in range(idle)]
    level = Unknown("no answer") if use is None else use
    snapshot = a_snapshot(use=level, queue=tasks(queued), pools=[a_pool(*nodes), a_pool(pool="eks-l4-spot")])
    decision = decided(snapshot)
    lines = sentences(decision)
    assert lines[0].partition(":")[0] in ("Hold", "Burst", "Give back")
    assert (decision.action is Action.HOLD) == lines[0].startswith("Hold")
    assert sum(line.startswith("Because (") for line in lines) == (decision.action is not Action.HOLD)
    for proposal, _ in decision.rejected:
        assert sum(line.startswith(f"Considered {proposal.policy} (") for line in lines) == 1
    assert all(line.endswith(".") and "\n" not in line for line in lines)
