"""R6.1 to R6.4: who is served first, what fits where, which pool is cheapest for the work, and why the others lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from agent.core.decision import Reason, ReasonCode
from agent.core.grounds import ground_of
from agent.core.placement import Placement, offers, place
from agent.core.rules.placement import DEFAULT, PlacementRules
from agent.core.snapshot import NodePhase, PoolState, QueuedTask
from contract import labels
from contract.catalog import Billing, GpuModel, InterruptionBand, PoolRow
from contract.units import GiB, Gpus, Nodes
from contract.work import DataClass, Tier, WorkKind
from tests.builders import NOON, a_catalog, a_node, a_pool, a_snapshot, a_spot_row, a_task, an_on_demand_row, tasks

MINUTE = timedelta(minutes=1)
CLOSED = Reason(code=ReasonCode.BACKED_OFF, text="backed off")


def a_row(pool: str, price: str = "80", **columns: Any) -> PoolRow:
    """An on-demand pool of 8 x A100 80 GiB that hosts everything."""
    row = an_on_demand_row(pool, columns.pop("quota", 20), price)
    return replace(row, hosts=tuple(WorkKind), **columns)


def a_spot(pool: str = "spot", price: str = "40", **columns: Any) -> PoolRow:
    band = columns.pop("interruption", InterruptionBand.UNDER_10)
    return a_row(pool, price, billing=Billing.SPOT, interruption=band, **columns)


def placed(
    queue: Sequence[QueuedTask],
    *rows: PoolRow,
    most: int = 10,
    rules: PlacementRules = DEFAULT,
    pools: Sequence[PoolState] | None = None,
    closed: dict[str, Reason] | None = None,
    history: dict[str, int] | None = None,
) -> Placement:
    states = [a_pool(pool=row.pool) for row in rows] if pools is None else pools
    snapshot = a_snapshot(catalog=a_catalog(*rows), pools=states)
    return place(snapshot, queue, offers(snapshot, closed or {}, rules, history or {}), Nodes(most), rules)


def bought(result: Placement) -> dict[str, int]:
    return {pool: int(nodes) for pool, nodes in result.new_nodes}


def lost(result: Placement) -> dict[str, Reason]:
    return {item.what.partition(" ")[0]: item.lost_because for item in result.alternatives}


def work(number: int = 0, gpus: int = 8, **said: Any) -> QueuedTask:
    return replace(a_task(number, gpus, preemptible=said.pop("preemptible", False)), **said)


# ---- who is served first ----


def test_tiers_come_first_then_who_waited_longer_then_names() -> None:
    queue = [
        work(0, tier=Tier.EXPLORATION, queued_since=NOON - 90 * MINUTE),
        work(1, tier=Tier.RESEARCH),
        work(2, tier=Tier.PRODUCTION),
        work(3, tier=Tier.PRODUCTION, queued_since=NOON - MINUTE),
        work(4, tier=Tier.CUSTOMER_SERVICE),
        work(5, tier=Tier.PRODUCTION_CORE),
        work(6, tier=Tier.PRODUCTION),
    ]
    homes = placed(queue, a_row("p")).homes
    assert [task[-1] for task, _ in homes] == ["5", "3", "2", "6", "4", "1"], "exploration has no spot here"


def test_what_is_coming_goes_to_the_first_in_order_and_the_rest_is_bought() -> None:
    queue = [work(0, tier=Tier.RESEARCH), work(1, tier=Tier.PRODUCTION_CORE)]
    result = placed(queue, a_row("p"), pools=[a_pool(pool="p", configured=1)])
    assert (result.covered, bought(result), result.homeless) == (1, {"p": 1}, 0)
    assert [task for task, _ in result.homes] == ["task-0001", "task-0000"]


# ---- what fits where: each rule with its own code and its figures ----

MISFITS: list[tuple[dict[str, Any], PoolRow, ReasonCode, str]] = [
    ({"gpus_per_pod": Gpus(0)}, a_row("p"), ReasonCode.NO_CPU_POOL, "no CPU pool: the work asks for no GPU"),
    ({"data": DataClass.SENSITIVE}, a_row("p"), ReasonCode.DATA_STAYS, "never leaves, and ali-shanghai is not ours"),
    ({"data": DataClass.LINK_ONLY}, a_row("p"), ReasonCode.DATA_STAYS, "at no site, not at ali-shanghai"),
    ({"needs_low_latency": True}, a_row("p"), ReasonCode.LATENCY, "cn-shanghai is far"),
    (
        {"kind": WorkKind.PRETRAINING},
        replace(a_row("p"), hosts=("inference", "hpo")),
        ReasonCode.NOT_HOSTED,
        "does not host pretraining, only inference, hpo",
    ),
    ({}, a_row("p", gpus_per_node=Gpus(4)), ReasonCode.TOO_SMALL, "needs 8 GPUs on one node, its nodes have 4"),
    (
        {},
        a_row("p", gpu_memory=GiB(24), gpu_model=GpuModel.L4),
        ReasonCode.LITTLE_MEMORY,
        "80 GiB a GPU are needed, L4 has 24",
    ),
    (
        {"wants": ((labels.GPU_MODEL, ("H100", "H200")),)},
        a_row("p"),
        ReasonCode.OTHER_LABELS,
        "gpu-model must be H100 or H200, its nodes have A100",
    ),
    ({"wants": (("x/y", ("z",)),)}, a_row("p"), ReasonCode.OTHER_LABELS, "x/y must be z, its nodes have none"),
    ({}, a_spot("p"), ReasonCode.NO_SPOT, "may not be interrupted, spot is, 5-10% a month"),
    (
        {"kind": WorkKind.PRETRAINING, "preemptible": True},
        a_spot("p"),
        ReasonCode.NO_SPOT,
        "pretraining never runs on spot",
    ),
    (
        {"kind": WorkKind.INFERENCE, "preemptible": True},
        a_spot("p"),
        ReasonCode.KIND_BILLING,
        "inference is paid reserved or on_demand, not spot",
    ),
    (
        {"kind": WorkKind.PREPROCESSING},
        a_row("p", billing=Billing.RESERVED),
        ReasonCode.KIND_BILLING,
        "preprocessing is paid off_peak or spot or on_demand, not reserved",
    ),
    (
        {"tier": Tier.EXPLORATION},
        a_row("p"),
        ReasonCode.TIER_BILLING,
        "tier exploration is paid spot or off_peak, not on_demand",
    ),
]


@pytest.mark.parametrize(
    ("said", "row", "code", "words"), MISFITS, ids=[f"{item[2]}-{item[3][:12]}" for item in MISFITS]
)
def test_what_does_not_fit_is_not_bought_and_says_why(
    said: dict[str, Any], row: PoolRow, code: ReasonCode, words: str
) -> None:
    result = placed([work(**said)], row)
    assert (bought(result), result.homeless, result.homes) == ({}, 1, ())
    assert lost(result)["p"].code is code
    assert words in lost(result)["p"].text


@pytest.mark.parametrize(
    ("said", "row", "code", "words"), MISFITS, ids=[f"{item[2]}-{item[3][:12]}" for item in MISFITS]
)
def test_nor_is_it_counted_as_covered_by_what_stands_there(
    said: dict[str, Any], row: PoolRow, code: ReasonCode, words: str
) -> None:
    result = placed([work(**said)], row, pools=[a_pool(a_node(pool="p"), pool="p")])
    assert (result.covered, result.homeless) == (0, 1)
    assert lost(result)["p"].code is code
    assert words


FITS: list[tuple[dict[str, Any], PoolRow]] = [
    ({"kind": WorkKind.OTHER}, replace(a_row("p"), hosts=("inference",))),
    ({"kind": WorkKind.PRETRAINING}, a_row("p")),
    ({"kind": WorkKind.HPO, "preemptible": True}, a_spot("p")),
    ({"kind": WorkKind.FINETUNING}, a_row("p", billing=Billing.OFF_PEAK)),
    ({"tier": Tier.EXPLORATION, "preemptible": True}, a_spot("p")),
    ({"wants": ((labels.GPU_MODEL, ("A100",)),)}, a_row("p")),
    ({"gpu_memory": GiB(80)}, a_row("p")),
]


@pytest.mark.parametrize(("said", "row"), FITS)
def test_what_fits_is_bought(said: dict[str, Any], row: PoolRow) -> None:
    assert bought(placed([work(**said)], row)) == {"p": 1}


def test_data_for_the_link_goes_to_the_sites_of_the_policy_and_nowhere_else() -> None:
    near, far = a_row("near"), replace(a_row("far", "10"), site="aws-us-east-1")
    rules = replace(DEFAULT, link_only_sites=("ali-shanghai",))
    result = placed([work(data=DataClass.LINK_ONLY)], far, near, rules=rules)
    assert bought(result) == {"near": 1}
    assert lost(result)["far"].text.endswith("at ali-shanghai, not at aws-us-east-1")
    assert not bought(placed([work(data=DataClass.SENSITIVE)], near, rules=rules))


def test_a_pool_that_lacks_several_things_tells_the_commonest_with_their_numbers() -> None:
    queue = [work(0, data=DataClass.SENSITIVE), *(work(number, needs_low_latency=True) for number in (1, 2))]
    told = lost(placed(queue, a_row("p")))["p"]
    assert told.code is ReasonCode.LATENCY
    assert told.text.startswith("2 x low latency is needed")
    assert "; 1 x sensitive data never leaves" in told.text


def test_of_many_reasons_three_are_told() -> None:
    queue = [work(number, wants=(("x/y", (str(number),)),)) for number in range(5)]
    assert lost(placed(queue, a_row("p")))["p"].text.endswith("; and 2 other reasons")


# ---- which pool is cheapest for the work ----


def test_reserved_comes_first_whatever_it_costs() -> None:
    result = placed([work()], a_row("cheap", "10"), a_row("paid", "300", billing=Billing.RESERVED))
    assert bought(result) == {"paid": 1}
    assert lost(result)["cheap"].text.endswith("of paid, which is reserved and paid anyway")


def test_of_two_reserved_pools_the_cheaper_wins_with_both_figures() -> None:
    rows = [a_row("a", "160", billing=Billing.RESERVED), a_row("b", "80", billing=Billing.RESERVED)]
    told = lost(placed([work()], *rows))["a"]
    assert told == Reason(code=ReasonCode.DEARER, text="¥20.00 per GPU-hour against ¥10.00 per GPU-hour of b")


def test_ties_go_by_name_and_say_so() -> None:
    result = placed([work()], a_row("b"), a_row("a"))
    assert bought(result) == {"a": 1}
    assert lost(result)["b"].text.endswith("of a, and ties go by name")


def test_a_gang_that_is_interrupted_often_pays_for_repeating_its_work() -> None:
    """32 nodes x 25 % a month / 730 h x (30 min + 9 min) = 0.7 %: a spot pool that is 0.5 % cheaper loses."""
    steady, spot = (
        a_row("steady", "800", quota=40),
        a_spot("spot", "796", interruption=InterruptionBand.ABOVE_20, quota=40),
    )
    assert bought(placed([work(gpus=256, preemptible=True)], steady, spot, most=40)) == {"steady": 32}
    assert bought(placed([work(gpus=8, preemptible=True)], steady, spot)) == {"spot": 1}
    told = lost(placed([work(gpus=256, preemptible=True)], steady, spot, most=40))["spot"]
    assert told.text == "¥100.21 per useful GPU-hour (¥99.50, rework 0.7 %) against ¥100.00 per GPU-hour of steady"


def test_work_that_ends_before_its_first_checkpoint_repeats_half_of_itself() -> None:
    spot = a_spot("spot", "796", interruption=InterruptionBand.ABOVE_20, quota=40)
    short = work(gpus=256, preemptible=True, runtime=timedelta(minutes=4))
    told = lost(placed([short], a_row("closest", "790", quota=40), spot, most=40))["spot"]
    assert "rework 0.2 %" in told.text


def test_a_short_task_weighs_the_boot_that_it_pays_for() -> None:
    """9 min of boot before 12 min of work are 75 % more, before 10 h next to nothing."""
    slow, quick = a_row("slow", "80"), a_row("quick", "96")
    quick = replace(quick, boot=replace(quick.boot, fastest=MINUTE, slowest=MINUTE))
    assert bought(placed([work(runtime=12 * MINUTE)], slow, quick)) == {"quick": 1}
    assert bought(placed([work(runtime=timedelta(hours=10))], slow, quick)) == {"slow": 1}
    assert bought(placed([work(runtime=None)], slow, quick)) == {"slow": 1}
    assert bought(placed([work(runtime=timedelta(0))], slow, quick)) == {"quick": 1}
    assert "boot 75.0 %" in lost(placed([work(runtime=12 * MINUTE)], slow, quick))["slow"].text


def test_a_pool_that_failed_to_deliver_counts_as_dearer() -> None:
    rows = [a_row("a", "80"), a_row("b", "90")]
    assert bought(placed([work()], *rows)) == {"a": 1}
    result = placed([work()], *rows, history={"a": 2})
    assert bought(result) == {"b": 1}
    assert lost(result)["a"].text.startswith("¥12.00 per useful GPU-hour (¥10.00, failures 20.0 %) against ¥11.25")


def test_offers_stand_reserved_first_then_cheapest_then_by_name() -> None:
    rows = [a_row("c", "80"), a_row("b", "80"), a_row("r", "500", billing=Billing.RESERVED), a_row("a", "90")]
    snapshot = a_snapshot(catalog=a_catalog(*rows), pools=[a_pool(pool=row.pool) for row in rows])
    assert [offer.row.pool for offer in offers(snapshot, {})] == ["r", "b", "c", "a"]
    failed = offers(snapshot, {}, DEFAULT, {"b": 3})
    assert [offer.row.pool for offer in failed] == ["r", "c", "a", "b"]
    assert failed[-1].gpu_hour.amount == Decimal(10), "the price stays what it is"


# ---- gangs ----


def test_a_gang_lies_in_one_pool_or_nowhere() -> None:
    result = placed([work(gpus=40)], a_row("a", quota=4), a_row("b", "90", quota=4))
    assert (bought(result), result.homeless) == ({}, 1)
    told = lost(result)["a"]
    assert told.code is ReasonCode.GANG
    assert told.text == "a gang of 40 GPUs needs 5 nodes at once, its quota of 4 leaves room for 4"


def test_a_gang_larger_than_a_step_is_bought_whole_when_it_comes_first() -> None:
    result = placed([work(0, gpus=96), work(1)], a_row("p"), most=10)
    assert (bought(result), result.units, result.homeless) == ({"p": 12}, (("p", (12,)),), 1)
    assert [limit.code for limit in result.limits] == [ReasonCode.STEP_LIMIT]
    assert result.limits[0].text == "p takes no more: the rest of the queue is beyond this step of 10"


def test_a_gang_larger_than_what_is_left_waits_for_the_next_step() -> None:
    result = placed([work(0), work(1, gpus=96)], a_row("p"), most=10)
    assert bought(result) == {"p": 1}
    [limit] = result.limits
    assert limit.text == "p takes no more: a gang of 96 GPUs needs 12 nodes, of this step of 10 are 9 left"


def test_a_policy_may_forbid_gangs_beyond_the_step() -> None:
    result = placed([work(gpus=96)], a_row("p"), rules=replace(DEFAULT, gang_may_exceed_step=False))
    assert bought(result) == {}
    assert lost(result)["p"].code is ReasonCode.STEP_LIMIT


def test_nothing_at_all_is_bought_when_nothing_may_be() -> None:
    result = placed([work(gpus=96)], a_row("p"), most=0)
    assert bought(result) == {}
    assert lost(result)["p"].text == "the rest of the queue is beyond this step of 0"


def test_units_tell_where_a_cap_may_cut() -> None:
    queue = [work(0), work(1, gpus=24), work(2, 4), work(3, 4), work(4)]
    result = placed(queue, a_row("p"))
    assert (bought(result), result.units) == ({"p": 6}, (("p", (1, 3, 1, 1)),))


def test_a_gang_fills_free_places_first_and_buys_only_the_rest() -> None:
    standing = [a_node(number, pool="p", used=used) for number, used in enumerate((0, 6, 2))]
    gang = replace(work(), gpus=Gpus(20), gpus_per_pod=Gpus(2), pods=10)
    result = placed([gang, work(1, 4)], a_row("p"), pools=[a_pool(*standing, pool="p")])
    assert bought(result) == {"p": 1}
    assert result.units == (("p", (1,)),), "8 places stand free, 2 pods go to the new node and leave 4 GPUs"
    assert result.covered == 1


# ---- what is there or coming ----


def test_nodes_that_go_or_are_late_or_cordoned_are_no_free_places() -> None:
    nodes = [
        replace(a_node(0, pool="p"), reclaim_at=NOON + MINUTE),
        a_node(1, NodePhase.DRAINING, pool="p"),
        a_node(2, NodePhase.BOOTING, pool="p", since=NOON - timedelta(hours=1)),
        replace(a_node(3, NodePhase.BOOTING, pool="p", since=NOON), reclaim_at=NOON + MINUTE),
    ]
    result = placed([work()], a_row("p"), pools=[a_pool(*nodes, pool="p")])
    assert (result.covered, bought(result)) == (0, {"p": 1})


def test_nodes_on_their_way_are_free_places() -> None:
    coming = a_node(0, NodePhase.BOOTING, pool="p", since=NOON - MINUTE)
    result = placed([work()], a_row("p"), pools=[a_pool(coming, pool="p")])
    assert (result.covered, bought(result)) == (1, {})
    assert lost(result)["p"].code is ReasonCode.COVERED_BY_COMING


def test_shared_cards_never_make_negative_places() -> None:
    shared = a_node(pool="p", used=30)
    assert placed([work()], a_row("p"), pools=[a_pool(shared, pool="p")]).covered == 0


def test_a_node_larger_than_its_row_says_still_has_its_places() -> None:
    large = replace(a_node(pool="p"), gpus=Gpus(16))
    assert placed([work(0), work(1)], a_row("p"), pools=[a_pool(large, pool="p")]).covered == 2


# ---- rooms and steps ----


def test_the_next_best_takes_what_the_best_has_no_room_for_and_both_say_so() -> None:
    result = placed(tasks(4), a_row("a", quota=3), a_row("b", "90"))
    assert bought(result) == {"a": 3, "b": 1}
    assert [limit.text for limit in result.limits] == ["a takes no more: its quota of 3 leaves room for 0"]


def test_a_full_pool_says_quota_and_not_step_when_the_step_is_used_up_too() -> None:
    rows = [a_row("a"), a_row("full", "90", quota=0)]
    result = placed([*tasks(2), work(9, tier=Tier.RESEARCH, wants=((labels.POOL, ("full",)),))], *rows, most=2)
    assert bought(result) == {"a": 2}
    assert lost(result)["full"].code is ReasonCode.QUOTA


def test_a_step_that_is_used_up_is_told_by_pools_that_nobody_won() -> None:
    h100 = ((labels.POOL, ("b",)),)
    result = placed([*tasks(2), work(9, tier=Tier.RESEARCH, wants=h100)], a_row("a"), a_row("b", "90"), most=2)
    assert lost(result)["b"].code is ReasonCode.DEARER, "for the first two it was"
    own = [work(number, wants=((labels.POOL, (pool,)),)) for number, pool in enumerate("aab")]
    assert lost(placed(own, a_row("a"), a_row("b", "90"), most=2))["b"].code is ReasonCode.STEP_LIMIT
    full = placed(own, a_row("a"), a_row("b", "90", quota=0), most=2)
    assert lost(full)["b"].code is ReasonCode.QUOTA


def test_a_closed_pool_keeps_its_own_reason_and_what_comes_there_still_counts() -> None:
    rows = [a_row("a"), a_row("b", "90")]
    pools = [a_pool(pool="a", configured=1), a_pool(pool="b")]
    result = placed(tasks(2), *rows, pools=pools, closed={"a": CLOSED})
    assert (result.covered, bought(result)) == (1, {"b": 1})
    assert lost(result) == {"a": CLOSED}


def test_without_tasks_no_pool_is_wanted() -> None:
    result = placed([], a_row("p"))
    assert (result.nodes, result.homeless, lost(result)["p"].code) == (0, 0, ReasonCode.NOTHING_TO_DO)


def test_the_shipped_spot_row_takes_what_may_be_interrupted() -> None:
    queue = [a_task(number, memory=24, preemptible=True) for number in range(2)]
    assert bought(placed(queue, a_spot_row(), an_on_demand_row())) == {"eks-l4-spot": 2}


def test_what_is_bought_for_others_elsewhere_changes_nothing_for_those_who_may_not_go_there() -> None:
    bound, free = {"wants": ((labels.POOL, ("b",)),)}, {"wants": ((labels.POOL, ("a",)),)}
    queue = [work(0, 4, **bound), work(1, 4, **free), work(2, 4, **bound), work(3, 4, **bound)]
    result = placed(queue, a_row("a"), a_row("b", "90"))
    assert (bought(result), result.covered) == ({"b": 2, "a": 1}, 1)


def test_a_miscounted_gang_is_a_defect_and_no_purchase() -> None:
    snapshot = a_snapshot(catalog=a_catalog(a_row("p")), pools=[a_pool(pool="p")])
    [offer] = offers(snapshot, {})
    with pytest.raises(AssertionError, match="must fit into the nodes"):
        ground_of(snapshot, 0, offer).buy(1, 8, 2)
