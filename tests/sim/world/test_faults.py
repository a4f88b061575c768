"""The fault plan: what hits whom and when, and what the log says about it."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from contract.fields import Findings
from contract.problems import InvalidInput
from sim.world.draws import Draws
from sim.world.fault_file import parse_faults, read_faults
from sim.world.faults import Fault, FaultKind, FaultPlan, Moment, Target
from sim.world.nodes import Phase
from sim.world.refusals import CloudRefusal
from sim.world.spot import ITN_TAINT
from sim.world.world import World
from tests.sim.builders import ROWS, a_job, a_spec, a_world

STOCK = {"ack-a100": "OperationDenied.NoStock", "eks-h100": "InsufficientInstanceCapacity"}
QUOTA = {"ack-a100": "QuotaExceed.ElasticQuota", "eks-h100": "VcpuLimitExceeded"}
BOTH = pytest.mark.parametrize("pool", list(STOCK))


def a_fault(kind: FaultKind, pool: str = "", **changes: object) -> Fault:
    """A fault of one pool, from now on."""
    return Fault(name=f"{kind}-1", kind=kind, target=Target(pool=pool), **changes)  # type: ignore[arg-type]


def a_faulty_world(*faults: Fault, jobs: int = 0) -> World:
    """A world with these faults."""
    world = a_world([a_job(f"job-{number}", duration_s=9000.0) for number in range(jobs)], local_nodes=0)
    world.arm(faults)
    return world


@BOTH
def test_stock_out_lets_the_order_pass_and_fails_the_launch(pool: str) -> None:
    world = a_faulty_world(a_fault(FaultKind.STOCK_OUT, pool, until_s=900.0))
    group = world.groups.create(a_spec(pool, desired=2))
    world.advance_to(600.0)
    assert (group.desired, len(group.nodes)) == (2, 0)
    assert {activity.code for activity in group.activities} == {STOCK[pool]}
    assert group.activities[0].is_failed
    world.advance_to(3600.0)
    assert len(group.standing()) == 2
    assert not group.activities[-1].is_failed


@BOTH
def test_stock_out_at_order_time_is_the_answer_to_the_call(pool: str) -> None:
    world = a_faulty_world(a_fault(FaultKind.STOCK_OUT, pool, moment=Moment.ORDER))
    group = world.groups.create(a_spec(pool))
    with pytest.raises(CloudRefusal) as caught:
        world.groups.set_desired(group.group_id, 1)
    assert caught.value.code == STOCK[pool]
    assert group.desired == 0
    world.groups.set_desired(group.group_id, 0)


def test_failed_launches_are_tried_again_ever_more_slowly() -> None:
    world = a_faulty_world(a_fault(FaultKind.STOCK_OUT, "ack-a100"))
    group = world.groups.create(a_spec(desired=1))
    world.advance_to(3600.0)
    times = [activity.at_s for activity in group.activities]
    gaps = [later - earlier for earlier, later in pairwise(times)]
    assert gaps[:3] == [60.0, 120.0, 240.0]
    assert set(gaps[3:]) == {300.0}


def test_stock_out_of_one_zone_or_type_is_evaded() -> None:
    zone, kind = ROWS["eks-h100"].zones[0], "p5.48xlarge"
    in_zone = Fault(name="zone", kind=FaultKind.STOCK_OUT, target=Target(zone=zone))
    world = a_faulty_world(in_zone)
    group = world.groups.create(a_spec("eks-h100", desired=3))
    assert {node.zone for node in group.nodes} == {ROWS["eks-h100"].zones[1]}
    of_type = Fault(name="type", kind=FaultKind.STOCK_OUT, target=Target(instance_type=kind))
    world = a_faulty_world(of_type)
    mixed = a_spec("eks-h100", instance_types=(kind, "p4d.24xlarge"), desired=1)
    assert world.groups.create(mixed).nodes[0].machine.name == "p4d.24xlarge"


@BOTH
def test_quota_of_the_row_is_what_the_cloud_grants(pool: str) -> None:
    world = a_world()
    quota = int(ROWS[pool].quota)
    group = world.groups.create(a_spec(pool, desired=quota + 2, maximum=quota + 2))
    assert len(group.nodes) == quota
    assert group.activities[-1].code == QUOTA[pool]


@BOTH
def test_quota_fault_lowers_what_is_granted(pool: str) -> None:
    world = a_faulty_world(a_fault(FaultKind.QUOTA, pool, limit=1))
    group = world.groups.create(a_spec(pool, desired=3))
    assert len(group.nodes) == 1
    assert group.activities[-1].code == QUOTA[pool]


def test_slow_boot_takes_the_factor_and_the_delay() -> None:
    world = a_faulty_world(a_fault(FaultKind.SLOW_BOOT, factor=2.0, delay_s=600.0))
    node = world.groups.create(a_spec(desired=1)).nodes[0]
    world.advance_to(3600.0)
    assert 2 * 240 + 600 <= node.entered_s[Phase.GPU_READY] <= 2 * 540 + 600


def test_boot_failure_leaves_a_node_that_never_joins_and_is_not_replaced() -> None:
    world = a_faulty_world(a_fault(FaultKind.BOOT_FAILURE, "ack-a100", count=1), jobs=1)
    group = world.groups.create(a_spec(desired=2))
    world.advance_to(3600.0)
    assert [node.phase for node in group.nodes] == [Phase.FAILED, Phase.GPU_READY]
    assert not group.nodes[0].has_object
    world.groups.remove_instance(group.nodes[0].instance_id, decrement=True)
    world.advance_to(4000.0)
    assert group.nodes[0].phase is Phase.GONE


def test_late_gpu_leaves_a_ready_node_without_gpus() -> None:
    """I32: the node is there, its GPUs are not."""
    world = a_faulty_world(a_fault(FaultKind.GPU_LATE, delay_s=240.0))
    node = world.groups.create(a_spec(desired=1)).nodes[0]
    world.advance_to(3600.0)
    assert node.entered_s[Phase.GPU_READY] - node.entered_s[Phase.JOINED] >= 240.0


def test_gpu_that_never_comes_stays_away() -> None:
    world = a_faulty_world(a_fault(FaultKind.GPU_LATE, delay_s=float("inf")))
    node = world.groups.create(a_spec(desired=1)).nodes[0]
    world.advance_to(90_000.0)
    assert node.phase is Phase.JOINED


@pytest.mark.parametrize(("pool", "notice_s"), [("ack-a100-spot", 300.0), ("eks-l4-spot", 120.0)])
def test_spot_node_gets_its_notice_goes_and_is_replaced(pool: str, notice_s: float) -> None:
    world = a_faulty_world(a_fault(FaultKind.SPOT_RECLAIM, pool, from_s=1000.0, count=1))
    world.dispatcher.submit(a_job(gpus=4, duration_s=9000.0))
    group = world.groups.create(a_spec(pool, desired=1))
    node = group.nodes[0]
    world.advance_to(1000.0 + notice_s - 1)
    assert Phase.GONE not in node.entered_s
    assert node.is_busy
    assert node.reclaim_s == 1000.0 + notice_s
    assert (ITN_TAINT in {taint.key for taint in node.taints}) is (pool == "eks-l4-spot")
    world.advance_to(1000.0 + notice_s)
    assert Phase.GONE in node.entered_s
    assert world.results().restarts == 1
    assert world.results().jobs_lost == 0
    assert len(group.standing()) == 1


def test_reclaim_spares_nodes_that_are_not_spot() -> None:
    world = a_faulty_world(a_fault(FaultKind.SPOT_RECLAIM, from_s=1000.0))
    group = world.groups.create(a_spec("ack-a100", desired=2))
    world.advance_to(2000.0)
    assert len(group.present()) == 2


@pytest.mark.parametrize(("pool", "code"), [("ack-a100", "Throttling.User"), ("eks-h100", "Throttling")])
def test_throttled_call_is_refused_until_the_fault_is_spent(pool: str, code: str) -> None:
    world = a_faulty_world(a_fault(FaultKind.THROTTLING, pool, count=2))
    for _ in range(2):
        with pytest.raises(CloudRefusal) as caught:
            world.groups.create(a_spec(pool))
        assert caught.value.code == code
    world.groups.create(a_spec(pool))


def test_log_names_what_fired() -> None:
    world = a_faulty_world(a_fault(FaultKind.BOOT_FAILURE, count=1))
    node = world.groups.create(a_spec(desired=1)).nodes[0]
    (fired,) = world.ground.faults.log
    assert (fired.fault, fired.kind, fired.detail) == ("boot_failure-1", FaultKind.BOOT_FAILURE, node.name)


def test_chance_is_seeded() -> None:
    def hits(seed: int) -> list[bool]:
        plan = FaultPlan(Draws(seed))
        plan.arm([a_fault(FaultKind.API_DOWN, probability=0.5)])
        return [plan.strike(FaultKind.API_DOWN, Target(), 0.0, "") is not None for _ in range(40)]

    assert hits(1) == hits(1)
    assert hits(1) != hits(2)
    assert 5 < sum(hits(1)) < 35


def test_two_faults_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="armed already"):
        a_faulty_world(a_fault(FaultKind.QUOTA), a_fault(FaultKind.QUOTA))


PLAN = """
faults:
  - {kind: stock_out, pool: ack-a100, from: 20m, until: 50m, at: order}
  - {kind: slow_boot, provider: aws, factor: 2.5, by: 90s}
  - {kind: gpu_late, by: never}
  - {kind: prometheus, mode: absurd, from: 1h, for: 10m}
  - {kind: quota, instance_type: p5.48xlarge, limit: 2}
  - {kind: api_down, cluster: idc-gpu, mode: reset, probability: 0.25, count: 3}
