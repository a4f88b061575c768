"""Typed mirror of what a stack file may hold. Only `spillway:desired` is ever written by a machine.

Parsed by infra/config.py from Pulumi's own config and by the agent from the file; both get the same
values and the same errors.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from contract.catalog import Catalog, Provider
from contract.fields import Fields, Findings
from contract.units import Mbps, Nodes

NAMESPACE = "spillway"
DESIRED = "spillway:desired"
# Where the catalogue is, relative to Pulumi.yaml; only infra/config.py follows it.
CATALOG = "spillway:catalog"
_ACCOUNT = re.compile(r"[0-9]{12}")
_CONNECTION = {
    Provider.ALICLOUD: re.compile(r"pc-[a-z0-9]+"),
    Provider.AWS: re.compile(r"dxcon-[a-z0-9]+"),
}
_LINK_MBPS = (10_000, 20_000, 40_000, 50_000, 100_000)

Network = ipaddress.IPv4Network


class Layer(StrEnum):
    """What a stack builds."""

    FOUNDATION = "foundation"
    BURST = "burst"


@dataclass(frozen=True, slots=True, kw_only=True)
class OnPremNetwork:
    """The owner's side: all its ranges, its BGP number and the routers' names."""

    ranges: tuple[Network, ...]
    asn: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkConfig:
    """One dedicated line that already exists, by its id: ordering one takes weeks.

    The BGP password itself never enters this value; `has_bgp_key` says whether the stack holds one.
    """

    connection_id: str
    vlan: int
    bandwidth: Mbps
    has_bgp_key: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CloudConfig:
    """One cloud's part of the foundation."""

    provider: Provider
    region: str
    zones: tuple[str, ...]
    cluster_name: str
    kubernetes_version: str
    asn: int
    link: LinkConfig
    account_id: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundationConfig:
    """A whole foundation stack. `pins` are the address blocks already given out, by name."""

    onprem: OnPremNetwork
    supernet: Network
    clouds: tuple[CloudConfig, ...]
    pins: Mapping[str, Network]


@dataclass(frozen=True, slots=True, kw_only=True)
class BurstConfig:
    """A whole burst stack: whose pools, on which foundation, and how many nodes of each."""

    provider: Provider
    foundation: str
    department: str
    desired: Mapping[str, Nodes]


StackConfig = FoundationConfig | BurstConfig


def parse_stack_config(values: Mapping[str, object], findings: Findings, catalog: Catalog) -> StackConfig:
    """Read the `spillway:` keys of a stack, in the form {"spillway:layer": ...}.

    Raises InvalidInput with all problems.
    """
    own = {key: value for key, value in values.items() if key.startswith(f"{NAMESPACE}:")}
    fields = Fields(own, findings, ("config",))
    layer = fields.choice(f"{NAMESPACE}:layer", Layer)
    # Which keys are right hangs on it: nothing more can be said without.
    findings.raise_if_any()
    fields.optional_text(CATALOG)
    config = _foundation(fields) if layer is Layer.FOUNDATION else _burst(fields, catalog)
    fields.done()
    findings.raise_if_any()
    return config


def desired_value(desired: Mapping[str, Nodes]) -> dict[str, int]:
    """The value of `spillway:desired` as the stack file holds it."""
    return {pool: int(nodes) for pool, nodes in desired.items()}


def _burst(fields: Fields, catalog: Catalog) -> BurstConfig:
    provider = fields.choice(f"{NAMESPACE}:cloud", Provider)
    if provider is Provider.ONPREM:
        fields.problem(f"{NAMESPACE}:cloud", "'onprem' is owned, not rented", "use alicloud or aws")
    foundation = fields.text(f"{NAMESPACE}:foundation")
    department = fields.text(f"{NAMESPACE}:department")
    own = {row.pool: row for row in catalog.cloud_pools(provider)}
    wanted = fields.fields(DESIRED)
    desired = {}
    for pool in wanted.names():
        if pool not in own:
            wanted.problem(
                pool,
                f"is not a pool of {provider} in the catalogue",
                f"use: {', '.join(own) or 'none there'}",
            )
            continue
        desired[pool] = Nodes(wanted.integer(pool, at_least=0, at_most=own[pool].quota))
    for pool in own:
        if pool not in wanted:
            wanted.problem(pool, "is in the catalogue and has no desired size", f"add '{pool}: 0'")
    return BurstConfig(provider=provider, foundation=foundation, department=department, desired=desired)


