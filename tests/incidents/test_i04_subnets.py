"""I04 (pulumi/pulumi-awsx#810, #982): blocks of one network never overlap; what cannot fit is one clear message."""

from __future__ import annotations

from ipaddress import IPv4Network as Net
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from infra.address_plan import AddressPlan, AddressProblem, AddressRequest, Wish, plan_addresses


def request(vpc: int, *groups: int, zones: int = 3, pins: dict[str, Net] | None = None) -> AddressRequest:
    """One network of this prefix; each group is a subnet of its prefix in every zone."""
    wishes = [Wish("vpc", vpc)]
    wishes += [
        Wish(f"group-{number}.zone-{zone}", prefix, "vpc")
        for number, prefix in enumerate(groups)
        for zone in range(zones)
    ]
    return AddressRequest(
        supernet=Net("10.64.0.0/12"), onprem=(Net("10.0.0.0/14"),), wishes=tuple(wishes), pins=pins or {}
    )


def subnets(plan: AddressPlan) -> dict[str, Net]:
    return {name: block for name, block in plan.blocks.items() if name != "vpc"}


def test_two_groups_of_the_same_kind_never_share_an_address() -> None:
    plan = plan_addresses(request(22, 26, 26))
    assert len(subnets(plan)) == 6
    assert not any(one.overlaps(other) for one, other in combinations(subnets(plan).values(), 2))
    assert all(block.subnet_of(plan["vpc"]) for block in subnets(plan).values())


def test_a_small_network_is_used_up_to_its_last_address() -> None:
    """/22 over four zones is four /24: the awsx planner said there was no room."""
    plan = plan_addresses(request(22, 24, zones=4))
    assert sum(block.num_addresses for block in subnets(plan).values()) == plan["vpc"].num_addresses


def test_a_small_network_over_three_zones_has_room_for_both_kinds() -> None:
    plan = plan_addresses(request(22, 24, 28))
    assert {block.prefixlen for block in subnets(plan).values()} == {24, 28}


def test_what_does_not_fit_is_said_with_both_names_before_any_cloud_is_asked() -> None:
    with pytest.raises(AddressProblem) as caught:
        plan_addresses(request(22, 23, zones=3))
    said = str(caught.value)
    assert "'group-0.zone-2' (/23)" in said
    assert "block 'vpc' 10.64.0.0/22" in said
    assert len(said.splitlines()) == 1


def test_two_blocks_that_people_pinned_over_each_other_are_both_named() -> None:
    pins = {
        "vpc": Net("10.64.0.0/22"),
        "group-0.zone-0": Net("10.64.0.0/24"),
        "group-0.zone-1": Net("10.64.0.128/25"),
    }
    with pytest.raises(AddressProblem) as caught:
        plan_addresses(request(22, 24, zones=2, pins=pins))
    assert "'group-0.zone-1' 10.64.0.128/25" in str(caught.value)
    assert "'group-0.zone-0' 10.64.0.0/24" in str(caught.value)


@settings(deadline=None)
@given(vpc=st.integers(16, 24), groups=st.lists(st.integers(18, 28), min_size=1, max_size=4), zones=st.integers(1, 4))
def test_any_split_is_disjoint_or_refused_and_room_is_never_wasted(vpc: int, groups: list[int], zones: int) -> None:
    """Largest first and aligned: a refusal means that the network really is too small."""
    asked = request(vpc, *sorted(groups), zones=zones)
    if sum(zones * (1 << (32 - prefix)) for prefix in groups) > 1 << (32 - vpc):
        with pytest.raises(AddressProblem, match="finds no free place in block 'vpc'"):
            plan_addresses(asked)
        return
    plan = plan_addresses(asked)
    blocks = list(subnets(plan).values())
    assert not any(one.overlaps(other) for one, other in combinations(blocks, 2))
    assert all(block.subnet_of(plan["vpc"]) for block in blocks)
