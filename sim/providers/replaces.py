"""Inputs whose change makes the clouds' providers replace a resource, for the types that we use.

From the "ForceNew" marks of the public Terraform providers behind the Pulumi ones (hashicorp/aws,
aliyun/alicloud): the Python SDK does not carry them. A name with a dot is inside an object.
"""

from __future__ import annotations

# The provider deletes first when the new one would have to carry the same name.
NAMED_BY = {
    "aws:eks/nodeGroup:NodeGroup": "nodeGroupName",
    "aws:eks/cluster:Cluster": "name",
    "aws:iam/role:Role": "name",
    "aws:ecr/repository:Repository": "name",
    "aws:ec2/securityGroup:SecurityGroup": "name",
    "alicloud:cs/nodePool:NodePool": "nodePoolName",
    "alicloud:cr/registryEnterpriseInstance:RegistryEnterpriseInstance": "instanceName",
}

_ALWAYS = frozenset({"region"})

_REPLACES: dict[str, frozenset[str]] = {
    "aws:ec2/vpc:Vpc": frozenset({"cidrBlock", "ipv4IpamPoolId", "ipv4NetmaskLength"}),
    "aws:ec2/subnet:Subnet": frozenset({"vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId"}),
    "aws:ec2/routeTable:RouteTable": frozenset({"vpcId"}),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": frozenset({"subnetId", "gatewayId"}),
    "aws:ec2/securityGroup:SecurityGroup": frozenset({"vpcId", "name", "namePrefix", "description"}),
    "aws:ec2/vpcEndpoint:VpcEndpoint": frozenset({"vpcId", "serviceName", "vpcEndpointType"}),
    "aws:ec2/vpnGateway:VpnGateway": frozenset({"amazonSideAsn", "availabilityZone"}),
    "aws:ec2/vpnGatewayRoutePropagation:VpnGatewayRoutePropagation": frozenset({"vpnGatewayId", "routeTableId"}),
    "aws:directconnect/gateway:Gateway": frozenset({"amazonSideAsn"}),
    "aws:directconnect/privateVirtualInterface:PrivateVirtualInterface": frozenset(
        {
            "addressFamily",
            "amazonAddress",
            "bgpAsn",
            "bgpAsnLong",
            "bgpAuthKey",
            "connectionId",
            "customerAddress",
            "dxGatewayId",
            "name",
            "vlan",
            "vpnGatewayId",
        }
    ),
    "aws:directconnect/gatewayAssociation:GatewayAssociation": frozenset(
        {"dxGatewayId", "associatedGatewayId", "associatedGatewayOwnerAccountId", "proposalId"}
    ),
    "aws:iam/role:Role": frozenset({"name", "namePrefix", "path"}),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": frozenset({"role", "policyArn"}),
    "aws:eks/cluster:Cluster": frozenset(
        {
            "name",
            "roleArn",
            "bootstrapSelfManagedAddons",
            "kubernetesNetworkConfig.ipFamily",
            "kubernetesNetworkConfig.serviceIpv4Cidr",
            "accessConfig.bootstrapClusterCreatorAdminPermissions",
            "outpostConfig",
        }
    ),
    "aws:eks/nodeGroup:NodeGroup": frozenset(
        {
            "clusterName",
            "nodeGroupName",
            "nodeGroupNamePrefix",
            "nodeRoleArn",
            "subnetIds",
            "instanceTypes",
            "capacityType",
            "amiType",
            "diskSize",
            "remoteAccess",
            "launchTemplate.id",
            "launchTemplate.name",
        }
    ),
    "aws:ecr/repository:Repository": frozenset({"name", "encryptionConfigurations"}),
    "alicloud:vpc/network:Network": frozenset({"isDefault"}),
    "alicloud:vpc/switch:Switch": frozenset({"vpcId", "zoneId", "cidrBlock", "availabilityZone"}),
    "alicloud:cs/managedKubernetes:ManagedKubernetes": frozenset(
        {
            "serviceCidr",
            "podCidr",
            "nodeCidrMask",
            "newNatGateway",
            "isEnterpriseSecurityGroup",
            "proxyMode",
            "clusterDomain",
            "zoneIds",
            "encryptionProviderKey",
            "namePrefix",
            "addons",
        }
    ),
    "alicloud:cs/nodePool:NodePool": frozenset(
        {"clusterId", "deploymentSetId", "securityGroupId", "socEnabled", "type"}
    ),
    "alicloud:cr/registryEnterpriseInstance:RegistryEnterpriseInstance": frozenset(
        {"customOssBucket", "instanceName", "paymentType"}
    ),
    "alicloud:cs/registryEnterpriseNamespace:RegistryEnterpriseNamespace": frozenset({"instanceId", "name"}),
    "alicloud:cr/vpcEndpointLinkedVpc:VpcEndpointLinkedVpc": frozenset(
        {"instanceId", "moduleName", "vpcId", "vswitchId", "enableCreateDnsRecordInPvzt"}
    ),
    "alicloud:expressconnect/virtualBorderRouter:VirtualBorderRouter": frozenset(
        {"physicalConnectionId", "vbrOwnerId"}
    ),
    "alicloud:vpc/bgpGroup:BgpGroup": frozenset({"routerId", "ipVersion"}),
    "alicloud:vpc/bgpPeer:BgpPeer": frozenset({"ipVersion"}),
    "alicloud:cen/instance:Instance": frozenset(),
    "alicloud:cen/transitRouter:TransitRouter": frozenset({"cenId"}),
    "alicloud:cen/transitRouterVpcAttachment:TransitRouterVpcAttachment": frozenset(
        {"cenId", "transitRouterId", "vpcId", "vpcOwnerId", "paymentType", "resourceType"}
    ),
    "alicloud:cen/transitRouterVbrAttachment:TransitRouterVbrAttachment": frozenset(
        {"cenId", "transitRouterId", "vbrId", "vbrOwnerId", "resourceType"}
    ),
    "alicloud:cen/transitRouterRouteTable:TransitRouterRouteTable": frozenset({"transitRouterId"}),
}
# A relation has nothing but its ends.
_RELATIONS = ("RouteTableAssociation", "RouteTablePropagation")


def is_replacing(token: str, path: str) -> bool:
    """Whether a change at this path, such as `scalingConfig.desiredSize`, needs a new resource."""
    if path in _ALWAYS or token.endswith(_RELATIONS):
        return True
    plain = path.partition("[")[0]
    return any(plain == name or plain.startswith(f"{name}.") for name in _REPLACES.get(token, frozenset()))
