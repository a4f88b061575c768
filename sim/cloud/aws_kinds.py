"""AWS types that the twin acts out, as a table. Ids look like AWS' own; ARNs carry the twin's account."""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from sim.cloud.kinds import ACCOUNT, Kind, Order, Reference, values_at
from sim.cloud.network_rules import services_rule, subnet_rule, vpc_block
from sim.cloud.store import Properties

VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
ROUTE_TABLE = "aws:ec2/routeTable:RouteTable"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"
VPN_GATEWAY = "aws:ec2/vpnGateway:VpnGateway"
DX_GATEWAY = "aws:directconnect/gateway:Gateway"
ROLE = "aws:iam/role:Role"
CLUSTER = "aws:eks/cluster:Cluster"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"

_IN_VPC = Reference(path="vpcId", kind=VPC, code="InvalidVpcID.NotFound", what="vpc ID")
_IN_SUBNETS = Reference(path="subnetIds", kind=SUBNET, code="InvalidSubnetID.NotFound", what="subnet ID")
_TABLE_CODE = "InvalidRouteTableID.NotFound"
_VGW_CODE = "InvalidVpnGatewayID.NotFound"


def arn(service: str, region: str, rest: str) -> str:
    """An ARN in the twin's account."""
    return f"arn:aws:{service}:{region}:{ACCOUNT}:{rest}"


def _id(prefix: str) -> Callable[[Order], str]:
    return lambda order: f"{prefix}-0{order.hexadecimal(16)}"


def _named(name: str) -> Callable[[Order], str]:
    return lambda order: order.text(name)


def _ec2(what: str) -> Callable[[Order, str], Properties]:
    def outputs(order: Order, own_id: str) -> Properties:
        return {"arn": arn("ec2", order.region, f"{what}/{own_id}"), "ownerId": ACCOUNT}

    return outputs


def _vpc_outputs(order: Order, own_id: str) -> Properties:
    return {
        "arn": arn("ec2", order.region, f"vpc/{own_id}"),
        "ownerId": ACCOUNT,
        "mainRouteTableId": f"rtb-0{order.hexadecimal(16, 'main')}",
        "defaultRouteTableId": f"rtb-0{order.hexadecimal(16, 'main')}",
        "defaultSecurityGroupId": f"sg-0{order.hexadecimal(16, 'default')}",
        "defaultNetworkAclId": f"acl-0{order.hexadecimal(16, 'default')}",
        "dhcpOptionsId": f"dopt-0{order.hexadecimal(16, 'default')}",
    }


def _cluster_outputs(order: Order, own_id: str) -> Properties:
    digits = order.hexadecimal(32).upper()
    first = next(values_at(order.inputs, "vpcConfig.subnetIds"), "")
    subnet = order.store.find(SUBNET, first)
    return {
        "arn": arn("eks", order.region, f"cluster/{own_id}"),
        "clusterId": "",
        "endpoint": f"https://{digits}.gr7.{order.region}.eks.amazonaws.com",
        "certificateAuthority": {"data": ""},
        "certificateAuthorities": [{"data": ""}],
        "identities": [{"oidcs": [{"issuer": f"https://oidc.eks.{order.region}.amazonaws.com/id/{digits}"}]}],
        "platformVersion": "eks.1",
        "status": "ACTIVE",
        "createdAt": "",
        "vpcConfig": {
            **order.inputs["vpcConfig"],
            "clusterSecurityGroupId": f"sg-0{order.hexadecimal(16, 'cluster')}",
            "vpcId": subnet.inputs["vpcId"] if subnet else "",
        },
    }


def _cluster_blocks(order: Order) -> tuple[str, str]:
    services = next(values_at(order.inputs, "kubernetesNetworkConfig.serviceIpv4Cidr"), "")
    subnet_id = next(values_at(order.inputs, "vpcConfig.subnetIds"), "")
    return services, vpc_block(order, SUBNET, VPC, subnet_id)