"""


def test_plan_is_read_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "faults.yaml"
    path.write_text(PLAN, encoding="utf-8")
    stock, slow, late, prometheus, quota, down = read_faults(path)
    assert (stock.from_s, stock.until_s, stock.moment) == (1200.0, 3000.0, Moment.ORDER)
    assert (slow.factor, slow.delay_s, slow.target.provider) == (2.5, 90.0, "aws")
    assert late.delay_s == float("inf")
    assert (prometheus.mode, prometheus.until_s) == ("absurd", 4200.0)
    assert (quota.limit, quota.target.instance_type) == (2, "p5.48xlarge")
    assert (down.mode, down.probability, down.count, down.name) == ("reset", 0.25, 3, "api_down-6")


@pytest.mark.parametrize(
    ("row", "word"),
    [
        ({"kind": "earthquake"}, "not one of"),
        ({"kind": "quota", "pol": "x"}, "did you mean"),
        ({"kind": "stock_out", "from": "20m", "until": "10m"}, "before"),
        ({"kind": "stock_out", "from": 20}, "duration"),
        ({"kind": "prometheus", "mode": "weird"}, "known: empty"),
        ({"kind": "quota", "mode": "nan"}, "no mode"),
        ({"kind": "quota", "count": 0}, "above 0"),
        ({"kind": "quota", "probability": 2}, "probability"),
        ({"kind": "slow_boot", "factor": 0}, "above 0"),
    ],
)
def test_bad_fault_is_refused_with_its_reason(row: dict[str, object], word: str) -> None:
    with pytest.raises(InvalidInput, match=word):
        parse_faults({"faults": [row]}, Findings("request"))


def test_fault_armed_while_running_stands_from_now() -> None:
    (fault,) = parse_faults({"faults": [{"kind": "quota", "for": "5m"}]}, Findings("request"), now_s=100.0, taken=4)
    assert (fault.from_s, fault.until_s, fault.name) == (100.0, 400.0, "quota-5")
