"""Whatever the queue and the pools: nothing where it does not fit, nothing twice, gangs whole, tiers in order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.decision import Reason, ReasonCode
from agent.core.eligibility import Host, Misfits, demand_of, misfit
from agent.core.placement import Placement, offers, place
from agent.core.rules.placement import DEFAULT, PlacementRules
from agent.core.snapshot import NodePhase, NodeView, PoolState, QueuedTask
from contract import labels
from contract.catalog import Billing, InterruptionBand, PoolRow
from contract.units import GiB, Gpus, Money, Nodes
from contract.work import DataClass, Tier, WorkKind
from tests.builders import NOON, a_catalog, a_node, a_pool, a_snapshot, an_on_demand_row

ROOMY = 10_000

rules = st.builds(
    PlacementRules,
    link_only_sites=st.sampled_from([(), ("ali-shanghai",)]),
    gang_may_exceed_step=st.booleans(),
)


@st.composite
def rows(draw: st.DrawFn, number: int, sizes: Sequence[int] = (1, 2, 3, 4, 8)) -> PoolRow:
    billing = draw(st.sampled_from([way for way in Billing if way is not Billing.OWNED]))
    return replace(
        an_on_demand_row(f"pool-{number}"),
        quota=Nodes(draw(st.integers(0, 6))),
        price=Money(Decimal(draw(st.integers(1, 50))), "CNY"),
        billing=billing,
        interruption=InterruptionBand.UNDER_20 if billing is Billing.SPOT else InterruptionBand.NONE,
        gpus_per_node=Gpus(draw(st.sampled_from(sizes))),
        gpu_memory=GiB(draw(st.sampled_from([24, 80]))),
        hosts=draw(st.sampled_from([tuple(WorkKind), ("inference", "hpo")])),
    )


@st.composite
def queued(draw: st.DrawFn, number: int) -> QueuedTask:
    pods, per_pod = draw(st.integers(1, 6)), draw(st.integers(0, 8))
    return QueuedTask(
        task=f"t-{number}",
        department="research",
        gpus=Gpus(pods * per_pod),
        gpus_per_pod=Gpus(per_pod),
        gpu_memory=GiB(draw(st.sampled_from([0, 24, 80]))),
        preemptible=draw(st.booleans()),
        queued_since=NOON - timedelta(minutes=draw(st.integers(0, 3))),
        pods=pods,
        wants=draw(st.sampled_from([(), (), ((labels.GPU_MEMORY, ("80",)),)])),
        tier=draw(st.sampled_from(Tier)),
        kind=draw(st.sampled_from(WorkKind)),
        data=draw(st.sampled_from([DataClass.OPEN, DataClass.OPEN, *DataClass])),
        needs_low_latency=draw(st.integers(0, 9)) == 0,
        runtime=draw(st.sampled_from([None, timedelta(minutes=3), timedelta(hours=30)])),
    )


@st.composite
def nodes(draw: st.DrawFn, row: PoolRow, number: int) -> NodeView:
    node = a_node(number, draw(st.sampled_from(NodePhase)), pool=row.pool)
    if node.gpus:
        node = replace(node, gpus=row.gpus_per_node, gpus_used=Gpus(draw(st.integers(0, row.gpus_per_node))))
    return replace(node, reclaim_at=draw(st.sampled_from([None, None, NOON])))


@st.composite
def states(draw: st.DrawFn, row: PoolRow) -> PoolState:
    count = draw(st.integers(0, 2))
    standing = [draw(nodes(row, number)) for number in range(count)]
    return a_pool(*standing, pool=row.pool, configured=count + draw(st.integers(0, 1)))


class Case:
    """A market with its pools, and the placement of a queue on it."""

    def __init__(self, market: Sequence[PoolRow], pools: Sequence[PoolState], most: int, rule: PlacementRules) -> None:
        self.rows = {row.pool: row for row in market}
        self.pools, self.most, self.rules = pools, most, rule
        self.snapshot = a_snapshot(catalog=a_catalog(*market), pools=pools)

    def place(self, queue: Sequence[QueuedTask], closed: Sequence[str] = ()) -> Placement:
        reasons = {pool: Reason(code=ReasonCode.BACKED_OFF, text="closed") for pool in closed}
        return place(self.snapshot, queue, offers(self.snapshot, reasons, self.rules), Nodes(self.most), self.rules)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, list[QueuedTask]]:
    market = [draw(rows(number)) for number in range(draw(st.integers(1, 4)))]
    pools = [draw(states(row)) for row in market]
    queue = [draw(queued(number)) for number in range(draw(st.integers(0, 10)))]
    return Case(market, pools, draw(st.integers(0, 8)), draw(rules)), queue


def free_gpus(state: PoolState, row: PoolRow) -> int:
    """An upper bound, reckoned apart from the code: free GPUs of ready nodes, and all that may still come."""
    ready = [node for node in state.nodes() if node.phase is NodePhase.GPU_READY]
    free = sum(node.gpus - node.gpus_used for node in ready if node.reclaim_at is None)
    return free + row.gpus_per_node * max(0, state.rented - len(ready))


@settings(deadline=None)
@given(cases())
def test_no_task_lies_where_it_does_not_fit_and_no_gpu_is_given_twice(case: tuple[Case, list[QueuedTask]]) -> None:
    ground, queue = case
    result = ground.place(queue)
    by_name, placed = {task.task: task for task in queue}, defaultdict(list)
    assert len(result.homes) == len({task for task, _ in result.homes}) == len(queue) - result.homeless
    for name, pool in result.homes:
        row = ground.rows[pool]
        assert misfit(demand_of(by_name[name]), Host(row, row.node_labels()), ground.rules) is None
        placed[pool].append(by_name[name])
    new = dict(result.new_nodes)
    for state in ground.pools:
        row = ground.rows[state.pool]
        there = free_gpus(state, row) + new.get(row.pool, 0) * row.gpus_per_node
        assert sum(task.gpus for task in placed[row.pool]) <= there, "a gang is placed whole, in one pool"
        assert new.get(row.pool, 0) <= max(0, row.quota - state.rented)


@settings(deadline=None)
@given(cases())
def test_units_add_up_and_only_one_first_gang_passes_the_step(case: tuple[Case, list[QueuedTask]]) -> None:
    ground, queue = case
    result = ground.place(queue)
    units = dict(result.units)
    assert {pool: sum(units[pool]) for pool in units} == dict(result.new_nodes)
    if result.nodes > ground.most:
        assert ground.rules.gang_may_exceed_step
        assert [count for counts in units.values() for count in counts] == [result.nodes]
    told = Counter(item.what.partition(" +")[0] for item in result.alternatives)
    assert told == Counter(set(ground.rows) - set(units)), "each pool that brings nothing says why, once"
    assert all(item.lost_because.text for item in result.alternatives)


@settings(deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_the_same_question_has_the_same_answer_in_any_order(case: tuple[Case, list[QueuedTask]], dice: object) -> None:
    ground, queue = case
    first = ground.place(queue)
    assert ground.place(list(queue)) == first
    shuffled = list(queue)
    dice.shuffle(shuffled)  # type: ignore[attr-defined]
    mixed = Case(list(ground.rows.values()), list(reversed(ground.pools)), ground.most, ground.rules)
    again = mixed.place(shuffled)
    assert (again.homes, again.new_nodes, again.units) == (first.homes, first.new_nodes, first.units)


@settings(deadline=None)
@given(cases(), st.sampled_from(Tier))
def test_lower_tiers_take_nothing_from_higher_ones(case: tuple[Case, list[QueuedTask]], least: Tier) -> None:
    ground, queue = case
    higher = [task for task in queue if task.tier.rank <= least.rank]
    alone, names = ground.place(higher), {task.task for task in higher}
    assert tuple(home for home in ground.place(queue).homes if home[0] in names) == alone.homes


@settings(deadline=None)
@given(cases(), st.integers(0, 3))
def test_a_closed_pool_brings_nothing_new(case: tuple[Case, list[QueuedTask]], number: int) -> None:
    ground, queue = case
    assert f"pool-{number}" not in dict(ground.place(queue, [f"pool-{number}"]).new_nodes)


@st.composite
def whole_nodes(draw: st.DrawFn) -> tuple[list[PoolRow], list[QueuedTask]]:
    """Tasks of one node each: what a first fit can promise. With sizes mixed, or a step, it cannot."""
    market = [draw(rows(number, (8,))) for number in range(draw(st.integers(1, 4)))]
    queue = [replace(draw(queued(number)), pods=1, gpus_per_pod=Gpus(8), gpus=Gpus(8)) for number in range(8)]
    return market, queue


@settings(deadline=None)
@given(whole_nodes())
def test_a_pool_more_never_places_fewer_tasks(case: tuple[list[PoolRow], list[QueuedTask]]) -> None:
    market, queue = case
    pools = [a_pool(pool=row.pool) for row in market]
    whole = Case(market, pools, ROOMY, DEFAULT).place(queue)
    for left_out in range(len(market)):
        fewer = Case(
            [row for number, row in enumerate(market) if number != left_out],
            [pool for number, pool in enumerate(pools) if number != left_out],
            ROOMY,
            DEFAULT,
        )
        assert whole.homeless <= fewer.place(queue).homeless


@settings(deadline=None)
@given(cases())
def test_asked_one_by_one_or_all_at_once_pools_refuse_for_the_same_reason(case: tuple[Case, list[QueuedTask]]) -> None:
    ground, queue = case
    hosts = [Host(row, row.node_labels()) for row in ground.rows.values()]
    together = Misfits(hosts, ground.rules)
    for demand in map(demand_of, queue):
        assert [together.of(demand).get(index) for index in range(len(hosts))] == [
            misfit(demand, host, ground.rules) for host in hosts
        ]
