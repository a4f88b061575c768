"""The address plan: blocks never overlap, pins never move, a plan that cannot be says why (I04, R2.1)."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import IPv4Network as Net
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infra.address_plan import (
    IN_LINK_LOCAL,
    RESERVED,
    RESERVED_LINK_LOCAL,
    AddressPlan,
    AddressProblem,
    AddressRequest,
    Wish,
    plan_addresses,
)

SUPERNET = Net("10.64.0.0/12")


def request(
    wishes: list[Wish],
    pins: Mapping[str, str] | None = None,
    onprem: tuple[str, ...] = (),
    supernet: Net = SUPERNET,
) -> AddressRequest:
    return AddressRequest(
        supernet=supernet,
        onprem=tuple(Net(text) for text in onprem),
        wishes=tuple(wishes),
        pins={name: Net(text) for name, text in (pins or {}).items()},
    )


def problem(asked: AddressRequest) -> str:
    with pytest.raises(AddressProblem) as caught:
        plan_addresses(asked)
    return str(caught.value)


@st.composite
def requests(draw: st.DrawFn) -> AddressRequest:
    """Requests of outer blocks with inner ones, beside on-prem ranges of all sizes."""
    wishes: list[Wish] = []
    for number, prefix in enumerate(draw(st.lists(st.integers(14, 30), max_size=8))):
        name = f"outer-{number}"
        wishes.append(Wish(name, prefix))
        for inner, more in enumerate(draw(st.lists(st.integers(0, 4), max_size=4))):
            wishes.append(Wish(f"{name}-{inner}", min(prefix + more, 32), name))
    wishes += [Wish(f"tunnel-{n}", 30, IN_LINK_LOCAL) for n in range(draw(st.integers(0, 40)))]
    start = draw(st.integers(0, 2**32 - 1))
    prefix = draw(st.integers(12, 24))
    onprem = Net((start >> (32 - prefix) << (32 - prefix), prefix))
    if onprem.overlaps(Net("100.64.0.0/10")):
        onprem = Net("10.70.0.0/16")
    return AddressRequest(supernet=SUPERNET, onprem=(onprem,), wishes=tuple(wishes), pins={})


def planned(asked: AddressRequest) -> AddressPlan | None:
    try:
        return plan_addresses(asked)
    except AddressProblem as error:
        if "finds no free place" not in str(error):
            raise
        return None


@given(requests())
def test_blocks_overlap_nothing_but_what_holds_them(asked: AddressRequest) -> None:
    plan = planned(asked)
    if plan is None:
        return
    parents = {wish.name: wish.within for wish in asked.wishes}
    for (one, first), (two, second) in combinations(plan.blocks.items(), 2):
        if parents[one] == two or parents[two] == one:
            inner, outer = (first, second) if parents[one] == two else (second, first)
            assert inner.subnet_of(outer)
        elif parents[one] == parents[two] or None in (parents[one], parents[two]):
            assert not first.overlaps(second)


@given(requests())
def test_blocks_keep_off_the_owner_and_off_reserved_ranges(asked: AddressRequest) -> None:
    plan = planned(asked)
    if plan is None:
        return
    parents = {wish.name: wish.within for wish in asked.wishes}
    for name, block in plan.blocks.items():
        if parents[name] == IN_LINK_LOCAL:
            assert not any(block.overlaps(kept) for kept in RESERVED_LINK_LOCAL.values())
        else:
            assert block.subnet_of(SUPERNET)
            assert not any(block.overlaps(kept) for kept in (*asked.onprem, *RESERVED.values()))


@given(requests(), st.data())
def test_pinned_blocks_stay_where_they_are(asked: AddressRequest, data: st.DataObject) -> None:
    plan = planned(asked)
    if plan is None or not plan.blocks:
        return
    gone = data.draw(st.sampled_from(sorted(plan.blocks)))
    kept = tuple(wish for wish in asked.wishes if gone not in (wish.name, wish.within))
    names = [wish.name for wish in kept]
    pins = {name: block for name, block in plan.blocks.items() if name in names}
    added = (*kept, Wish("new", 28))

    again = planned(AddressRequest(supernet=SUPERNET, onprem=asked.onprem, wishes=added, pins=pins))

    assert again is None or {name: again[name] for name in names} == pins


@given(requests())
def test_same_request_gives_the_same_plan(asked: AddressRequest) -> None:
    first, second = planned(asked), planned(asked)

    assert first == second


def test_three_zones_fit_in_a_vpc_of_22() -> None:
    zones = [Wish(f"{kind}.{zone}", 25, "vpc") for kind in ("nodes", "pods") for zone in "abc"]

    plan = plan_addresses(request([Wish("vpc", 22), *zones]))

    assert len({plan[wish.name] for wish in zones}) == 6


def test_seventh_subnet_that_does_not_fit_is_named() -> None:
    zones = [Wish(f"nodes.{number}", 24, "vpc") for number in range(5)]

    text = problem(request([Wish("vpc", 22), *zones]))

    assert "'nodes.4' (/24)" in text
    assert "block 'vpc' 10.64.0.0/22" in text


def test_two_pins_that_collide_are_both_named() -> None:
    text = problem(request([Wish("a", 16), Wish("b", 16)], {"a": "10.64.0.0/15", "b": "10.65.0.0/16"}))

    assert "'b' 10.65.0.0/16" in text
    assert "'a' 10.64.0.0/15" in text


@pytest.mark.parametrize(
    ("pins", "expected"),
    [
        ({"vpc": "11.0.0.0/16"}, "lies outside the supernet"),
        ({"vpc": "10.64.0.0/16", "inner": "10.65.0.0/24"}, "outside block 'vpc'"),
        ({"inner": "10.64.0.0/24"}, "so pin 'vpc', which holds it, too"),
        ({"vpc": "10.66.0.0/16"}, "overlaps the on-prem range 10.66.0.0/24"),
        ({"tunel": "10.64.0.0/16"}, "did you mean 'tunnel'"),
        ({"vpn-of-old": "10.64.0.0/16"}, "known: vpc, inner, tunnel"),
        ({"tunnel": "169.254.169.0/30"}, "AWS' time and name servers"),
        ({"tunnel": "10.64.0.0/30"}, "outside link-local"),
    ],
)
def test_bad_pin_is_refused_with_its_reason(pins: dict[str, str], expected: str) -> None:
    wishes = [Wish("vpc", 16), Wish("inner", 24, "vpc"), Wish("tunnel", 30, IN_LINK_LOCAL)]

    assert expected in problem(request(wishes, pins, onprem=("10.66.0.0/24",)))


@pytest.mark.parametrize("name", sorted(RESERVED))
def test_reserved_range_is_never_given_out(name: str) -> None:
    kept = RESERVED[name]
    inside = Net((int(kept.network_address), max(kept.prefixlen, 16)))

    assert "finds no free place" in problem(request([Wish("vpc", 24)], supernet=inside))


def test_owner_inside_alibabas_own_range_is_told_so() -> None:
    text = problem(request([Wish("vpc", 16)], onprem=("100.100.0.0/16",)))

    assert "100.100.0.0/16" in text
    assert "100.64.0.0/10" in text


@pytest.mark.parametrize(
    ("wishes", "expected"),
    [
        ([Wish("a", 16), Wish("a", 17)], "asked for twice"),
        ([Wish("inner", 24, "vpc"), Wish("vpc", 16)], "which comes later"),
    ],
)
def test_muddled_wishes_are_refused(wishes: list[Wish], expected: str) -> None:
    assert expected in problem(request(wishes))


def test_block_larger_than_its_room_is_refused() -> None:
    assert "finds no free place" in problem(request([Wish("vpc", 8)]))


def test_plan_as_text_is_what_the_stack_file_holds() -> None:
    plan = plan_addresses(request([Wish("vpc", 16)]))

    assert plan.as_text() == {"vpc": "10.64.0.0/16"}
