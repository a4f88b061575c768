"""Rules of address ranges that clouds hold at create time. Pure over the store."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable

from sim.cloud import refusals
from sim.cloud.kinds import Order


def subnet_rule(vpc_kind: str, overlap_code: str, outside_code: str) -> Callable[[Order], None]:
    """A subnet lies in its network and beside its sisters."""

    def check(order: Order) -> None:
        block = ipaddress.IPv4Network(order.text("cidrBlock"))
        vpc = order.store.find(vpc_kind, order.text("vpcId"))
        if vpc is not None:
            outer = ipaddress.IPv4Network(str(vpc.inputs["cidrBlock"]))
            if not block.subnet_of(outer):
                raise refusals.outside(outside_code, str(block), f"{vpc.id} {outer}")
        for sister in order.store.of_kind(order.kind):
            other = ipaddress.IPv4Network(str(sister.inputs["cidrBlock"]))
            if sister.inputs.get("vpcId") == order.text("vpcId") and block.overlaps(other):
                raise refusals.overlap(overlap_code, str(block), str(other), sister.id)

    return check


def services_rule(code: str, blocks_of: Callable[[Order], tuple[str, str]]) -> Callable[[Order], None]:
    """A cluster's service addresses lie outside of its network."""

    def check(order: Order) -> None:
        services, vpc_block = blocks_of(order)
        if not services or not vpc_block:
            return
        block, outer = ipaddress.IPv4Network(services), ipaddress.IPv4Network(vpc_block)
        if block.overlaps(outer):
            raise refusals.overlap(code, str(block), str(outer), "the cluster's network")

    return check


def vpc_block(order: Order, subnet_kind: str, vpc_kind: str, subnet_id: str) -> str:
    """The range of the network that a subnet belongs to; empty when unknown."""
    subnet = order.store.find(subnet_kind, subnet_id)
    vpc = order.store.find(vpc_kind, str(subnet.inputs["vpcId"])) if subnet else None
    return str(vpc.inputs["cidrBlock"]) if vpc else ""
