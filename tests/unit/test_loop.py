"""One tick with small fakes: the order of things, and what stays untouched when something is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from agent.core.config_change import config_changes, edit_desired
from agent.core.decision import Action
from agent.core.guard import PreviewStep
from agent.core.snapshot import NodePhase, PoolState, Snapshot, Unknown
from agent.errors import (
    CloudUnavailable,
    ExitCode,
    LedgerBroken,
    PendingOperations,
    PreviewRefused,
    PulumiTimeout,
    SignalUnavailable,
    SpillwayError,
    StackLocked,
)
from agent.ports import ChangeState
from tests.builders import (
    NOON,
    a_catalog,
    a_node,
    a_pool,
    a_snapshot,
    a_task,
    an_on_demand_row,
    an_owned_row,
    decided,
    tasks,
)
from tests.fakes.bench import Bench, bench
from tests.fakes.stacks import refused, stack_text


def idle_nodes() -> Snapshot:
    return a_snapshot(use=2.0, pools=[a_pool(a_node(1), a_node(2), a_node(3, used=8)), a_pool(pool="eks-l4-spot")])


def test_a_burst_goes_from_sample_to_applied_state() -> None:
    made = bench(a_snapshot(queue=tasks(7)))
    report = made.agent.tick()
    assert report.decision is not None
    assert report.decision.action is Action.GROW
    assert made.stacks.files["burst-alicloud"] == stack_text(ack_a100_od=7)
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": 7}
    assert made.stacks.log == ["file burst-alicloud", "up burst-alicloud"]
    assert [change.state for change in made.ledger.changes(9)] == [ChangeState.APPLIED]


def test_a_dry_run_touches_and_records_nothing() -> None:
    made = bench(a_snapshot(queue=tasks(7)))
    ticks = len(made.ledger.decisions(99, actions_only=False))
    report = made.agent.dry_run()
    assert report.decision is not None
    assert report.decision.action is Action.GROW
    assert made.stacks.log == []
    assert len(made.ledger.decisions(99, actions_only=False)) == ticks


def test_a_preview_with_any_other_step_changes_nothing() -> None:
    made = bench(a_snapshot(queue=tasks(7)))
    made.stacks.surprises = (PreviewStep(op="replace", urn="urn::cluster", type="aws:eks/cluster:Cluster", paths=()),)
    report = made.agent.tick()
    assert isinstance(report.error, PreviewRefused)
    assert report.error.exit_code is ExitCode.UNEXPECTED_CHANGES
    assert "unexpected replace" in report.error.what
    assert made.stacks.files["burst-alicloud"] == stack_text(ack_a100_od=0)
    assert made.stacks.log == []
    assert made.ledger.changes(1)[0].state is ChangeState.REFUSED


def test_a_ledger_that_cannot_be_written_buys_nothing() -> None:
    made = bench(a_snapshot(queue=tasks(7)))
    made.ledger.broken = True
    with pytest.raises(LedgerBroken):
        made.agent.tick()
    assert made.stacks.log == []


def test_a_plan_that_the_world_overtook_is_withdrawn() -> None:
    made = bench(a_snapshot(queue=tasks(7)), a_snapshot(queue=()))
    report = made.agent.tick()
    assert report.withdrawn == "the queue emptied meanwhile"
    assert made.stacks.log == []
    assert made.ledger.memory().last_grow is None, "a withdrawn plan starts no cool-down"


def test_an_edit_by_a_person_between_decision_and_act_wins() -> None:
    made = bench(a_snapshot(queue=tasks(7)))
    made.stacks.files["burst-alicloud"] = stack_text(ack_a100_od=3)
    report = made.agent.tick()
    assert report.error is not None
    assert report.error.exit_code is ExitCode.STALE_INPUTS
    assert made.stacks.files["burst-alicloud"] == stack_text(ack_a100_od=3)
    assert made.stacks.log == []


def test_a_failed_apply_holds_the_pool_until_the_file_is_back_to_what_the_state_holds() -> None:
    made = bench(a_snapshot(queue=tasks(7)))
    made.stacks.apply_error = refused()
    assert made.agent.tick().changes[0].state is ChangeState.UNSETTLED
    made.stacks.apply_error = None
    made.agent.tick()
    assert made.stacks.files["burst-alicloud"] == stack_text(ack_a100_od=0)
    assert made.ledger.changes(9)[-1].state is ChangeState.WITHDRAWN


def test_an_apply_that_timed_out_after_the_cloud_took_it_buys_nothing_twice() -> None:
    """The outcome is unknown: the state is asked again, and what it holds becomes the file's size."""
    made = bench(a_snapshot(queue=tasks(7)))
    made.stacks.apply_error = PulumiTimeout("ended after 1800 s", target="pulumi up", hint="wait")
    made.stacks.applies_before_error = True
    made.agent.tick()
    made.stacks.apply_error = None
    later = [a_snapshot(NOON + step * timedelta(minutes=6), queue=tasks(7), pools=[booting(7)]) for step in (1, 2)]
    for snapshot in later:
        made.sensor.snapshots = [snapshot]
        made.agent.tick()
    assert made.stacks.log == ["file burst-alicloud", "up burst-alicloud"]
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": 7}
    assert made.ledger.changes(9)[-1].state is ChangeState.APPLIED


