"""R4.2: in when local use has been low for long enough and rented nodes stand idle; oldest first."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from agent.core.decide import decide, remember_attempt
from agent.core.decision import Action, ReasonCode
from agent.core.memory import observe
from agent.core.policy import Policy
from agent.core.snapshot import NodePhase, Unknown
from tests.builders import EVERY, NOON, a_node, a_policy, a_pool, a_snapshot, decided, tasks, watched


def leaving(decision: object) -> list[str]:
    return [victim for change in decision.changes for victim in change.victims]  # type: ignore[attr-defined]


def test_gives_back_nodes_that_were_idle_for_an_hour_in_a_quiet_cluster() -> None:
    decision = decided(a_snapshot(use=40.0, pools=[a_pool(a_node(1), a_node(2))]))
    assert decision.action is Action.SHRINK
    assert leaving(decision) == ["i-001", "i-002"]
    assert decision.cost_per_hour.amount < 0


def test_the_oldest_leave_first_and_a_step_is_bounded() -> None:
    nodes = [a_node(number, since=NOON - timedelta(hours=3, minutes=number)) for number in range(14)]
    decision = decided(a_snapshot(use=5.0, pools=[a_pool(*nodes)]))
    assert sorted(leaving(decision)) == [f"i-{number:03d}" for number in range(4, 14)]


def test_holds_while_local_use_is_above_the_threshold() -> None:
    assert decided(a_snapshot(use=40.1, pools=[a_pool(a_node(1))])).action is Action.HOLD


def test_a_node_idle_for_less_than_an_hour_stays() -> None:
    snapshot = a_snapshot(use=5.0, pools=[a_pool(a_node(1))])
    memory = watched(snapshot, timedelta(minutes=59))
    assert decided(snapshot, memory).action is Action.HOLD
    assert decided(snapshot, watched(snapshot, timedelta(minutes=60))).action is Action.SHRINK


def test_a_busy_node_never_leaves() -> None:
    pools = [a_pool(a_node(1, used=1), a_node(2))]
    assert leaving(decided(a_snapshot(use=5.0, pools=pools))) == ["i-002"]


def test_work_in_between_starts_the_idle_clock_again() -> None:
    snapshot = a_snapshot(use=5.0, pools=[a_pool(a_node(1))])
    busy = a_snapshot(NOON - 2 * EVERY, use=5.0, pools=[a_pool(a_node(1, used=8))])
    memory = observe(watched(replace(snapshot, taken_at=NOON - 3 * EVERY)), busy, timedelta(minutes=2))
    assert decided(snapshot, memory).action is Action.HOLD


def test_a_gap_in_watching_starts_all_idle_clocks_again() -> None:
    snapshot = a_snapshot(use=5.0, pools=[a_pool(a_node(1))])
    memory = watched(replace(snapshot, taken_at=NOON - timedelta(minutes=30)))
    for step in range(40):
        decision, memory = decide(replace(snapshot, taken_at=NOON + step * EVERY), a_policy(), memory)
        assert decision.action is Action.HOLD


def test_unknown_local_use_keeps_every_node() -> None:
    decision = decided(a_snapshot(use=Unknown("no exporter"), pools=[a_pool(a_node(1))]))
    assert decision.action is Action.HOLD
    assert decision.chosen.reason.code is ReasonCode.SIGNAL_UNKNOWN


def test_a_pool_that_cannot_be_read_keeps_its_nodes_and_the_others_still_leave() -> None:
    pools = [
        a_pool(configured=3, observed=Unknown("throttled")),
        a_pool(a_node(7, pool="eks-l4-spot"), pool="eks-l4-spot"),
    ]
    assert leaving(decided(a_snapshot(use=5.0, pools=pools))) == ["i-007"]


def test_a_node_that_is_still_booting_is_not_idle() -> None:
    pools = [a_pool(a_node(1, NodePhase.BOOTING, since=NOON - timedelta(minutes=5)))]
    assert decided(a_snapshot(use=5.0, pools=pools)).action is Action.HOLD


def test_an_empty_cordoned_node_leaves_too_for_it_costs_as_much() -> None:
    pools = [a_pool(a_node(1, NodePhase.DRAINING))]
    assert leaving(decided(a_snapshot(use=5.0, pools=pools))) == ["i-001"]


def test_no_second_shrink_within_the_cool_down() -> None:
    snapshot = a_snapshot(use=5.0, pools=[a_pool(*(a_node(number) for number in range(14)))])
    policy = a_policy()
    first, memory = decide(snapshot, policy, watched(snapshot))
    memory = remember_attempt(memory, first, policy)
    soon, _ = decide(replace(snapshot, taken_at=NOON + EVERY), policy, memory)
    assert soon.action is Action.HOLD
    assert soon.chosen.reason.code is ReasonCode.COOL_DOWN


def test_queue_pressure_outranks_nothing_when_both_would_act() -> None:
    nodes = [a_node(number) for number in range(2)]
    decision = decided(a_snapshot(use=95.0, queue=tasks(30), pools=[a_pool(*nodes)]))
    assert decision.action is Action.GROW


def sparing(minutes: int = 20, **more: object) -> Policy:
    policy = a_policy()
    rules = replace(policy.idle_reclaim, spare_after=timedelta(minutes=minutes), **more)  # type: ignore[arg-type]
    return replace(policy, idle_reclaim=rules)


def test_spare_after_gives_an_idle_node_back_however_busy_the_owned_cluster_is() -> None:
    snapshot = a_snapshot(use=97.0, pools=[a_pool(a_node(1), a_node(2, used=3))])
    memory = watched(snapshot, timedelta(minutes=20))
    assert leaving(decided(snapshot, memory, sparing())) == ["i-001"]
    assert decided(snapshot, watched(snapshot, timedelta(minutes=19)), sparing()).action is Action.HOLD
    assert decided(snapshot, memory, a_policy()).action is Action.HOLD


def test_spare_after_waits_for_the_nodes_that_are_still_coming() -> None:
    coming = a_node(3, NodePhase.BOOTING, since=NOON - timedelta(minutes=5))
    for pool in (a_pool(a_node(1), coming), a_pool(a_node(1), configured=2)):
        snapshot = a_snapshot(use=97.0, pools=[pool])
        decision = decided(snapshot, watched(snapshot, timedelta(minutes=19)), sparing(1))
        assert "i-001" not in leaving(decision)


def test_spare_after_holds_while_local_use_is_unknown() -> None:
    snapshot = a_snapshot(use=Unknown("no exporter"), pools=[a_pool(a_node(1))])
    assert decided(snapshot, policy=sparing()).action is Action.HOLD


def test_spare_after_is_weighed_against_a_boot_where_the_policy_says_so() -> None:
    snapshot = a_snapshot(use=97.0, pools=[a_pool(a_node(1))])
    eight, nine = (watched(snapshot, timedelta(minutes=minutes)) for minutes in (8, 9))
    assert decided(snapshot, eight, sparing(1, weigh_boot=True)).action is Action.HOLD
    assert decided(snapshot, nine, sparing(1, weigh_boot=True)).action is Action.SHRINK


def test_in_a_quiet_cluster_the_shorter_of_the_two_spans_gives_back() -> None:
    snapshot = a_snapshot(use=5.0, pools=[a_pool(a_node(1))])
    assert decided(snapshot, watched(snapshot, timedelta(minutes=20)), sparing()).action is Action.SHRINK
    assert decided(snapshot, watched(snapshot, timedelta(minutes=60)), sparing(90)).action is Action.SHRINK
