"""The blocks that a foundation asks for, and the example company's own pins."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Network as Net

import pytest

from contract.catalog import Provider, read_catalog
from contract.stack_config import FoundationConfig, parse_stack_config
from contract.yaml_document import read_document
from infra import address_wishes as blocks
from infra.address_plan import plan_addresses
from tests.infra.recorder import STACKS


def example() -> FoundationConfig:
    document, findings = read_document(STACKS / "Pulumi.foundation.yaml")
    assert isinstance(document, dict)
    config = parse_stack_config(document["config"], findings, read_catalog(STACKS / "catalog.yaml"))
    assert isinstance(config, FoundationConfig)
    return config


def test_example_pins_are_the_whole_plan() -> None:
    config = example()

    assert plan_addresses(blocks.address_request(config)).blocks == config.pins


def test_plan_without_pins_has_the_same_blocks() -> None:
    config = example()

    fresh = plan_addresses(blocks.address_request(replace(config, pins={})))

    assert set(fresh.blocks) == set(config.pins)


def test_new_zone_moves_nothing() -> None:
    config = example()
    ack, eks = config.clouds
    wider = replace(ack, zones=(*ack.zones, "cn-shanghai-n"))

    plan = plan_addresses(blocks.address_request(replace(config, clouds=(wider, eks))))

    assert {name: plan[name] for name in config.pins} == config.pins
    assert plan[blocks.pods(Provider.ALICLOUD, "cn-shanghai-n")].subnet_of(plan["alicloud.vpc"])


@pytest.mark.parametrize("zones", [1, 2, 3, 4, 6])
def test_every_number_of_zones_fits(zones: int) -> None:
    config = example()
    clouds = tuple(replace(cloud, zones=tuple(f"zone-{n}" for n in range(zones))) for cloud in config.clouds)

    plan = plan_addresses(blocks.address_request(replace(config, clouds=clouds, pins={})))

    assert len(plan.blocks) == 2 * (1 + zones + 1 + 1 + 2) + zones


def test_services_lie_outside_of_both_networks() -> None:
    plan = plan_addresses(blocks.address_request(replace(example(), pins={})))
    vpcs = [plan[blocks.vpc(cloud)] for cloud in (Provider.ALICLOUD, Provider.AWS)]

    for cloud in (Provider.ALICLOUD, Provider.AWS):
        assert not any(plan[blocks.services(cloud)].overlaps(vpc) for vpc in vpcs)


def test_link_has_exactly_two_ends() -> None:
    plan = plan_addresses(blocks.address_request(example()))

    assert plan[blocks.link(Provider.AWS)].num_addresses == 4
    assert plan[blocks.tunnel(Provider.AWS, 1)].subnet_of(Net("169.254.0.0/16"))
