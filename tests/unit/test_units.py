"""Money, shares and durations: exact, typed, and refusing what is not one."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.units import (
    BadUnit,
    Money,
    Percent,
    parse_duration,
    parse_money,
    parse_percent,
    show_duration,
)

amounts = st.decimals(min_value=-(10**9), max_value=10**9, places=4, allow_nan=False, allow_infinity=False)


@given(amounts, amounts)
def test_money_of_one_currency_adds_and_subtracts_exactly(left: Decimal, right: Decimal) -> None:
    total = Money(left, "CNY") + Money(right, "CNY")
    assert total - Money(right, "CNY") == Money(left, "CNY")


def test_two_currencies_never_mix() -> None:
    with pytest.raises(BadUnit, match="cannot mix"):
        Money(Decimal(1), "CNY") + Money(Decimal(1), "USD")
    with pytest.raises(BadUnit, match="cannot mix"):
        assert Money(Decimal(1), "CNY") < Money(Decimal(2), "USD")


@given(amounts, st.integers(0, 10**6), st.integers(0, 10**6))
def test_cost_of_two_stretches_is_the_cost_of_both_together(rate: Decimal, first: int, second: int) -> None:
    hourly = Money(rate, "USD")
    apart = hourly.for_duration(timedelta(seconds=first)) + hourly.for_duration(timedelta(seconds=second))
    together = hourly.for_duration(timedelta(seconds=first + second))
    assert abs(apart.amount - together.amount) < Decimal("1e-15")


@pytest.mark.parametrize(
    "bad", [12, 12.5, "12", "CNY 12", "12 XYZ", "twelve CNY", None, True, "NaN CNY", "Infinity CNY"]
)
def test_what_is_no_money_is_refused(bad: object) -> None:
    with pytest.raises(BadUnit):
        parse_money(bad)


def test_money_is_read_with_its_digits() -> None:
    assert parse_money("277.933 CNY") == Money(Decimal("277.933"), "CNY")


@pytest.mark.parametrize(
    ("text", "value"), [("85%", 85.0), ("85 %", 85.0), (85, 85.0), ("0.5%", 0.5), (0, 0.0), (100, 100.0)]
)
def test_shares_are_read(text: object, value: float) -> None:
    assert parse_percent(text) == Percent(value)


@pytest.mark.parametrize("bad", ["101%", -1, "nan", float("inf"), float("nan"), True, None, "85 percent", 218322032])
def test_what_is_no_share_is_refused(bad: object) -> None:
    with pytest.raises(BadUnit):
        parse_percent(bad)


@given(st.integers(1, 10**7))
def test_durations_survive_printing_and_reading(seconds: int) -> None:
    duration = timedelta(seconds=seconds)
    assert parse_duration(show_duration(duration)) == duration


@pytest.mark.parametrize("bad", ["5", 5, "", "m5", "5 minutes", "5m-", None, "1h 30m", "-5m"])
def test_what_is_no_duration_is_refused(bad: object) -> None:
    with pytest.raises(BadUnit):
        parse_duration(bad)


def test_a_bare_fraction_is_no_percentage_for_nobody_knows_of_what() -> None:
    for value in (0.85, 85.0, "0.85"):
        with pytest.raises(BadUnit, match="write it with its sign"):
            parse_percent(value)
    assert parse_percent("0.85%") == Percent(0.85)
    assert parse_percent(85) == Percent(85.0)


@pytest.mark.parametrize("text", ["99999999999999999999d", "9" * 400 + "s"])
def test_a_duration_beyond_all_planning_is_refused(text: str) -> None:
    with pytest.raises(BadUnit, match="is longer than"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["1e400 CNY", "1000000000000 CNY", "-1e12 CNY", "1" * 61 + " CNY"])
def test_an_amount_that_no_sum_can_hold_exactly_is_refused(text: str) -> None:
    with pytest.raises(BadUnit, match="is no amount"):
        parse_money(text)


def test_a_share_of_a_bill_keeps_all_its_digits() -> None:
    assert parse_money("16635.70040853488888888888889 CNY").amount == Decimal("16635.70040853488888888888889")
