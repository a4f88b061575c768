"""The resource types that the twin acts out, by provider.

Their behaviour stands in sim.cloud. This list is apart from it on purpose: a plugin starts at every
preview and must not import the world for a list of names.
"""

from __future__ import annotations

PACKAGES = ("aws", "alicloud")

_TYPES = (
    "alicloud:cen/instance:Instance",
    "alicloud:cen/transitRouter:TransitRouter",
    "alicloud:cen/transitRouterRouteTable:TransitRouterRouteTable",
    "alicloud:cen/transitRouterRouteTableAssociation:TransitRouterRouteTableAssociation",
    "alicloud:cen/transitRouterRouteTablePropagation:TransitRouterRouteTablePropagation",
    "alicloud:cen/transitRouterVbrAttachment:TransitRouterVbrAttachment",
    "alicloud:cen/transitRouterVpcAttachment:TransitRouterVpcAttachment",
    "alicloud:cr/registryEnterpriseInstance:RegistryEnterpriseInstance",
    "alicloud:cr/vpcEndpointLinkedVpc:VpcEndpointLinkedVpc",
    "alicloud:cs/managedKubernetes:ManagedKubernetes",
    "alicloud:cs/nodePool:NodePool",
    "alicloud:cs/registryEnterpriseNamespace:RegistryEnterpriseNamespace",
    "alicloud:expressconnect/virtualBorderRouter:VirtualBorderRouter",
    "alicloud:vpc/bgpGroup:BgpGroup",
    "alicloud:vpc/bgpPeer:BgpPeer",
    "alicloud:vpc/network:Network",
    "alicloud:vpc/switch:Switch",
    "aws:directconnect/gateway:Gateway",
    "aws:directconnect/gatewayAssociation:GatewayAssociation",
    "aws:directconnect/privateVirtualInterface:PrivateVirtualInterface",
    "aws:ec2/routeTable:RouteTable",
    "aws:ec2/routeTableAssociation:RouteTableAssociation",
    "aws:ec2/securityGroup:SecurityGroup",
    "aws:ec2/subnet:Subnet",
    "aws:ec2/vpc:Vpc",
    "aws:ec2/vpcEndpoint:VpcEndpoint",
    "aws:ec2/vpnGateway:VpnGateway",
    "aws:ec2/vpnGatewayRoutePropagation:VpnGatewayRoutePropagation",
    "aws:ecr/repository:Repository",
    "aws:eks/cluster:Cluster",
    "aws:eks/nodeGroup:NodeGroup",
    "aws:iam/role:Role",
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
)


def types_of(provider: str) -> tuple[str, ...]:
    """Type tokens of one provider, sorted."""
    return tuple(name for name in sorted(_TYPES) if name.startswith(f"{provider}:"))