def _role_outputs(order: Order, own_id: str) -> Properties:
    return {
        "arn": f"arn:aws:iam::{ACCOUNT}:role/{own_id}",
        "uniqueId": f"AROA{order.token(17).upper()}",
        "createDate": "",
    }


def _repository_outputs(order: Order, own_id: str) -> Properties:
    return {
        "arn": arn("ecr", order.region, f"repository/{own_id}"),
        "registryId": ACCOUNT,
        "repositoryUrl": f"{ACCOUNT}.dkr.ecr.{order.region}.amazonaws.com/{own_id}",
    }


def _interface_outputs(order: Order, own_id: str) -> Properties:
    made: Properties = {
        "arn": arn("directconnect", order.region, f"dxvif/{own_id}"),
        "jumboFrameCapable": order.inputs.get("mtu") == 9001,
        "awsDevice": "EqDC2-twin",
    }
    if not order.inputs.get("bgpAuthKey"):
        # Direct Connect makes a key when none is given.
        made["bgpAuthKey"] = f"0x{order.hexadecimal(20, 'bgp')}"
    return made


def _association_id(order: Order) -> str:
    text = order.text("subnetId") or order.text("gatewayId")
    return f"rtbassoc-0{hashlib.blake2b(text.encode(), digest_size=8).hexdigest()}"


