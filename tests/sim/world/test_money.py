"""The bill: per second, from order to end, at the row's price, in the home currency."""

from __future__ import annotations

from decimal import Decimal

import pytest

from contract.units import Money, parse_money
from sim.world.bill import billed_seconds, cost_of
from sim.world.nodes import LossCause, Phase
from tests.sim.builders import ROWS, a_catalog, a_spec, a_world


@pytest.mark.parametrize(
    ("from_s", "to_s", "billed"),
    [(0.0, 0.0, 60), (0.0, 59.9, 60), (0.0, 60.0, 60), (0.0, 60.1, 61), (10.0, 3610.0, 3600)],
)
def test_begun_second_counts_and_a_minute_is_the_least(from_s: float, to_s: float, billed: int) -> None:
    assert billed_seconds(from_s, to_s) == billed


def test_hour_costs_the_price_of_an_hour() -> None:
    price = Money(Decimal("277.933"), "CNY")
    assert cost_of(price, 3600) == price
    assert cost_of(price, 1800).amount == Decimal("138.9665")


def test_owned_nodes_are_not_billed() -> None:
    world = a_world()
    world.advance_to(86_400.0)
    assert world.bill().charges == ()
    assert world.bill().total == parse_money("0 CNY")


def test_running_node_is_charged_so_far_and_a_gone_one_no_more() -> None:
    world = a_world()
    group = world.groups.create(a_spec(desired=1))
    world.advance_to(3600.0)
    assert world.bill().total == Money(ROWS["ack-a100"].price.amount, "CNY")
    world.groups.set_desired(group.group_id, 0)
    world.advance_to(5000.0)
    (charge,) = world.bill().charges
    assert not charge.is_open
    assert 3630.0 <= charge.to_s <= 3690.0
    later = world.bill().total
    world.advance_to(90_000.0)
    assert world.bill().total == later


def test_foreign_price_is_converted_with_the_catalogues_rate() -> None:
    world = a_world()
    world.groups.create(a_spec("eks-h100", desired=2))
    world.advance_to(3600.0)
    bill = world.bill()
    assert [str(charge.cost) for charge in bill.charges] == ["$55.04", "$55.04"]
    assert bill.total == Money(2 * Decimal("55.04") * Decimal("7.1"), "CNY")
    assert bill.by_pool() == {"eks-h100": bill.total}


def test_node_that_never_boots_costs_all_the_same() -> None:
    world = a_world()
    node = world.groups.create(a_spec(desired=1)).nodes[0]
    world.fleet.move(node, Phase.FAILED)
    world.advance_to(7200.0)
    assert world.bill().total == Money(2 * ROWS["ack-a100"].price.amount, "CNY")


def test_deleted_node_object_does_not_stop_the_charge() -> None:
    world = a_world()
    node = world.groups.create(a_spec(desired=1)).nodes[0]
    world.advance_to(1800.0)
    world.delete_node_object(node)
    world.advance_to(3600.0)
    assert world.bill().charges[0].seconds == 3600


def test_results_and_timeline_agree_with_the_bill() -> None:
    world = a_world()
    group = world.groups.create(a_spec(desired=2))
    world.advance_to(1800.0)
    world.groups.set_desired(group.group_id, 1)
    world.advance_to(6000.0)
    assert world.timeline.samples[-1].at_s == 6000.0
    assert world.timeline.samples[-1].spent == world.bill().total == world.results().cloud_cost
    assert (world.results().nodes_bought, world.results().nodes_left) == (2, 1)


def test_spot_node_is_charged_until_it_is_reclaimed() -> None:
    world = a_world()
    node = world.groups.create(a_spec("ack-a100-spot", desired=1)).nodes[0]
    world.advance_to(1000.0)
    world.fleet.vanish(node, LossCause.SPOT)
    assert world.bill().charges[0].seconds == 1000


def test_use_is_held_over_ready_and_none_where_nothing_was_ready() -> None:
    world = a_world()
    world.advance_to(100.0)
    results = world.results()
    assert results.local.use == 0.0
    assert results.cloud.use is None
    assert results.local.ready == 100.0 * 16
    assert a_catalog().home_currency == results.cloud_cost.currency
