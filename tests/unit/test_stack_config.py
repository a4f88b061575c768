"""Stack config: typed as the program and the agent both read it, or every problem with its place and a fix."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.catalog import Catalog, Provider, read_catalog
from contract.fields import Findings
from contract.problems import InvalidInput
from contract.stack_config import (
    DESIRED,
    BurstConfig,
    FoundationConfig,
    StackConfig,
    desired_value,
    parse_stack_config,
)
from contract.units import Nodes
from contract.yaml_document import parse_document

STACKS = Path(__file__).resolve().parents[2] / "stacks"
CATALOG: Catalog = read_catalog(STACKS / "catalog.yaml")
FILES = {
    stack: (STACKS / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
    for stack in ("foundation", "burst-aws", "burst-alicloud")
}
Config = dict[str, Any]
Edit = Callable[[Config], object]


def config_of(stack: str) -> Config:
    document, _ = parse_document(FILES[stack], f"Pulumi.{stack}.yaml")
    assert isinstance(document, dict)
    return deepcopy(document["config"])


def parsed(values: Mapping[str, object]) -> StackConfig:
    return parse_stack_config(values, Findings("Pulumi.yaml"), CATALOG)


def problems(stack: str, edit: Edit) -> list[tuple[str, str]]:
    """(where, message) of all that is said after an edit; each has a fix."""
    values = config_of(stack)
    edit(values)
    with pytest.raises(InvalidInput) as caught:
        parsed(values)
    assert all(problem.fix for problem in caught.value.problems)
    return [(problem.where, problem.message) for problem in caught.value.problems]


def says(found: list[tuple[str, str]], where: str, words: str) -> bool:
    return any(place == where and words in message for place, message in found)


def at(path: str, value: object) -> Edit:
    """Put a value at `key/key/…` of the config; `...` takes the key away."""
    *way, last = path.split("/")

    def edit(values: Config) -> None:
        inner = values
        for key in way:
            inner = inner[key]
        if value is ...:
            del inner[last]
        else:
            inner[last] = value

    return edit


def test_the_shipped_stacks_are_good() -> None:
    foundation, aws, alicloud = (parsed(config_of(stack)) for stack in FILES)
    assert isinstance(foundation, FoundationConfig)
    assert isinstance(aws, BurstConfig)
    assert isinstance(alicloud, BurstConfig)
    assert [cloud.provider for cloud in foundation.clouds] == [Provider.ALICLOUD, Provider.AWS]
    assert foundation.onprem.ranges[0] == IPv4Network("10.0.0.0/14")
    assert foundation.clouds[1].account_id == "012345678912"
    assert foundation.clouds[0].account_id is None
    assert (aws.provider, aws.foundation, aws.department) == (Provider.AWS, "foundation", "platform")
    assert set(alicloud.desired) == {"ack-a100-od", "ack-a100-spot", "ack-h20-od"}


# ---- who may act where ----


@pytest.mark.parametrize(
    "account",
    [12345678912, "12345678912", "0123456789123", "01234567891a", "", " 012345678912", "\u096612345678912", None, True],
)
def test_an_account_id_is_exactly_twelve_digits_in_quotes(account: object) -> None:
    """I01: 012345678912 read as a number has lost its zero."""
    found = problems("foundation", at("spillway:aws/account", account))
    assert [where for where, _ in found] == ["config.spillway:aws.account"]


def test_an_account_that_yaml_took_for_a_number_is_refused_in_the_file_itself() -> None:
    text = FILES["foundation"].replace('account: "012345678912"', "account: 112345678912")
    document, findings = parse_document(text, "Pulumi.foundation.yaml")
    row = next(number for number, line in enumerate(text.splitlines(), 1) if "account:" in line)
    assert isinstance(document, dict)
    with pytest.raises(InvalidInput, match=f"Pulumi.foundation.yaml:{row}:5: config.spillway:aws.account"):
        parse_stack_config(document["config"], findings, CATALOG)


@settings(deadline=None)
@given(st.from_regex(r"[0-9]{12}", fullmatch=True).filter(str.isascii))
def test_any_twelve_digits_come_through_as_they_are(account: str) -> None:
    values = config_of("foundation")
    values["spillway:aws"]["account"] = account
    config = parsed(values)
    assert isinstance(config, FoundationConfig)
    assert config.clouds[1].account_id == account


# ---- ranges ----


@pytest.mark.parametrize("path", ["spillway:supernet", "spillway:addresses/aws.vpc"])
@pytest.mark.parametrize("text", ["10.64.0.0/33", "10.64.0.1/12", "fd00::/8", "10.64/12", "", 10, None, ["10.0.0.0/8"]])
def test_what_is_no_range_is_refused_by_name(path: str, text: object) -> None:
    [(where, _)] = problems("foundation", at(path, text))
    assert where == "config." + path.replace("/", ".")


@pytest.mark.parametrize("ranges", [[], "10.0.0.0/14", ["10.0.0.0/14", "office"], [10], None])
def test_the_owners_ranges_are_a_list_of_ranges(ranges: object) -> None:
    [(where, _)] = problems("foundation", at("spillway:onprem/ranges", ranges))
    assert where == "config.spillway:onprem.ranges"


# ---- pools and sizes ----


def test_a_pool_that_the_catalogue_does_not_know_is_refused_and_the_known_are_told() -> None:
    values = config_of("burst-aws")
    values[DESIRED]["eks-ghost"] = 0
    with pytest.raises(InvalidInput) as caught:
        parsed(values)
    [problem] = caught.value.problems
    assert problem.where == f"config.{DESIRED}.eks-ghost"
    assert problem.fix == "use: eks-a100-od, eks-h100-od, eks-l4-spot"


def test_a_pool_of_the_other_cloud_is_refused() -> None:
    found = problems("burst-aws", lambda values: values[DESIRED].update({"ack-a100-od": 1}))
    assert says(found, f"config.{DESIRED}.ack-a100-od", "is not a pool of aws")


def test_a_pool_without_a_size_is_missed() -> None:
    found = problems("burst-aws", at(f"{DESIRED}/eks-l4-spot", ...))
    assert found == [(f"config.{DESIRED}.eks-l4-spot", "is in the catalogue and has no desired size")]


@pytest.mark.parametrize("size", [-1, 17, 1.0, "3", True, None, [3]])
def test_a_size_is_a_whole_number_from_zero_to_the_quota(size: object) -> None:
    """eks-a100-od has a quota of 16."""
    [(where, _)] = problems("burst-aws", at(f"{DESIRED}/eks-a100-od", size))
    assert where == f"config.{DESIRED}.eks-a100-od"


@settings(deadline=None)
@given(st.sampled_from([row.pool for row in CATALOG.cloud_pools(Provider.AWS)]), st.integers(-3, 40))
def test_exactly_the_sizes_within_quota_pass(pool: str, size: int) -> None:
    values = config_of("burst-aws")
    values[DESIRED][pool] = size
    quota = CATALOG.pools[pool].quota
    if not 0 <= size <= quota:
        with pytest.raises(InvalidInput, match=re.escape(f"{size} is outside 0 to {quota}")):
            parsed(values)
        return
    config = parsed(values)
    assert isinstance(config, BurstConfig)
    assert config.desired[pool] == size
    assert desired_value(config.desired) == values[DESIRED]


def test_a_pool_that_stands_twice_is_refused_before_anything_is_read() -> None:
    text = FILES["burst-aws"].replace("    eks-h100-od: 0", "    eks-a100-od: 3")
    with pytest.raises(InvalidInput, match="key 'eks-a100-od' stands twice"):
        parse_document(text, "Pulumi.burst-aws.yaml")


def test_sizes_are_written_as_plain_numbers() -> None:
    assert desired_value({"a": Nodes(3)}) == {"a": 3}


# ---- the rest ----


@pytest.mark.parametrize(
    ("stack", "edit", "where", "words"),
    [
        ("burst-aws", at("spillway:layer", "cloud"), "config.spillway:layer", "foundation, burst"),
        ("burst-aws", at("spillway:cloud", "azure"), "config.spillway:cloud", "is not one of"),
        ("burst-aws", at("spillway:cloud", "onprem"), "config.spillway:cloud", "onprem"),
        ("burst-aws", at("spillway:foundation", ...), "config.spillway:foundation", "is missing"),
        ("burst-aws", at("spillway:department", " "), "config.spillway:department", "expected a text"),
        ("burst-aws", at(DESIRED, ...), f"config.{DESIRED}", "is missing"),
        ("burst-aws", at(DESIRED, 3), f"config.{DESIRED}", "expected keys and values"),
        ("burst-aws", at("spillway:desird", {}), "config.spillway:desird", "unknown key"),
        ("foundation", at("spillway:onprem/asn", 0), "config.spillway:onprem.asn", "outside 1"),
        ("foundation", at("spillway:aws/asn", 4294967295), "config.spillway:aws.asn", "outside 1 to 4294967294"),
        ("foundation", at("spillway:aws/zones", ["a", "a"]), "config.spillway:aws.zones", "listed twice"),
        ("foundation", at("spillway:aws/zones", []), "config.spillway:aws.zones", "expected a list"),
        (
            "foundation",
            at("spillway:aws/kubernetes_version", 1.34),
            "config.spillway:aws.kubernetes_version",
            "a number",
        ),
        ("foundation", at("spillway:aws/link/vlan", 4095), "config.spillway:aws.link.vlan", "outside 1 to 4094"),
        ("foundation", at("spillway:alicloud/link/vlan", 3000), "config.spillway:alicloud.link.vlan", "1 to 2999"),
        ("foundation", at("spillway:aws/link/connection", "pc-1"), "config.spillway:aws.link.connection", "'dxcon-'"),
        (
            "foundation",
            at("spillway:aws/link/bandwidth_mbps", 9999),
            "config.spillway:aws.link.bandwidth_mbps",
            "10 to 100",
        ),
        (
            "foundation",
            at("spillway:aws/link/bandwidth_mbps", True),
            "config.spillway:aws.link.bandwidth_mbps",
            "10 to 100",
        ),
        (
            "foundation",
            at("spillway:aws/link/bgp_key", "clear"),
            "config.spillway:aws.link.bgp_key",
            "must be encrypted",
        ),
        ("foundation", at("spillway:aws/link", ...), "config.spillway:aws.link", "is missing"),
    ],
)
def test_a_bad_value_is_named_with_its_place(stack: str, edit: Edit, where: str, words: str) -> None:
    found = problems(stack, edit)
    assert says(found, where, words), found


def test_a_layer_that_is_none_is_the_only_thing_said() -> None:
    assert [where for where, _ in problems("burst-aws", at("spillway:layer", "cloud"))] == ["config.spillway:layer"]
    assert [where for where, _ in problems("burst-aws", at("spillway:layer", ...))] == ["config.spillway:layer"]


def test_a_key_in_clear_is_refused_without_being_shown() -> None:
    found = problems("foundation", at("spillway:aws/link/bgp_key", "canary-4711"))
    assert "canary-4711" not in str(found)


def test_a_foundation_without_a_cloud_is_refused() -> None:
    def edit(values: Config) -> None:
        del values["spillway:aws"], values["spillway:alicloud"]

    assert says(problems("foundation", edit), "config", "names no cloud")


def test_a_foundation_of_one_cloud_is_enough() -> None:
    values = config_of("foundation")
    del values["spillway:aws"]
    config = parsed(values)
    assert isinstance(config, FoundationConfig)
    assert [cloud.provider for cloud in config.clouds] == [Provider.ALICLOUD]


def test_all_problems_are_told_at_once() -> None:
    def edit(values: Config) -> None:
        values["spillway:cloud"] = "aws"
        values["spillway:department"] = 7
        values[DESIRED]["eks-a100-od"] = -1
        values["spillway:typo"] = 1

    assert len(problems("burst-aws", edit)) == 3


def test_config_of_other_owners_is_left_alone() -> None:
    values = config_of("burst-aws") | {"aws:region": "us-east-1", "pulumi:disable-default-providers": ["*"]}
    assert isinstance(parsed(values), BurstConfig)
