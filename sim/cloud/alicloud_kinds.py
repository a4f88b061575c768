"""Alibaba Cloud types that the twin acts out, as a table. Ids look like Alibaba's own."""

from __future__ import annotations

from collections.abc import Callable

from sim.cloud.kinds import ALICLOUD_ACCOUNT, Kind, Order, Reference, values_at
from sim.cloud.network_rules import services_rule, subnet_rule, vpc_block
from sim.cloud.store import Properties

VPC = "alicloud:vpc/network:Network"
SWITCH = "alicloud:vpc/switch:Switch"
CLUSTER = "alicloud:cs/managedKubernetes:ManagedKubernetes"
NODE_POOL = "alicloud:cs/nodePool:NodePool"
BORDER_ROUTER = "alicloud:expressconnect/virtualBorderRouter:VirtualBorderRouter"
BGP_GROUP = "alicloud:vpc/bgpGroup:BgpGroup"
CEN = "alicloud:cen/instance:Instance"
TRANSIT_ROUTER = "alicloud:cen/transitRouter:TransitRouter"
VPC_ATTACHMENT = "alicloud:cen/transitRouterVpcAttachment:TransitRouterVpcAttachment"
VBR_ATTACHMENT = "alicloud:cen/transitRouterVbrAttachment:TransitRouterVbrAttachment"
TR_TABLE = "alicloud:cen/transitRouterRouteTable:TransitRouterRouteTable"
REGISTRY = "alicloud:cr/registryEnterpriseInstance:RegistryEnterpriseInstance"

_REGION_CODE = {"cn-shanghai": "uf6", "cn-hangzhou": "bp1", "cn-beijing": "2ze"}
_IN_VPC = Reference(path="vpcId", kind=VPC, code="InvalidVpcId.NotFound", what="VPC")
_SWITCH_CODE = "InvalidVSwitchId.NotFound"
_TR_CODE = "InvalidTransitRouterId.NotFound"
_TABLE_CODE = "InvalidTransitRouterRouteTableId.NotFound"
_OF_CEN = Reference(path="cenId", kind=CEN, code="InvalidCenId.NotFound", what="CEN instance")


def _id(prefix: str) -> Callable[[Order], str]:
    return lambda order: f"{prefix}-{_REGION_CODE.get(order.region, 'm5e')}{order.token(18)}"


def _global_id(prefix: str) -> Callable[[Order], str]:
    return lambda order: f"{prefix}-{order.token(18)}"


def _vpc_outputs(order: Order, own_id: str) -> Properties:
    return {
        "routerId": f"vrt-{_REGION_CODE.get(order.region, 'm5e')}{order.token(18, 'router')}",
        "routeTableId": f"vtb-{_REGION_CODE.get(order.region, 'm5e')}{order.token(18, 'table')}",
        "status": "Available",
        "createTime": "",
        "regionId": order.region,
    }


def _cluster_outputs(order: Order, own_id: str) -> Properties:
    first = next(values_at(order.inputs, "vswitchIds"), "")
    switch = order.store.find(SWITCH, first)
    code = _REGION_CODE.get(order.region, "m5e")
    return {
        "vpcId": switch.inputs["vpcId"] if switch else "",
        "securityGroupId": f"sg-{code}{order.token(18, 'group')}",
        "workerRamRoleName": f"KubernetesWorkerRole-{own_id[1:9]}",
        "connections": [{"apiServerIntranet": f"https://{own_id}.{order.region}.twin:6443"}],
        "state": "running",
    }


def _cluster_blocks(order: Order) -> tuple[str, str]:
    first = next(values_at(order.inputs, "vswitchIds"), "")
    return order.text("serviceCidr"), vpc_block(order, SWITCH, VPC, first)


def _attachment_outputs(order: Order, own_id: str) -> Properties:
    return {
        "transitRouterAttachmentId": own_id.rpartition(":")[2],
        "status": "Attached",
        "vpcOwnerId": ALICLOUD_ACCOUNT,
    }


def _registry_outputs(order: Order, own_id: str) -> Properties:
    name = order.text("instanceName")
    domain = f"{name}-registry-vpc.{order.region}.cr.aliyuncs.com"
    return {
        "status": "RUNNING",
        "createTime": "",
        "regionId": order.region,
        "instanceEndpoints": [{"enable": True, "domains": [{"type": "SYSTEM", "domain": domain}]}],
    }