def _foundation(fields: Fields) -> FoundationConfig:
    onprem = fields.fields(f"{NAMESPACE}:onprem")
    network = OnPremNetwork(ranges=onprem.take("ranges", _networks, ()), asn=onprem.integer("asn", at_least=1))
    onprem.done()
    supernet = fields.take(f"{NAMESPACE}:supernet", _network, ipaddress.IPv4Network("10.0.0.0/8"))
    clouds = tuple(
        _cloud(fields.fields(f"{NAMESPACE}:{provider}"), provider)
        for provider in (Provider.ALICLOUD, Provider.AWS)
        if f"{NAMESPACE}:{provider}" in fields
    )
    if not clouds:
        fields.problem("", "names no cloud", "add 'spillway:alicloud:' or 'spillway:aws:'")
    pins_fields = fields.fields(f"{NAMESPACE}:addresses", required=False)
    pins = {name: pins_fields.take(name, _network, supernet) for name in pins_fields.names()}
    return FoundationConfig(onprem=network, supernet=supernet, clouds=clouds, pins=pins)


def _cloud(fields: Fields, provider: Provider) -> CloudConfig:
    link = fields.fields("link")
    config = CloudConfig(
        provider=provider,
        region=fields.text("region"),
        zones=fields.texts("zones"),
        cluster_name=fields.text("cluster"),
        kubernetes_version=fields.text("kubernetes_version"),
        asn=fields.integer("asn", at_least=1, at_most=4294967294),
        link=LinkConfig(
            connection_id=link.take("connection", _connection(provider), ""),
            vlan=link.integer("vlan", at_least=1, at_most=2999 if provider is Provider.ALICLOUD else 4094),
            bandwidth=Mbps(link.take("bandwidth_mbps", _bandwidth, 10_000)),
            has_bgp_key=link.take("bgp_key", _encrypted, False, required=False),
        ),
        account_id=fields.take("account", _account, None, required=provider is Provider.AWS),
    )
    link.done()
    fields.done()
    return config


def _network(value: object) -> Network:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a range; write it such as '10.64.0.0/16'")
    try:
        return ipaddress.IPv4Network(value)
    except ValueError as error:
        raise ValueError(f"{error}; write it such as '10.64.0.0/16'") from error


def _networks(value: object) -> tuple[Network, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("expected a list of ranges, such as ['10.0.0.0/14']")
    return tuple(_network(item) for item in value)


def _connection(provider: Provider) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if not isinstance(value, str) or not _CONNECTION[provider].fullmatch(value):
            shape = _CONNECTION[provider].pattern.partition("[")[0]
            raise ValueError(f"{value!r} is not the id of an existing line; such ids begin with '{shape}'")
        return value

    return parse


def _bandwidth(value: object) -> int:
    if value not in _LINK_MBPS or isinstance(value, bool):
        raise ValueError(f"{value!r} is not a line of 10 to 100 Gbps; use one of {', '.join(map(str, _LINK_MBPS))}")
    return int(str(value))


def _encrypted(value: object) -> bool:
    if not isinstance(value, Mapping) or set(value) != {"secure"}:
        raise ValueError("must be encrypted; write it with 'pulumi config set --secret --path'")
    return True


def _account(value: object) -> str | None:
    if not isinstance(value, str) or not _ACCOUNT.fullmatch(value):
        raise ValueError(f'{value!r} is not an account id: exactly 12 digits, quoted, such as "012345678912"')
    return value
