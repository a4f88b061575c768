"""What no snapshot, order, window or noise may bring the decision to do, over all policies at once."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.calendar_windows import WindowRule
from agent.core.costing import node_cost, running_cost
from agent.core.decide import PRECEDENCE, decide, remember_attempt
from agent.core.decision import Action, Decision, ReasonCode
from agent.core.memory import Memory, observe
from agent.core.policies.floors import ceiling, rented
from agent.core.policy import Calendar, Policy, Prewarm, WarmPool
from agent.core.rules.prewarm import PrewarmWindow
from agent.core.rules.windows import KeepWindow
from agent.core.snapshot import NodePhase, NodeView, Order, OrderKind, PoolState, QueuedTask, Snapshot, Unknown
from contract.units import Gpus, Money, Nodes, Percent
from tests.builders import EVERY, NOON, a_catalog, a_node, a_policy, a_pool, a_snapshot, a_task, watched

POOLS = ("ack-a100-od", "eks-l4-spot")
HOUR = timedelta(hours=1)
unknown = st.just(Unknown("no answer"))
phases = st.sampled_from([phase for phase in NodePhase if phase is not NodePhase.GONE])


@st.composite
def nodes(draw: st.DrawFn, pool: str, number: int) -> NodeView:
    node = a_node(
        number,
        draw(phases),
        pool=pool,
        used=draw(st.sampled_from([0, 0, 1, 8])),
        since=NOON - timedelta(minutes=draw(st.integers(0, 300))),
    )
    notice = draw(st.sampled_from([None, None, NOON + timedelta(minutes=2)]))
    return replace(node, reclaim_at=notice)


@st.composite
def pools(draw: st.DrawFn) -> tuple[PoolState, ...]:
    made = []
    for place, name in enumerate(POOLS):
        there = [draw(nodes(name, 100 * place + number)) for number in range(draw(st.integers(0, 6)))]
        blind = Unknown("throttled") if draw(st.integers(0, 7)) == 0 else None
        held = "change 7 is still open" if draw(st.integers(0, 7)) == 0 else ""
        state = a_pool(*there, pool=name, configured=len(there) + draw(st.integers(0, 2)), observed=blind)
        made.append(replace(state, held=held))
    return tuple(made)


orders = st.builds(
    Order,
    number=st.integers(1, 99),
    kind=st.sampled_from(OrderKind),
    nodes=st.integers(0, 25).map(Nodes),
    base=st.integers(0, 10).map(Nodes),
    who=st.just("lin"),
    why=st.just("why"),
    since=st.just(NOON - HOUR),
    until=st.sampled_from([NOON, NOON + HOUR]),
)
queued = st.builds(a_task, st.integers(0, 999), st.sampled_from([1, 8, 16]), preemptible=st.booleans())


@st.composite
def snapshots(draw: st.DrawFn) -> Snapshot:
    queue: tuple[QueuedTask, ...] | Unknown = draw(st.one_of(st.lists(queued, max_size=12).map(tuple), unknown))
    made = a_snapshot(use=draw(st.one_of(st.floats(0, 100), unknown)), queue=queue, pools=draw(pools()))
    money = st.integers(-100, 9000).map(lambda amount: Money(Decimal(amount), "CNY"))
    return replace(
        made,
        orders=tuple(draw(st.lists(orders, max_size=2))),
        budget_left=draw(st.one_of(st.none(), unknown, money)),
        blind_stacks=draw(st.sampled_from([(), (), ("burst-x",)])),
    )


@st.composite
def windows(draw: st.DrawFn) -> KeepWindow:
    rule = WindowRule(
        name=f"window {draw(st.integers(0, 99))}",
        zone="UTC",
        at=draw(st.integers(6, 13)) * HOUR,
        length=draw(st.integers(1, 8)) * HOUR,
    )
    gives = draw(st.booleans())
    return KeepWindow(
        rule=rule,
        lead=draw(st.integers(0, 2)) * HOUR,
        nodes=Nodes(0 if gives else draw(st.integers(1, 20))),
        pools=draw(st.sampled_from([(), (), POOLS[1:]])),
        give_back_idle=gives,
    )


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    policy = a_policy()
    approved = [
        PrewarmWindow(window=replace(window, give_back_idle=False), approved_by="lin", approved_on=date(2026, 11, 1))
        for window in draw(st.lists(windows(), max_size=1))
    ]
    limits = replace(
        policy.limits,
        max_cloud_nodes=Nodes(draw(st.integers(0, 40))),
        max_cost_per_hour=Money(Decimal(draw(st.integers(1, 9000))), "CNY"),
        max_nodes_in={POOLS[0]: Nodes(draw(st.integers(0, 20)))},
    )
    return replace(
        policy,
        limits=limits,
        calendar=Calendar(windows=tuple(draw(st.lists(windows(), max_size=2)))),
        prewarm=Prewarm(windows=tuple(approved)),
        warm_pool=WarmPool(nodes=Nodes(draw(st.integers(0, 3))), pool=draw(st.sampled_from([None, *POOLS]))),
    )


def memories(snapshot: Snapshot) -> Memory:
    return watched(snapshot, timedelta(minutes=15))


def decision_on(snapshot: Snapshot, policy: Policy) -> Decision:
    return decide(snapshot, policy, memories(snapshot))[0]


@settings(max_examples=400, deadline=None)
@given(snapshots(), policies())
def test_no_growth_passes_any_cap(snapshot: Snapshot, policy: Policy) -> None:
    decision = decision_on(snapshot, policy)
    if decision.action is not Action.GROW:
        return
    sizes = {pool.pool: int(pool.rented) for pool in snapshot.pools}
    for change in decision.changes:
        assert change.after > change.before
        assert change.after <= snapshot.catalog.pools[change.pool].quota
        assert change.after <= policy.limits.max_nodes_in.get(change.pool, Nodes(10**6))
        sizes[change.pool] += change.delta
    assert sum(sizes.values()) <= policy.limits.max_cloud_nodes
    assert running_cost(snapshot.catalog, sizes.items()) <= policy.limits.max_cost_per_hour
    assert not isinstance(snapshot.budget_left, Unknown)
    if snapshot.budget_left is not None:
        new = sum(
            node_cost(snapshot.catalog, snapshot.catalog.pools[change.pool]).amount * change.delta
            for change in decision.changes
        )
        assert new <= snapshot.budget_left.amount
    order = ceiling(snapshot)
    assert order is None or sum(sizes.values()) <= order.nodes
    if decision.chosen.policy not in ("emergency", "spot_notice"):
        assert sum(change.delta for change in decision.changes) <= policy.queue_pressure.max_step


@settings(max_examples=400, deadline=None)
@given(snapshots(), policies())
def test_no_shrink_names_a_node_with_work_and_no_pool_in_doubt_changes(snapshot: Snapshot, policy: Policy) -> None:
    decision = decision_on(snapshot, policy)
    working = {node.instance_id for pool in snapshot.pools for node in pool.nodes() if node.gpus_used}
    for change in decision.changes:
        state = snapshot.pool(change.pool)
        assert state.is_settled
        assert not isinstance(state.observed, Unknown)
        assert change.before == state.configured
        assert not working & set(change.victims)
        if decision.action is Action.SHRINK:
            assert len(change.victims) in (0, change.before - change.after)


@settings(max_examples=200, deadline=None)
@given(snapshots(), policies())
def test_unknown_load_and_queue_move_only_those_who_need_neither(snapshot: Snapshot, policy: Policy) -> None:
    blind = replace(snapshot, local_use=Unknown("no answer"), queue=Unknown("no answer"))
    assert decision_on(blind, policy).chosen.policy not in ("queue_pressure", "idle_reclaim")
    unread = replace(blind, blind_stacks=("burst-x",))
    decision = decision_on(unread, policy)
    assert decision.action is not Action.GROW, "what is rented is not known"


@settings(max_examples=200, deadline=None)
@given(snapshots(), policies())
def test_every_opinion_stands_in_the_decision_with_a_reason(snapshot: Snapshot, policy: Policy) -> None:
    memory = observe(memories(snapshot), snapshot, policy.sampling.stale_after)
    asked = [propose(snapshot, policy, memory) for propose in PRECEDENCE]
    decision, _ = decide(snapshot, policy, memories(snapshot))
    told = {proposal.policy for proposal, _ in decision.rejected} | {decision.chosen.policy}
    assert told - {"hold"} == {item.policy for item in asked if item.reason.code is not ReasonCode.OFF}
    assert all(proposal.action is Action.HOLD or proposal.changes for proposal in asked)
    assert all(reason.text for _, reason in decision.rejected)
    order = [item.policy for item in asked]
    outranked = [proposal.policy for proposal, reason in decision.rejected if reason.code is ReasonCode.OUTRANKED]
    assert all(order.index(name) > order.index(decision.chosen.policy) for name in outranked)


@settings(max_examples=100, deadline=None)
@given(snapshots(), policies())
def test_what_windows_and_warm_pool_keep_is_not_given_back_by_the_calendar_or_for_idleness(
    snapshot: Snapshot, policy: Policy
) -> None:
    decision = decision_on(snapshot, policy)
    if decision.chosen.policy not in ("calendar", "idle_reclaim") or decision.action is not Action.SHRINK:
        return
    kept = max((window.nodes for window in policy.calendar.windows if window.nodes and is_open(window)), default=0)
    going = {victim for change in decision.changes for victim in change.victims}
    staying = [node for pool in snapshot.pools for node in pool.nodes() if node.instance_id in going]
    counted = [node for node in staying if node.reclaim_at is None]
    if kept and counted:
        names = {pool for window in policy.calendar.windows for pool in window.pools}
        assert names or rented(snapshot) - len(counted) >= kept


def is_open(window: KeepWindow) -> bool:
    return window.rule.at <= 12 * HOUR < window.rule.at + window.rule.length


class Market:
    """A cloud that does what is decided at once, and work that comes and goes as noise says."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.nodes: dict[str, NodeView] = {}
        self.memory = Memory()
        self.turns: list[tuple[Action, int]] = []
        self.born = 0

    def tick(self, step: int, use: float, waiting: int) -> None:
        now = NOON + step * EVERY
        busy = max(0, waiting - 5)
        stand = [
            replace(node, gpus_used=Gpus(8 if place < busy else 0)) for place, node in enumerate(self.nodes.values())
        ]
        seen = replace(
            a_snapshot(pools=[a_pool(*stand)], queue=tuple(a_task(number) for number in range(waiting))),
            taken_at=now,
            local_use=Percent(use),
        )
        decision, self.memory = decide(seen, self.policy, self.memory)
        self.memory = remember_attempt(self.memory, decision, self.policy)
        if decision.action is not Action.HOLD:
            self.turns.append((decision.action, step))
        for change in decision.changes:
            self.nodes = {key: node for key, node in self.nodes.items() if key not in change.victims}
            for _ in range(change.delta):
                node = replace(a_node(self.born), since=now)
                self.nodes[node.instance_id] = node
                self.born += 1


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([20.0, 38.0, 42.0, 84.0, 86.0, 95.0]),
    st.integers(0, 30),
    st.integers(0, 10_000),
    st.booleans(),
)
def test_under_any_noise_the_direction_changes_only_as_often_as_cool_downs_let_it(
    level: float, waiting: int, seed: int, is_night: bool
) -> None:
    """Four hours of samples around a level; the hastiest legal way to change direction is one cool-down each way."""
    policy, noise = a_policy(), Random(seed)
    quick = replace(policy.idle_reclaim, node_idle_for=timedelta(minutes=2), hold_for=timedelta(minutes=1))
    night = KeepWindow(
        rule=WindowRule(name="night", zone="UTC", at=12 * HOUR, length=4 * HOUR),
        give_back_idle=is_night,
        nodes=Nodes(0 if is_night else 2),
        idle_for=timedelta(minutes=2),
    )
    policy = replace(
        policy,
        idle_reclaim=quick,
        queue_pressure=replace(policy.queue_pressure, hold_for=timedelta(minutes=1)),
        calendar=Calendar(windows=(night,)),
        warm_pool=WarmPool(nodes=Nodes(1)),
    )
    market = Market(policy)
    for step in range(480):
        use = min(100.0, max(0.0, level + noise.uniform(-60, 60)))
        market.tick(step, use, max(0, waiting + noise.randint(-15, 15)))
    turns = [(before, now) for before, now in pairwise(market.turns) if before[0] != now[0]]
    to_shrink = [now[1] - before[1] for before, now in turns if now[0] is Action.SHRINK]
    assert all(steps * EVERY >= policy.cool_down.after_grow for steps in to_shrink)
    shrinks = [step for action, step in market.turns if action is Action.SHRINK]
    assert all((b - a) * EVERY >= policy.cool_down.after_shrink for a, b in pairwise(shrinks))
    per_hour = 2 * (HOUR // policy.cool_down.after_shrink) + 1
    for start in range(0, 480, 120):
        assert sum(start <= now[1] < start + 120 for _, now in turns) <= per_hour


def test_the_catalogue_of_these_tests_has_the_pools_that_they_name() -> None:
    assert [row.pool for row in a_catalog().cloud_pools()] == list(POOLS)
