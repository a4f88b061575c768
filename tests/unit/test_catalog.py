"""R1.4: bad rows are refused with row, column and fix; all of them at once."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from contract.catalog import Catalog, parse_catalog, read_catalog
from contract.hours import Hours, Weekday
from contract.problems import InvalidInput, Problem
from contract.yaml_document import parse_document

ROOT = Path(__file__).resolve().parents[2]
ROW = {
    "pool": "ack-a100",
    "site": "ali",
    "cluster": "cloud-gpu-a",
    "provider": "alicloud",
    "region": "cn-shanghai",
    "zones": "[cn-shanghai-l]",
    "instance_types": "[ecs.gn7e-c16g1.32xlarge]",
    "gpu_model": "A100",
    "gpus_per_node": "8",
    "gpu_memory_gib": "80",
    "quota_nodes": "20",
    "price_per_node_hour": "277.933 CNY",
    "price_date": "2024-12-01",
    "price_source": "a list",
    "billing": "on_demand",
    "boot": "{fastest: 4m, slowest: 9m, deadline: 20m}",
    "hosts": "[pretraining]",
}


def read(*rows: dict[str, str], head: str = "home_currency: CNY") -> Catalog:
    lines = [head, "pools:"]
    for row in rows:
        cells = [f"{key}: {value}" for key, value in row.items()]
        lines += [f"  - {cells[0]}", *(f"    {cell}" for cell in cells[1:])]
    return parse_catalog(*parse_document("\n".join(lines) + "\n", "catalog.yaml"))


def problems(*rows: dict[str, str], head: str = "home_currency: CNY") -> tuple[Problem, ...]:
    with pytest.raises(InvalidInput) as caught:
        read(*rows, head=head)
    return caught.value.problems


def test_a_good_row_is_read_with_its_types() -> None:
    row = read(ROW).pools["ack-a100"]
    assert (row.quota, row.gpus_per_node, str(row.price)) == (20, 8, "¥277.93")


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("price_per_node_hour", "0 CNY", "not a price"),
        ("price_per_node_hour", "277.933", "not money"),
        ("price_per_node_hour", "277.933 XYZ", "unknown currency"),
        ("price_per_node_hour", "30 USD", "no rate for USD"),
        ("gpu_model", "A1000", "not one of"),
        ("gpu_memory_gib", "48", "A100 has 40 or 80 GiB"),
        ("quota_nodes", "1001", "above alicloud's limit of 1000"),
        ("quota_nodes", "-1", "outside"),
        ("quota_nodes", "'20'", "expected a whole number"),
        ("gpus_per_node", "0", "outside 1"),
        ("billing", "owned", "does not fit provider"),
        ("billing", "spot", "does not fit billing"),
        ("interruption", "<5%", "does not fit billing"),
        ("boot", "{fastest: 9m, slowest: 4m, deadline: 20m}", "must not fall"),
        ("boot", "{fastest: 9, slowest: 9m, deadline: 20m}", "not a duration"),
        ("zones", "[]", "expected a list"),
        ("zones", "[a, a]", "listed twice"),
        ("pool", "Ack_A100", "not a pool name"),
        ("price_date", "yesterday", "Invalid isoformat"),
        ("provider", "gcp", "not one of"),
        ("site", "''", "expected a text"),
        ("quotanodes", "3", "unknown key"),
    ],
)
def test_a_bad_cell_is_named_with_row_column_and_fix(key: str, value: str, words: str) -> None:
    [problem] = problems({**ROW, key: value})
    assert words in problem.message
    assert problem.fix
    assert problem.file == "catalog.yaml"
    expected = list({**ROW, key: value}).index(key.split(".")[0]) + 3
    assert problem.row == expected or problem.where.endswith(("boot", "interruption"))


def test_all_bad_rows_are_named_at_once() -> None:
    second = {**ROW, "pool": "other", "gpu_model": "Z9"}
    found = problems({**ROW, "price_per_node_hour": "0 CNY"}, second)
    assert [problem.where for problem in found] == ["pools[0].price_per_node_hour", "pools[1].gpu_model"]


def test_the_same_pool_twice_is_refused() -> None:
    [problem] = problems(ROW, ROW)
    assert "stands twice" in problem.message


def test_a_missing_cell_is_named() -> None:
    [problem] = problems({key: value for key, value in ROW.items() if key != "region"})
    assert (problem.where, problem.message) == ("pools[0].region", "is missing")


def test_a_typing_slip_gets_a_suggestion() -> None:
    row = {("quota_node" if key == "quota_nodes" else key): value for key, value in ROW.items()}
    found = problems(row)
    assert any("did you mean 'quota_nodes'?" in problem.fix for problem in found)


def test_prices_convert_with_the_dated_rate() -> None:
    head = 'home_currency: CNY\nrates: {USD: {rate: "7.12", date: 2026-11-02}}'
    catalog = read({**ROW, "price_per_node_hour": "10 USD"}, head=head)
    assert str(catalog.in_home_currency(catalog.pools["ack-a100"].price)) == "¥71.20"


@pytest.mark.parametrize("rate", ["7.12", '"0"', '"-1"', '"NaN"', '"x"'])
def test_a_rate_is_a_quoted_number_above_zero(rate: str) -> None:
    [problem] = problems(ROW, head=f"home_currency: CNY\nrates: {{USD: {{rate: {rate}, date: 2026-11-02}}}}")
    assert "rate" in problem.message


def test_the_shipped_catalogue_is_good_and_every_price_has_a_source() -> None:
    catalog = read_catalog(ROOT / "stacks" / "catalog.yaml")
    assert {row.provider.value for row in catalog.pools.values()} == {"onprem", "alicloud", "aws"}
    assert all(row.price_source and row.price.amount > 0 for row in catalog.pools.values())


def test_a_row_gives_its_nodes_their_labels_and_taints() -> None:
    row = read({**ROW, "billing": "spot", "interruption": "5-10%"}).pools["ack-a100"]
    assert row.node_labels()["spillway.dev/preemptible"] == "true"
    assert [key for key, _, _ in row.node_taints()] == ["spillway.dev/burst", "spillway.dev/preemptible"]


HOURS = '{zone: Asia/Shanghai, opens: "22:00", length: 8h}'


def test_hours_are_read_and_a_pool_may_have_none() -> None:
    assert read(ROW).pools["ack-a100"].hours is None
    hours = read({**ROW, "billing": "off_peak", "hours": HOURS}).pools["ack-a100"].hours
    assert hours == Hours(zone="Asia/Shanghai", opens=timedelta(hours=22), length=timedelta(hours=8))
    days = '{zone: UTC, opens: "22:00", length: 8h, weekdays: [sat, sun]}'
    hours = read({**ROW, "hours": days}).pools["ack-a100"].hours
    assert hours is not None
    assert hours.weekdays == (Weekday.SAT, Weekday.SUN)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"billing": "off_peak"}, "needs hours"),
        ({"billing": "off_peak", "hours": '{zone: Mars, opens: "22:00", length: 8h}'}, "not a time zone"),
        ({"billing": "off_peak", "hours": "{zone: UTC, opens: 22, length: 8h}"}, "not a time of day"),
        ({"billing": "off_peak", "hours": '{zone: UTC, opens: "22:00", length: 24h}'}, "never open or never close"),
        ({"billing": "off_peak", "hours": '{zone: UTC, opens: "22:00", length: 0s}'}, "never open or never close"),
        ({"hours": '{zone: UTC, opens: "22:00", length: 8h, weekdays: [monday]}'}, "not a list of some of"),
        ({"hours": '{zone: UTC, opens: "22:00", length: 8h, closes: "06:00"}'}, "closes"),
    ],
)
def test_hours_that_make_no_sense_are_refused(row: dict[str, str], words: str) -> None:
    (problem,) = problems({**ROW, **row})
    assert words in f"{problem}"


def test_owned_nodes_have_no_hours() -> None:
    owned = {**ROW, "provider": "onprem", "billing": "owned", "boot": "{fastest: 0s, slowest: 0s, deadline: 0s}"}
    (problem,) = problems({**owned, "hours": HOURS})
    assert "has no hours" in f"{problem}"