def booting(count: int) -> PoolState:
    """Machines that the cloud launched and that are no nodes yet."""
    return a_pool(*(a_node(number, NodePhase.BOOTING, since=NOON) for number in range(count)))


def test_a_live_lock_is_waited_for_and_a_dead_one_released_by_a_later_tick() -> None:
    made = bench(a_snapshot(queue=tasks(7)))
    made.stacks.apply_error = StackLocked("locked by a person", target="s", hint="wait")
    made.agent.tick()
    made.stacks.recover_error = made.stacks.apply_error
    held = made.agent.tick()
    assert held.decision is not None
    assert held.decision.action is Action.HOLD
    assert any("locked by a person" in note for note in held.notes)
    made.stacks.recover_error = made.stacks.apply_error = None
    made.agent.tick()
    assert made.ledger.open_changes() == ()


def mixed_queue() -> Snapshot:
    """Work for two pools of one stack."""
    catalog = a_catalog(an_owned_row(), an_on_demand_row(quota=2), an_on_demand_row("ack-b", 20, "300"))
    pools = [a_pool(), a_pool(pool="ack-b")]
    return a_snapshot(queue=tasks(8), catalog=catalog, pools=pools)


def two_pools(snapshot: Snapshot) -> Bench:
    made = bench(snapshot)
    made.stacks.files["burst-alicloud"] = stack_text(ack_a100_od=0, ack_b=0)
    made.stacks.applied["burst-alicloud"] = {"ack-a100-od": 0, "ack-b": 0}
    return made


def test_after_half_an_apply_the_file_says_what_the_state_holds() -> None:
    made = two_pools(mixed_queue())
    made.stacks.sold_out = frozenset({"ack-a100-od"})
    report = made.agent.tick()
    assert [(change.state, change.failed_pools) for change in report.changes] == [
        (ChangeState.UNSETTLED, ("ack-a100-od",))
    ]
    made.agent.tick()
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": 0, "ack-b": 6}
    assert made.stacks.files["burst-alicloud"] == stack_text(ack_a100_od=0, ack_b=6)


def test_a_refused_pool_backs_off_and_the_next_best_is_tried_at_the_next_tick() -> None:
    snapshot = mixed_queue()
    made = two_pools(snapshot)
    made.stacks.sold_out = frozenset({"ack-a100-od", "ack-b"})
    made.agent.tick()
    memory = made.ledger.memory()
    assert set(memory.back_off_until) == {"ack-a100-od", "ack-b"}
    assert memory.last_grow is None, "nothing came of it, so no cool-down begins"
    made.stacks.sold_out = frozenset()
    later = replace(snapshot, taken_at=NOON + timedelta(seconds=30))
    made.sensor.snapshots = [later]
    held = made.agent.tick()
    assert held.decision is not None
    assert held.decision.action is Action.HOLD, "both pools back off"


def test_a_shrink_cordons_the_leaving_and_protects_the_staying_before_anything_shrinks() -> None:
    made = bench(idle_nodes(), size=3)
    made.cloud.protected = {"i-001"}
    report = made.agent.tick()
    assert [change.state for change in report.changes] == [ChangeState.APPLIED]
    assert made.gate.cordoned == ["node-001", "node-002"]
    assert made.cloud.protected == {"i-003"}
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": 1}


def test_work_that_arrives_on_a_leaving_node_stops_the_shrink_and_lets_work_in_again() -> None:
    made = bench(idle_nodes(), size=3)
    made.gate.busy = {"node-002": 4}
    report = made.agent.tick()
    assert report.changes[0].state is ChangeState.UNSETTLED
    made.agent.tick()
    assert made.gate.cordoned == []
    assert made.cloud.protected == set()
    assert made.stacks.log == []


def test_a_cloud_that_cannot_protect_stops_the_shrink() -> None:
    made = bench(idle_nodes(), size=3)
    made.cloud.error = CloudUnavailable("throttled", target="aws", hint="wait")
    report = made.agent.tick()
    assert report.changes[0].state is ChangeState.UNSETTLED
    made.cloud.error = None
    made.agent.tick()
    assert made.gate.cordoned == []
    assert made.stacks.log == []


def test_a_node_that_got_work_since_the_decision_stays_and_the_others_leave() -> None:
    busy = a_snapshot(use=2.0, pools=[a_pool(a_node(1, used=2), a_node(2), a_node(3, used=8))])
    made = bench(idle_nodes(), busy, size=3)
    made.agent.tick()
    assert made.gate.cordoned == ["node-002"]
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": 2}


def gone(*left: int) -> Snapshot:
    nodes = [a_node(number, used=8) for number in left]
    return a_snapshot(NOON + timedelta(seconds=30), use=50.0, pools=[a_pool(*nodes), a_pool(pool="eks-l4-spot")])


