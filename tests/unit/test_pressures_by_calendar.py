"""R4.3, R4.4, R4.6: windows that keep nodes, nights that give them back, approved forecasts, the warm pool."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

from agent.core.calendar_windows import WindowRule
from agent.core.decide import decide
from agent.core.decision import Action, Decision, ReasonCode
from agent.core.memory import Memory
from agent.core.policy import Calendar, Policy, Prewarm, WarmPool
from agent.core.rules.prewarm import PrewarmWindow
from agent.core.rules.windows import KeepWindow
from agent.core.snapshot import NodePhase, Unknown
from contract.units import Nodes
from tests.builders import NOON, a_node, a_policy, a_pool, a_snapshot, decided, tasks, watched

HOUR = timedelta(hours=1)


def a_window(opens_in: timedelta = timedelta(0), name: str = "rush", **more: object) -> KeepWindow:
    """Open for four hours from NOON + opens_in."""
    opens = NOON + opens_in
    rule = WindowRule(
        name=name,
        zone="UTC",
        at=timedelta(hours=opens.hour, minutes=opens.minute),
        length=4 * HOUR,
        dates=(opens.date(),),
    )
    return replace(KeepWindow(rule=rule, nodes=Nodes(3)), **more)  # type: ignore[arg-type]


def night(name: str = "night", **more: object) -> KeepWindow:
    return a_window(-HOUR, name, nodes=Nodes(0), give_back_idle=True, **more)


def with_windows(*windows: KeepWindow) -> Policy:
    return replace(a_policy(), calendar=Calendar(windows=windows))


def with_warm(nodes: int, pool: str | None = None, *windows: KeepWindow) -> Policy:
    return replace(with_windows(*windows), warm_pool=WarmPool(nodes=Nodes(nodes), pool=pool))


def growth(decision: Decision) -> dict[str, int]:
    return {change.pool: change.delta for change in decision.changes}


def leaving(decision: Decision) -> list[str]:
    return [victim for change in decision.changes for victim in change.victims]


def said(decision: Decision, policy: str) -> str:
    return next(reason.text for proposal, reason in decision.rejected if proposal.policy == policy)


# ---- windows that keep ----


def test_an_open_window_brings_its_nodes_without_load_or_queue() -> None:
    decision = decided(a_snapshot(use=5.0), policy=with_windows(a_window()))
    assert decision.chosen.policy == "calendar"
    assert growth(decision) == {"ack-a100-od": 3}
    assert "window rush keeps 3 nodes, 0 are rented" in decision.chosen.reason.text


def test_they_are_rented_a_lead_before_it_opens_and_not_earlier() -> None:
    soon = a_window(HOUR, lead=HOUR)
    assert decided(a_snapshot(), policy=with_windows(soon)).action is Action.GROW
    assert decided(a_snapshot(), policy=with_windows(a_window(2 * HOUR, lead=HOUR))).action is Action.HOLD


def test_only_what_is_missing_is_rented_and_a_node_under_notice_is_missing() -> None:
    pools = [a_pool(a_node(1), replace(a_node(2), reclaim_at=NOON + timedelta(minutes=2)))]
    assert growth(decided(a_snapshot(use=5.0, pools=pools), policy=with_windows(a_window()))) == {"ack-a100-od": 2}


def test_named_pools_are_taken_and_counted_alone() -> None:
    window = a_window(pools=("eks-l4-spot",))
    pools = [a_pool(a_node(1)), a_pool(pool="eks-l4-spot")]
    assert growth(decided(a_snapshot(pools=pools), policy=with_windows(window))) == {"eks-l4-spot": 3}


def test_kept_nodes_do_not_go_back_while_it_is_open_and_do_afterwards() -> None:
    quiet = a_snapshot(use=5.0, pools=[a_pool(*(a_node(number) for number in range(5)))])
    kept = decided(quiet, policy=with_windows(a_window()))
    assert len(leaving(kept)) == 2
    over = decided(quiet, policy=with_windows(a_window(-5 * HOUR)))
    assert len(leaving(over)) == 5


def test_a_window_that_has_its_nodes_says_so() -> None:
    snapshot = a_snapshot(pools=[a_pool(a_node(1, used=8), a_node(2, used=8), a_node(3, used=8))])
    decision = decided(snapshot, policy=with_windows(a_window()))
    assert said(decision, "calendar") == "window rush keeps 3 nodes, 3 are rented"


def test_a_window_whose_pools_are_full_does_not_hide_the_next() -> None:
    full = a_window(name="full", pools=("eks-l4-spot",), nodes=Nodes(99))
    pools = [
        a_pool(),
        a_pool(*(a_node(number, pool="eks-l4-spot", used=8) for number in range(12)), pool="eks-l4-spot"),
    ]
    decision = decided(a_snapshot(pools=pools), policy=with_windows(full, a_window(pools=("ack-a100-od",))))
    assert growth(decision) == {"ack-a100-od": 3}
    alone = decided(a_snapshot(pools=pools), policy=with_windows(full))
    assert alone.chosen.reason.code is ReasonCode.NOTHING_FITS


def test_a_step_and_the_cool_down_bind_it() -> None:
    policy = with_windows(a_window(nodes=Nodes(15)))
    decision = decided(a_snapshot(), policy=policy)
    assert growth(decision) == {"ack-a100-od": 10}
    assert [cap.code for cap in decision.caps] == [ReasonCode.STEP_LIMIT]
    memory = replace(watched(a_snapshot()), last_grow=NOON - timedelta(minutes=1))
    assert decided(a_snapshot(), memory, policy).chosen.reason.code is ReasonCode.COOL_DOWN


def test_a_stack_that_cannot_be_read_holds_every_window() -> None:
    blind = replace(a_snapshot(), blind_stacks=("burst-aws",))
    decision = decided(blind, policy=with_windows(a_window()))
    assert decision.action is Action.HOLD
    assert decision.chosen.reason.code is ReasonCode.SIGNAL_UNKNOWN


def test_it_outranks_the_queue_which_is_told_so() -> None:
    decision = decided(a_snapshot(queue=tasks(9)), policy=with_windows(a_window()))
    assert decision.chosen.policy == "calendar"
    assert said(decision, "queue_pressure") == "calendar comes first"


# ---- nights that give back ----


def test_at_night_idle_nodes_go_back_at_once_whatever_local_use_is() -> None:
    nodes = (a_node(1), a_node(2, used=8), a_node(3))
    snapshot = a_snapshot(use=95.0, pools=[a_pool(*nodes)])
    memory = watched(snapshot, timedelta(minutes=5))
    assert leaving(decided(snapshot, memory, with_windows(night()))) == ["i-001", "i-003"]
    assert decided(snapshot, memory).action is Action.HOLD
    assert decided(snapshot, memory, with_windows(replace(night(), rule=a_window(HOUR).rule))).action is Action.HOLD


def test_unknown_use_does_not_stop_it_for_it_needs_none() -> None:
    snapshot = a_snapshot(use=Unknown("no exporter"), pools=[a_pool(a_node(1))])
    assert leaving(decided(snapshot, policy=with_windows(night()))) == ["i-001"]


def test_a_node_that_came_a_moment_ago_gets_its_first_task_first() -> None:
    snapshot = a_snapshot(pools=[a_pool(a_node(1))])
    decision = decided(snapshot, watched(snapshot, timedelta(minutes=4)), with_windows(night()))
    assert decision.action is Action.HOLD
    assert "no rented node has been idle for 5m" in said(decision, "calendar")


def test_what_another_window_keeps_stays_the_rest_goes() -> None:
    snapshot = a_snapshot(pools=[a_pool(*(a_node(number) for number in range(4)))])
    assert len(leaving(decided(snapshot, policy=with_windows(a_window(), night())))) == 1
    three = a_snapshot(pools=[a_pool(*(a_node(number) for number in range(3)))])
    decision = decided(three, policy=with_windows(a_window(), night()))
    assert decision.action is Action.HOLD
    assert decision.chosen.reason.text == "window night is open, the 3 idle nodes stay for window rush"


def test_a_node_that_is_paid_for_anyway_stays() -> None:
    policy = with_windows(night())
    policy = replace(policy, idle_reclaim=replace(policy.idle_reclaim, keep_at_least=4 * HOUR))
    assert decided(a_snapshot(pools=[a_pool(a_node(1))]), policy=policy).action is Action.HOLD


# ---- idle reclaim, weighed ----


def test_a_node_must_idle_for_as_long_as_a_boot_when_that_is_weighed() -> None:
    policy = a_policy()
    hasty = replace(policy.idle_reclaim, node_idle_for=timedelta(minutes=1), weigh_boot=True)
    snapshot = a_snapshot(use=5.0, pools=[a_pool(a_node(1))])
    policy = replace(policy, idle_reclaim=replace(hasty, hold_for=timedelta(minutes=2)))
    assert decided(snapshot, watched(snapshot, timedelta(minutes=8)), policy).action is Action.HOLD
    assert leaving(decided(snapshot, watched(snapshot, timedelta(minutes=9)), policy)) == ["i-001"]


# ---- approved forecasts ----


def test_an_approved_forecast_brings_its_nodes_and_ranks_after_the_calendar() -> None:
    entry = PrewarmWindow(window=a_window(name="forecast"), approved_by="lin", approved_on=date(2026, 11, 1))
    policy = replace(a_policy(), prewarm=Prewarm(windows=(entry,)))
    assert decided(a_snapshot(), policy=policy).chosen.policy == "prewarm"
    both = replace(policy, calendar=Calendar(windows=(a_window(),)))
    decision = decided(a_snapshot(), policy=both)
    assert decision.chosen.policy == "calendar"
    assert said(decision, "prewarm") == "calendar comes first"
    later = replace(a_snapshot(), taken_at=NOON + 9 * HOUR)
    assert said(decide(later, policy, Memory())[0], "prewarm") == "no approved forecast is due"


# ---- warm pool ----


def test_so_many_nodes_stand_idle_and_what_comes_counts() -> None:
    assert growth(decided(a_snapshot(), policy=with_warm(2))) == {"ack-a100-od": 2}
    pools = [a_pool(a_node(1), a_node(2, used=8), a_node(3, NodePhase.BOOTING, since=NOON))]
    decision = decided(a_snapshot(pools=pools), policy=with_warm(2))
    assert decision.action is Action.HOLD
    assert said(decision, "warm_pool") == "2 nodes are idle or coming, 2 are wanted"


def test_a_task_that_takes_one_makes_room_for_the_next() -> None:
    pools = [a_pool(a_node(1, used=8), a_node(2))]
    assert growth(decided(a_snapshot(pools=pools), policy=with_warm(2))) == {"ack-a100-od": 1}


def test_a_named_pool_may_be_spot_and_counts_alone() -> None:
    pools = [a_pool(a_node(1)), a_pool(pool="eks-l4-spot")]
    assert growth(decided(a_snapshot(pools=pools), policy=with_warm(1, "eks-l4-spot"))) == {"eks-l4-spot": 1}


def test_warm_nodes_are_not_given_back_but_a_cordoned_one_is() -> None:
    nodes = (a_node(1), a_node(2), a_node(3), a_node(4, NodePhase.DRAINING))
    decision = decided(a_snapshot(use=5.0, pools=[a_pool(*nodes)]), policy=with_warm(2))
    assert leaving(decision) == ["i-001", "i-004"]


def test_at_night_there_is_no_warm_pool() -> None:
    decision = decided(a_snapshot(pools=[a_pool(a_node(1))]), policy=with_warm(2, None, night()))
    assert leaving(decision) == ["i-001"]
    empty = decided(a_snapshot(), policy=with_warm(2, None, night()))
    assert empty.action is Action.HOLD
    assert said(empty, "warm_pool") == "a window that gives idle nodes back is open"


def test_it_holds_where_a_stack_is_blind_and_says_when_nothing_is_open() -> None:
    blind = replace(a_snapshot(), blind_stacks=("burst-aws",))
    assert decided(blind, policy=with_warm(2)).chosen.reason.code is ReasonCode.SIGNAL_UNKNOWN
    full = decided(a_snapshot(pools=[a_pool(configured=20)]), replace(Memory()), with_warm(30))
    assert full.chosen.reason.code is ReasonCode.NOTHING_FITS


def test_pools_that_may_not_grow_are_told_as_alternatives() -> None:
    memory = replace(
        watched(a_snapshot()),
        back_off_until={"ack-a100-od": NOON + HOUR},
        refused_until={"eks-l4-spot": NOON + HOUR},
    )
    decision = decided(a_snapshot(), memory, with_windows(a_window(pools=("ack-a100-od", "eks-l4-spot"))))
    proposal = next(proposal for proposal, _ in decision.rejected if proposal.policy == "calendar")
    assert {item.lost_because.code for item in proposal.alternatives} == {ReasonCode.BACKED_OFF}
    texts = " ".join(item.lost_because.text for item in proposal.alternatives)
    assert "its cloud could not deliver" in texts
    assert "its last change could not be carried out" in texts


def test_a_blind_and_an_unsettled_pool_are_closed_and_a_dearer_one_loses() -> None:
    pools = [a_pool(observed=Unknown("throttled")), a_pool(pool="eks-l4-spot", configured=1, applied=0)]
    window = a_window(pools=("ack-a100-od", "eks-l4-spot"))
    decision = decided(a_snapshot(pools=pools), policy=with_windows(window))
    proposal = next(proposal for proposal, _ in decision.rejected if proposal.policy == "calendar")
    codes = {item.lost_because.code for item in proposal.alternatives}
    assert codes == {ReasonCode.POOL_UNKNOWN, ReasonCode.NOT_SETTLED}
    both = decided(a_snapshot(), policy=with_windows(window))
    assert [item.lost_because.code for item in both.chosen.alternatives] == [ReasonCode.DEARER]
    assert datetime(2026, 11, 30, tzinfo=UTC).date() == NOON.date()
