"""The blocks that a foundation needs, by name, from its config. Pure; places come from address_plan."""

from __future__ import annotations

import math

from contract.catalog import Provider
from contract.stack_config import CloudConfig, FoundationConfig
from infra.address_plan import IN_LINK_LOCAL, AddressRequest, Wish

_VPC = 16
_SMALLEST_NODES = 20
_SERVICES = 20
_LINK = 30
_TUNNELS = 2


def address_request(config: FoundationConfig) -> AddressRequest:
    """What the whole stack asks of the plan."""
    wishes = [wish for cloud in config.clouds for wish in _vpc_wishes(cloud)]
    # VPCs first and small blocks after them, so that small ones do not break up the large places.
    wishes += [Wish(services(cloud.provider), _SERVICES) for cloud in config.clouds]
    wishes += [Wish(link(cloud.provider), _LINK) for cloud in config.clouds]
    wishes += [
        Wish(tunnel(cloud.provider, number), _LINK, IN_LINK_LOCAL)
        for cloud in config.clouds
        for number in range(1, _TUNNELS + 1)
    ]
    return AddressRequest(supernet=config.supernet, onprem=config.onprem.ranges, wishes=tuple(wishes), pins=config.pins)


def vpc(provider: Provider) -> str:
    """A cloud's whole network."""
    return f"{provider}.vpc"


def nodes(provider: Provider, zone: str) -> str:
    """Nodes of one zone; on AWS their pods too."""
    return f"{provider}.nodes.{zone}"


def pods(provider: Provider, zone: str) -> str:
    """Pods of one zone, where pods have subnets of their own (Alibaba Cloud)."""
    return f"{provider}.pods.{zone}"


def services(provider: Provider) -> str:
    """Cluster-internal service addresses, outside of every VPC."""
    return f"{provider}.services"


def link(provider: Provider) -> str:
    """The two ends of the dedicated line."""
    return f"{provider}.link"


def tunnel(provider: Provider, number: int) -> str:
    """The two inner ends of one IPsec tunnel."""
    return f"{provider}.tunnel-{number}"


def _vpc_wishes(cloud: CloudConfig) -> list[Wish]:
    outer = vpc(cloud.provider)
    # One share of the VPC for each zone and one more, which Alibaba's nodes divide among them.
    share = _VPC + math.ceil(math.log2(len(cloud.zones) + 1))
    if cloud.provider is Provider.AWS:
        inner = [Wish(nodes(cloud.provider, zone), share, outer) for zone in cloud.zones]
    else:
        part = max(_SMALLEST_NODES, share + math.ceil(math.log2(len(cloud.zones))))
        inner = [Wish(nodes(cloud.provider, zone), part, outer) for zone in cloud.zones]
        inner += [Wish(pods(cloud.provider, zone), share, outer) for zone in cloud.zones]
    return [Wish(outer, _VPC), *inner]