def test_protection_ends_when_the_leaving_nodes_are_seen_to_be_gone() -> None:
    snapshot = idle_nodes()
    made = bench(snapshot, snapshot, gone(3), size=3)
    made.agent.tick()
    assert made.cloud.protected == {"i-003"}
    made.agent.tick()
    assert made.cloud.protected == set()
    assert made.ledger.changes(1)[0].state is ChangeState.VERIFIED


def test_protection_stays_while_the_pool_cannot_be_read() -> None:
    snapshot = idle_nodes()
    unread = a_pool(configured=1, observed=Unknown("throttled"))
    blind = a_snapshot(NOON + timedelta(seconds=30), use=50.0, pools=[unread])
    made = bench(snapshot, snapshot, blind, size=3)
    made.agent.tick()
    made.agent.tick()
    assert made.cloud.protected == {"i-003"}
    assert made.ledger.changes(1)[0].state is ChangeState.APPLIED


def killed_after(made: Bench, stop: str) -> None:
    """Begin a change as the tick does and stop at a point, as a kill would."""
    decision = decided(a_snapshot(queue=tasks(7)))
    [change] = config_changes(decision)
    made.ledger.begin(1, change, "digest", NOON)
    before = made.stacks.read_file("burst-alicloud")
    if stop in ("file", "up"):
        made.stacks.replace_file("burst-alicloud", before, edit_desired(before, "f", change))
    if stop == "up":
        made.stacks.apply("burst-alicloud", "before the kill")
    made.stacks.log.clear()


@pytest.mark.parametrize(
    ("stop", "state", "size", "log"),
    [
        ("intent", ChangeState.WITHDRAWN, 0, []),
        ("file", ChangeState.WITHDRAWN, 0, ["file burst-alicloud"]),
        ("up", ChangeState.APPLIED, 7, []),
    ],
)
def test_a_kill_at_any_point_ends_with_what_was_decided_or_nothing(
    stop: str, state: ChangeState, size: int, log: Sequence[str]
) -> None:
    nodes = [a_node(number, used=8) for number in range(size)]
    made = bench(a_snapshot(use=50.0, pools=[a_pool(*nodes), a_pool(pool="eks-l4-spot")]))
    killed_after(made, stop)
    made.agent.tick()
    assert made.ledger.changes(1)[0].state is state
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": size}
    assert made.stacks.files["burst-alicloud"] == stack_text(ack_a100_od=size)
    assert made.stacks.log == log


def test_an_edit_after_a_kill_is_left_to_its_author() -> None:
    made = bench(a_snapshot(use=50.0, pools=[a_pool()]))
    killed_after(made, "intent")
    made.stacks.files["burst-alicloud"] = stack_text(ack_a100_od=2)
    made.agent.tick()
    assert made.ledger.changes(1)[0].state is ChangeState.WITHDRAWN
    assert made.stacks.files["burst-alicloud"] == stack_text(ack_a100_od=2)
    assert made.stacks.log == []


@pytest.mark.parametrize(
    "error",
    [
        StackLocked("locked by a person", target="s", hint="wait"),
        PendingOperations("creations in the open", target="s", hint="refresh"),
    ],
)
def test_an_open_change_that_cannot_be_ended_holds_its_pools_and_no_others(error: SpillwayError) -> None:
    cheap = [a_task(number, memory=24, preemptible=True) for number in range(6)]
    made = bench(a_snapshot(queue=cheap))
    killed_after(made, "file")
    made.stacks.recover_error = error
    report = made.agent.tick()
    assert report.decision is not None
    assert {change.pool for change in report.decision.changes} == {"eks-l4-spot"}
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": 0}
    assert len(made.ledger.open_changes()) == 1


def test_protection_of_one_shrink_is_not_lifted_by_the_end_of_another() -> None:
    first, second = a_node(1), a_node(2)
    working = a_node(3, used=8)
    made = bench(a_snapshot(use=2.0, pools=[a_pool(first, second, working), a_pool(pool="eks-l4-spot")]), size=3)
    made.agent.tick()
    assert made.cloud.protected == {"i-003"}
    still = a_pool(second, working, configured=1)
    made.sensor.snapshots = [a_snapshot(NOON + timedelta(seconds=30), use=50.0, pools=[still])]
    made.agent.tick()
    assert made.cloud.protected == {"i-003"}, "node 2 still stands, and the cloud may take whom it likes"


def test_a_node_that_cannot_be_cordoned_stops_the_shrink() -> None:
    made = bench(idle_nodes(), size=3)
    made.gate.error = SignalUnavailable("API server is down", target="cloud-gpu-a", hint="wait")
    report = made.agent.tick()
    assert report.changes[0].state is ChangeState.UNSETTLED
    assert made.stacks.log == []


def test_a_late_node_leaves_though_it_never_joined() -> None:
    late = replace(a_node(1, NodePhase.BOOTING, since=NOON - timedelta(minutes=30)), name="i-001")
    made = bench(a_snapshot(use=90.0, pools=[a_pool(late), a_pool(pool="eks-l4-spot")]), size=1)
    report = made.agent.tick()
    assert [change.state for change in report.changes] == [ChangeState.APPLIED]
    assert made.gate.cordoned == [], "there is no node object to cordon"
    assert made.stacks.applied["burst-alicloud"] == {"ack-a100-od": 0}