_OF_ROUTER = Reference(
    path="transitRouterId",
    kind=TRANSIT_ROUTER,
    code=_TR_CODE,
    what="transit router",
    by="transitRouterId",
)
_OF_TABLE = Reference(
    path="transitRouterRouteTableId",
    kind=TR_TABLE,
    code=_TABLE_CODE,
    what="route table",
    by="transitRouterRouteTableId",
)
_OF_ATTACHMENT = Reference(
    path="transitRouterAttachmentId",
    kind=f"{VPC_ATTACHMENT} {VBR_ATTACHMENT}",
    code="InvalidTransitRouterAttachmentId.NotFound",
    what="attachment",
    by="transitRouterAttachmentId",
)


def _pair(outer: str, make: Callable[[Order], str]) -> Callable[[Order], str]:
    """The provider's id of a thing inside another: both ids with a colon between."""
    return lambda order: f"{order.text(outer)}:{make(order)}"


KINDS = (
    Kind(
        type_name=VPC,
        what="VPC",
        make_id=_id("vpc"),
        outputs=_vpc_outputs,
        in_use_code="DependencyViolation",
        missing_code="InvalidVpcId.NotFound",
    ),
    Kind(
        type_name=SWITCH,
        what="VSwitch",
        make_id=_id("vsw"),
        outputs=lambda order, _own_id: {"status": "Available", "createTime": ""},
        references=(_IN_VPC,),
        checks=(subnet_rule(VPC, "InvalidCidrBlock.Overlapped", "InvalidCidrBlock.Malformed"),),
        in_use_code="DependencyViolation.VSwitch",
        missing_code=_SWITCH_CODE,
    ),
    Kind(
        type_name=CLUSTER,
        what="cluster",
        make_id=lambda order: f"c{order.hexadecimal(32)}",
        outputs=_cluster_outputs,
        references=(
            Reference(path="vswitchIds", kind=SWITCH, code=_SWITCH_CODE, what="vSwitch"),
            Reference(path="podVswitchIds", kind=SWITCH, code=_SWITCH_CODE, what="vSwitch"),
        ),
        checks=(services_rule("ErrorCheckCidr", _cluster_blocks),),
        unique=("name",),
        taken_code="ClusterNameAlreadyExist",
        in_use_code="ErrorClusterState",
        missing_code="ErrorClusterNotFound",
    ),
    Kind(
        type_name=REGISTRY,
        what="instance",
        make_id=lambda order: f"cri-{order.token(16)}",
        outputs=_registry_outputs,
        unique=("instanceName",),
        taken_code="INSTANCE_NAME_EXIST",
        missing_code="INSTANCE_NOT_EXIST",
        in_use_code="INSTANCE_IN_USE",
    ),
    Kind(
        type_name="alicloud:cs/registryEnterpriseNamespace:RegistryEnterpriseNamespace",
        what="namespace",
        make_id=lambda order: f"{order.text('instanceId')}:{order.text('name')}",
        references=(Reference(path="instanceId", kind=REGISTRY, code="INSTANCE_NOT_EXIST", what="registry instance"),),
        unique=("instanceId", "name"),
        taken_code="NAMESPACE_EXIST",
        missing_code="NAMESPACE_NOT_EXIST",
    ),
    Kind(
        type_name="alicloud:cr/vpcEndpointLinkedVpc:VpcEndpointLinkedVpc",
        what="linked VPC",
        make_id=lambda order: ":".join(order.text(name) for name in ("instanceId", "vpcId", "vswitchId", "moduleName")),
        outputs=lambda _order, _own_id: {"status": "RUNNING"},
        references=(
            Reference(path="instanceId", kind=REGISTRY, code="INSTANCE_NOT_EXIST", what="registry instance"),
            _IN_VPC,
            Reference(path="vswitchId", kind=SWITCH, code=_SWITCH_CODE, what="vSwitch"),
        ),
        unique=("instanceId", "vpcId"),
        taken_code="LINKED_VPC_EXIST",
        missing_code="LINKED_VPC_NOT_EXIST",
    ),
    Kind(
        type_name=BORDER_ROUTER,
        what="virtual border router",
        make_id=_id("vbr"),
        outputs=lambda order, _own_id: {
            "status": "active",
            "routeTableId": f"vtb-{order.token(18, 'table')}",
        },
        unique=("physicalConnectionId", "vlanId"),
        taken_code="VlanId.Duplicated",
        in_use_code="DependencyViolation.BgpGroup",
        missing_code="InvalidVbrId.NotFound",
    ),
    Kind(
        type_name=BGP_GROUP,
        what="BGP group",
        make_id=_id("bgpg"),
        outputs=lambda _order, _own_id: {"status": "Available"},
        references=(Reference(path="routerId", kind=BORDER_ROUTER, code="InvalidRouterId.NotFound", what="router"),),
        in_use_code="DependencyViolation.BgpPeer",
        missing_code="InvalidBgpGroupId.NotFound",
    ),
    Kind(
        type_name="alicloud:vpc/bgpPeer:BgpPeer",
        what="BGP peer",
        make_id=_id("bgp"),
        outputs=lambda order, own_id: {
            "bgpPeerName": own_id,
            "status": "Available",
        },
        references=(
            Reference(
                path="bgpGroupId",
                kind=BGP_GROUP,
                code="InvalidBgpGroupId.NotFound",
                what="BGP group",
            ),
        ),
        missing_code="InvalidBgpPeerId.NotFound",
    ),
    Kind(
        type_name=CEN,
        what="CEN instance",
        make_id=_global_id("cen"),
        outputs=lambda _order, _own_id: {"status": "Active"},
        in_use_code="InvalidOperation.CenInstanceStatus",
        missing_code="InvalidCenId.NotFound",
    ),
    Kind(
        type_name=TRANSIT_ROUTER,
        what="transit router",
        make_id=_pair("cenId", _id("tr")),
        outputs=lambda order, own_id: {
            "transitRouterId": own_id.rpartition(":")[2],
            "status": "Active",
            "type": "Enterprise",
            "regionId": order.region,
        },
        references=(_OF_CEN,),
        unique=("cenId",),
        taken_code="OperationFailed.RegionTransitRouterExist",
        in_use_code="OperationFailed.TransitRouterAttachmentExist",
        missing_code=_TR_CODE,
    ),
    Kind(
        type_name=VPC_ATTACHMENT,
        what="attachment",
        make_id=_pair("cenId", _global_id("tr-attach")),
        outputs=_attachment_outputs,
        references=(
            _OF_CEN,
            _OF_ROUTER,
            _IN_VPC,
            Reference(path="zoneMappings.vswitchId", kind=SWITCH, code=_SWITCH_CODE, what="vSwitch"),
        ),
        unique=("transitRouterId", "vpcId"),
        taken_code="InvalidOperation.AttachmentExist",
        in_use_code="OperationFailed.AttachmentInUse",
        missing_code="InvalidTransitRouterAttachmentId.NotFound",
    ),
    Kind(
        type_name=VBR_ATTACHMENT,
        what="attachment",
        make_id=_pair("cenId", _global_id("tr-attach")),
        outputs=_attachment_outputs,
        references=(
            _OF_CEN,
            _OF_ROUTER,
            Reference(path="vbrId", kind=BORDER_ROUTER, code="InvalidVbrId.NotFound", what="VBR"),
        ),
        unique=("transitRouterId", "vbrId"),
        taken_code="InvalidOperation.AttachmentExist",
        in_use_code="OperationFailed.AttachmentInUse",
        missing_code="InvalidTransitRouterAttachmentId.NotFound",
    ),
    Kind(
        type_name=TR_TABLE,
        what="route table",
        make_id=_pair("transitRouterId", _global_id("vtb")),
        outputs=lambda _order, own_id: {
            "transitRouterRouteTableId": own_id.rpartition(":")[2],
            "transitRouterRouteTableType": "Custom",
            "status": "Active",
        },
        references=(_OF_ROUTER,),
        in_use_code="OperationFailed.RouteTableInUse",
        missing_code=_TABLE_CODE,
    ),
    *(
        Kind(
            type_name=f"alicloud:cen/transitRouterRouteTable{what}:TransitRouterRouteTable{what}",
            what=what.lower(),
            make_id=lambda order: ":".join(
                order.text(f"transitRouter{part}Id") for part in ("Attachment", "RouteTable")
            ),
            outputs=lambda _order, _own_id: {"status": "Active"},
            references=(_OF_TABLE, _OF_ATTACHMENT),
            unique=("transitRouterAttachmentId", "transitRouterRouteTableId"),
            taken_code="InvalidOperation.RouteTableRelationExist",
            missing_code="InvalidRouteTableRelation.NotFound",
        )
        for what in ("Association", "Propagation")
    ),
)
