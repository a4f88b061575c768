"""What Alibaba Cloud and its provider refuse beyond types. Sources beside each line."""

from __future__ import annotations

from sim.providers import rules
from sim.providers.rules import Rule

_NAME = r"(?!https?://)[A-Za-z\u4e00-\u9fff].{1,127}"
_NAME_WORDS = "2 to 128 characters, from a letter"

RULES: dict[str, tuple[Rule, ...]] = {
    "alicloud:cs/nodePool:NodePool": (
        # Kubernetes' own spelling; CS API, CreateClusterNodePool: taints.
        rules.one_of("taints.effect", "NoSchedule", "NoExecute", "PreferNoSchedule"),
        rules.shaped("taints.key", r".{1,63}", "1 to 63 characters"),
        rules.shaped("taints.value", r".{0,63}", "at most 63 characters"),
        rules.shaped(
            "nodePoolName",
            r"[0-9A-Za-z\u4e00-\u9fff]([0-9A-Za-z\u4e00-\u9fff-]{0,61}[0-9A-Za-z\u4e00-\u9fff])?",
            "1 to 63 letters, digits and hyphens, not a hyphen at an end",
        ),
        rules.within("desiredSize", 0, 1000),
        # cs_kubernetes_node_pool: scaling_config and conflicts.
        rules.within("scalingConfig.minSize", 0, 1000),
        rules.within("scalingConfig.maxSize", 0, 1000),
        rules.one_of("scalingConfig.type", "cpu", "gpu", "gpushare", "spot"),
        rules.between("scalingConfig.minSize", "desiredSize", "scalingConfig.maxSize"),
        rules.excludes("desiredSize", "instances", "nodeCount"),
        rules.excludes("scalingConfig", "instances", "nodeCount"),
        rules.one_of("scalingPolicy", "release", "recycle"),
        rules.one_of("multiAzPolicy", "PRIORITY", "COST_OPTIMIZED", "BALANCE"),
        rules.one_of("spotStrategy", "NoSpot", "SpotWithPriceLimit", "SpotAsPriceGo"),
        rules.one_of("instanceChargeType", "PostPaid", "PrePaid"),
        rules.within("systemDiskSize", 20, 32_768),
        # ACK keeps these prefixes for its own labels.
        rules.shaped("labels.key", r"(?!node\.kubernetes\.io/|kubernetes\.io/).{1,253}", "not reserved"),
    ),
    "alicloud:cs/managedKubernetes:ManagedKubernetes": (
        rules.shaped("name", r"[0-9A-Za-z\u4e00-\u9fff][^\s]{0,62}", "1 to 63 characters"),
        rules.block("serviceCidr", 24, 16),
        rules.block("podCidr", 24, 8),
        rules.within("nodeCidrMask", 24, 28),
        rules.one_of("proxyMode", "iptables", "ipvs"),
        rules.excludes("podVswitchIds", "podCidr"),
        rules.exactly_one("vswitchIds", "zoneIds"),
    ),
    # CreateVpc and CreateVSwitch.
    "alicloud:vpc/network:Network": (
        rules.block("cidrBlock", 28, 8),
        rules.shaped("vpcName", _NAME, _NAME_WORDS),
    ),
    "alicloud:vpc/switch:Switch": (
        rules.block("cidrBlock", 29, 16),
        rules.shaped("vswitchName", _NAME, _NAME_WORDS),
    ),
    # express_connect_virtual_border_router.
    "alicloud:expressconnect/virtualBorderRouter:VirtualBorderRouter": (
        rules.within("vlanId", 0, 2999),
        rules.within("minRxInterval", 200, 1000),
        rules.within("minTxInterval", 200, 1000),
        rules.within("detectMultiplier", 3, 10),
        rules.address("localGatewayIp"),
        rules.address("peerGatewayIp"),
        rules.shaped("virtualBorderRouterName", _NAME, _NAME_WORDS),
    ),
    "alicloud:vpc/bgpGroup:BgpGroup": (
        rules.within("peerAsn", 1, 4_294_967_295),
        rules.within("localAsn", 1, 4_294_967_295),
    ),
    "alicloud:vpc/bgpPeer:BgpPeer": (rules.address("peerIpAddress"),),
    "alicloud:cr/registryEnterpriseInstance:RegistryEnterpriseInstance": (
        rules.shaped("instanceName", r"[a-z0-9]([a-z0-9-]{1,28}[a-z0-9])", "3 to 30 characters"),
        rules.one_of("instanceType", "Basic", "Standard", "Advanced", "Economy"),
        rules.one_of("paymentType", "Subscription"),
    ),
    "alicloud:cs/registryEnterpriseNamespace:RegistryEnterpriseNamespace": (
        rules.shaped("name", r"[a-z0-9]([a-z0-9._-]{0,118}[a-z0-9])", "2 to 120 characters"),
        rules.one_of("defaultVisibility", "PUBLIC", "PRIVATE"),
    ),
    "alicloud:cr/vpcEndpointLinkedVpc:VpcEndpointLinkedVpc": (rules.one_of("moduleName", "Registry", "Chart"),),
}