KINDS = (
    Kind(
        type_name=VPC,
        what="vpc",
        make_id=_id("vpc"),
        outputs=_vpc_outputs,
        missing_code="InvalidVpcID.NotFound",
    ),
    Kind(
        type_name=SUBNET,
        what="subnet",
        make_id=_id("subnet"),
        outputs=_ec2("subnet"),
        references=(_IN_VPC,),
        checks=(subnet_rule(VPC, "InvalidSubnet.Conflict", "InvalidSubnet.Range"),),
        missing_code="InvalidSubnetID.NotFound",
    ),
    Kind(
        type_name=ROUTE_TABLE,
        what="routeTable",
        make_id=_id("rtb"),
        outputs=_ec2("route-table"),
        references=(_IN_VPC,),
        missing_code=_TABLE_CODE,
    ),
    Kind(
        type_name="aws:ec2/routeTableAssociation:RouteTableAssociation",
        what="route table association",
        make_id=_association_id,
        references=(
            Reference(path="routeTableId", kind=ROUTE_TABLE, code=_TABLE_CODE, what="routeTable ID"),
            # Goes away together with its subnet.
            Reference(
                path="subnetId",
                kind=SUBNET,
                code="InvalidSubnetID.NotFound",
                what="subnet ID",
                holds=False,
            ),
        ),
        unique=("subnetId",),
        taken_code="Resource.AlreadyAssociated",
        missing_code="InvalidAssociationID.NotFound",
    ),
    Kind(
        type_name=SECURITY_GROUP,
        what="security group",
        make_id=_id("sg"),
        outputs=_ec2("security-group"),
        references=(_IN_VPC,),
        unique=("vpcId", "name"),
        taken_code="InvalidGroup.Duplicate",
        missing_code="InvalidGroup.NotFound",
    ),
    Kind(
        type_name="aws:ec2/vpcEndpoint:VpcEndpoint",
        what="vpc endpoint",
        make_id=_id("vpce"),
        outputs=_ec2("vpc-endpoint"),
        references=(
            _IN_VPC,
            _IN_SUBNETS,
            Reference(path="routeTableIds", kind=ROUTE_TABLE, code=_TABLE_CODE, what="routeTable ID"),
            Reference(
                path="securityGroupIds",
                kind=SECURITY_GROUP,
                code="InvalidGroup.NotFound",
                what="security group",
            ),
        ),
        missing_code="InvalidVpcEndpointId.NotFound",
    ),
    Kind(
        type_name=VPN_GATEWAY,
        what="vpnGateway",
        make_id=_id("vgw"),
        outputs=_ec2("vpn-gateway"),
        references=(_IN_VPC,),
        missing_code=_VGW_CODE,
    ),
    Kind(
        type_name="aws:ec2/vpnGatewayRoutePropagation:VpnGatewayRoutePropagation",
        what="route propagation",
        make_id=lambda order: f"{order.text('vpnGatewayId')}_{order.text('routeTableId')}",
        references=(
            Reference(path="routeTableId", kind=ROUTE_TABLE, code=_TABLE_CODE, what="routeTable ID"),
            Reference(path="vpnGatewayId", kind=VPN_GATEWAY, code=_VGW_CODE, what="vpnGateway ID"),
        ),
    ),
    Kind(
        type_name=DX_GATEWAY,
        what="Direct Connect gateway",
        make_id=lambda order: _uuid(order.hexadecimal(32)),
        outputs=lambda order, own_id: {
            "arn": f"arn:aws:directconnect::{ACCOUNT}:dx-gateway/{own_id}",
            "ownerAccountId": ACCOUNT,
        },
        in_use_code="DirectConnectClientException",
        missing_code="DirectConnectClientException",
    ),
    Kind(
        type_name="aws:directconnect/privateVirtualInterface:PrivateVirtualInterface",
        what="virtual interface",
        make_id=lambda order: f"dxvif-{order.token(8)}",
        outputs=_interface_outputs,
        references=(
            Reference(
                path="dxGatewayId",
                kind=DX_GATEWAY,
                code="DirectConnectClientException",
                what="Direct Connect gateway",
            ),
        ),
        unique=("connectionId", "vlan"),
        taken_code="DirectConnectClientException",
        missing_code="DirectConnectClientException",
    ),
    Kind(
        type_name="aws:directconnect/gatewayAssociation:GatewayAssociation",
        what="gateway association",
        make_id=lambda order: f"ga-{order.text('dxGatewayId')}{order.text('associatedGatewayId')}",
        outputs=lambda order, _own_id: {
            "dxGatewayAssociationId": _uuid(order.hexadecimal(32)),
            "dxGatewayOwnerAccountId": ACCOUNT,
            "associatedGatewayOwnerAccountId": ACCOUNT,
            "associatedGatewayType": "virtualPrivateGateway",
        },
        references=(
            Reference(
                path="dxGatewayId",
                kind=DX_GATEWAY,
                code="DirectConnectClientException",
                what="Direct Connect gateway",
            ),
            Reference(
                path="associatedGatewayId",
                kind=VPN_GATEWAY,
                code="DirectConnectClientException",
                what="virtual private gateway",
            ),
        ),
        missing_code="DirectConnectClientException",
    ),
    Kind(
        type_name=ROLE,
        what="role",
        make_id=_named("name"),
        outputs=_role_outputs,
        unique=("name",),
        taken_code="EntityAlreadyExists",
        in_use_code="DeleteConflict",
        missing_code="NoSuchEntity",
    ),
    Kind(
        type_name="aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        what="policy attachment",
        make_id=lambda order: f"{order.text('role')}/{order.text('policyArn')}",
        references=(Reference(path="role", kind=ROLE, code="NoSuchEntity", what="role"),),
        missing_code="NoSuchEntity",
    ),
    Kind(
        type_name=CLUSTER,
        what="Cluster",
        make_id=_named("name"),
        outputs=_cluster_outputs,
        references=(
            Reference(
                path="vpcConfig.subnetIds",
                kind=SUBNET,
                code="InvalidParameterException",
                what="subnet ID",
            ),
            Reference(
                path="roleArn",
                kind=ROLE,
                code="InvalidParameterException",
                what="role",
                by="arn",
                holds=False,
            ),
        ),
        checks=(services_rule("InvalidParameterException", _cluster_blocks),),
        unique=("name",),
        taken_code="ResourceInUseException",
        in_use_code="ResourceInUseException",
    ),
    Kind(
        type_name="aws:ecr/repository:Repository",
        what="repository",
        make_id=_named("name"),
        outputs=_repository_outputs,
        unique=("name",),
        taken_code="RepositoryAlreadyExistsException",
        missing_code="RepositoryNotFoundException",
    ),
)


def _uuid(digits: str) -> str:
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
