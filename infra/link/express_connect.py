"""The Alibaba Cloud end of a line: border router, BGP with BFD, and the transit router to the VPC."""

from __future__ import annotations

from collections.abc import Mapping

import pulumi
from pulumi_alicloud import cen, expressconnect, vpc

from infra.alicloud.network import AckNetwork
from infra.link.line import BFD_INTERVAL_MS, BFD_MULTIPLIER, Line
from infra.naming import Kind, cloud_name


def build_express_connect(parent: pulumi.Resource, line: Line, network: AckNetwork, tags: Mapping[str, str]) -> None:
    """Build the cloud's end under `parent`."""
    router = _border_router(parent, line, tags)
    _bgp(parent, line, router)
    _transit(parent, line, network, router)


def _label(line: Line) -> str:
    return cloud_name(Kind.ALICLOUD_NETWORK, "spillway", line.name)


def _border_router(parent: pulumi.Resource, line: Line, tags: Mapping[str, str]) -> expressconnect.VirtualBorderRouter:
    return expressconnect.VirtualBorderRouter(
        line.name,
        physical_connection_id=line.cloud.link.connection_id,
        virtual_border_router_name=_label(line),
        vlan_id=line.cloud.link.vlan,
        local_gateway_ip=str(line.cloud_address),
        peer_gateway_ip=str(line.onprem_address),
        peering_subnet_mask=str(line.addresses.netmask),
        min_rx_interval=BFD_INTERVAL_MS,
        min_tx_interval=BFD_INTERVAL_MS,
        detect_multiplier=BFD_MULTIPLIER,
        tags=tags,
        opts=pulumi.ResourceOptions(parent=parent, protect=True),
    )


def _bgp(parent: pulumi.Resource, line: Line, router: expressconnect.VirtualBorderRouter) -> None:
    child = pulumi.ResourceOptions(parent=parent)
    group = vpc.BgpGroup(
        line.name,
        bgp_group_name=_label(line),
        router_id=router.id,
        local_asn=line.cloud.asn,
        peer_asn=line.onprem.asn,
        auth_key=line.bgp_key,
        opts=child,
    )
    vpc.BgpPeer(
        line.name,
        bgp_group_id=group.id,
        peer_ip_address=str(line.onprem_address),
        enable_bfd=True,
        opts=child,
    )


def _transit(
    parent: pulumi.Resource,
    line: Line,
    network: AckNetwork,
    router: expressconnect.VirtualBorderRouter,
) -> None:
    child = pulumi.ResourceOptions(parent=parent)
    region_net = cen.Instance(line.name, cen_instance_name=_label(line), opts=child)
    transit = cen.TransitRouter(line.name, cen_id=region_net.id, transit_router_name=_label(line), opts=child)
    to_vpc = cen.TransitRouterVpcAttachment(
        f"{line.name}-vpc",
        cen_id=region_net.id,
        transit_router_id=transit.transit_router_id,
        vpc_id=network.vpc_id,
        zone_mappings=[
            cen.TransitRouterVpcAttachmentZoneMappingArgs(zone_id=zone, vswitch_id=vswitch)
            for zone, vswitch in network.node_vswitches.items()
        ],
        auto_publish_route_enabled=True,
        transit_router_attachment_name=f"{_label(line)}-vpc",
        opts=child,
    )
    to_line = cen.TransitRouterVbrAttachment(
        f"{line.name}-vbr",
        cen_id=region_net.id,
        transit_router_id=transit.transit_router_id,
        vbr_id=router.id,
        auto_publish_route_enabled=True,
        transit_router_attachment_name=f"{_label(line)}-vbr",
        opts=child,
    )
    table = cen.TransitRouterRouteTable(
        line.name,
        transit_router_id=transit.transit_router_id,
        transit_router_route_table_name=_label(line),
        opts=child,
    )
    ends = {"vpc": to_vpc.transit_router_attachment_id, "vbr": to_line.transit_router_attachment_id}
    for end, attachment in ends.items():
        _exchange_routes(parent, f"{line.name}-{end}", table, attachment)


def _exchange_routes(
    parent: pulumi.Resource,
    name: str,
    table: cen.TransitRouterRouteTable,
    attachment: pulumi.Output[str],
) -> None:
    child = pulumi.ResourceOptions(parent=parent)
    cen.TransitRouterRouteTableAssociation(
        name,
        transit_router_route_table_id=table.transit_router_route_table_id,
        transit_router_attachment_id=attachment,
        opts=child,
    )
    cen.TransitRouterRouteTablePropagation(
        name,
        transit_router_route_table_id=table.transit_router_route_table_id,
        transit_router_attachment_id=attachment,
        opts=child,
    )
