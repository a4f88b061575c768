"""The AWS end of a line: private interface on it, Direct Connect gateway, and the VPC's gateway.

AWS runs BFD on every private interface by itself; the owner's router only has to ask for it.
"""

from __future__ import annotations

import pulumi
from pulumi_aws import directconnect, ec2

from infra.aws.network import EksNetwork
from infra.link.line import Line
from infra.naming import Kind, cloud_name

_JUMBO_MTU = 9001


def build_direct_connect(parent: pulumi.Resource, line: Line, network: EksNetwork) -> None:
    """Build the cloud's end under `parent`."""
    child = pulumi.ResourceOptions(parent=parent)
    label = cloud_name(Kind.DIRECT_CONNECT, "spillway", line.name)
    gateway = directconnect.Gateway(
        line.name,
        name=label,
        amazon_side_asn=str(line.cloud.asn),
        opts=pulumi.ResourceOptions(parent=parent, protect=True),
    )
    directconnect.PrivateVirtualInterface(
        line.name,
        name=label,
        connection_id=line.cloud.link.connection_id,
        dx_gateway_id=gateway.id,
        vlan=line.cloud.link.vlan,
        address_family="ipv4",
        bgp_asn_long=str(line.onprem.asn),
        amazon_address=line.cloud_cidr(),
        customer_address=line.onprem_cidr(),
        bgp_auth_key=line.bgp_key,
        mtu=_JUMBO_MTU,
        opts=pulumi.ResourceOptions(parent=parent, protect=True),
    )
    vpn_gateway = ec2.VpnGateway(line.name, vpc_id=network.vpc_id, tags={"Name": label}, opts=child)
    ec2.VpnGatewayRoutePropagation(
        line.name,
        vpn_gateway_id=vpn_gateway.id,
        route_table_id=network.route_table_id,
        opts=child,
    )
    directconnect.GatewayAssociation(
        line.name,
        dx_gateway_id=gateway.id,
        associated_gateway_id=vpn_gateway.id,
        allowed_prefixes=[str(line.vpc_block)],
        opts=child,
    )
