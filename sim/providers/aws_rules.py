"""What AWS and its provider refuse beyond types. Sources beside each line."""

from __future__ import annotations

from sim.providers import rules
from sim.providers.rules import Rule

# EKS API reference, Taint: effect, key and value; CreateNodegroup: labels and limits.
_TAINTS: tuple[Rule, ...] = (
    rules.one_of("taints.effect", "NO_SCHEDULE", "NO_EXECUTE", "PREFER_NO_SCHEDULE"),
    rules.shaped("taints.key", r".{1,63}", "1 to 63 characters"),
    rules.shaped("taints.value", r".{0,63}", "at most 63 characters"),
    rules.at_most("taints", 50),
)
# directconnect_gateway and private_virtual_interface of the Terraform provider.
_PRIVATE_ASN = r"(6451[2-9]|645[2-9]\d|64[6-9]\d\d|65[0-4]\d\d|655[0-2]\d|6553[0-4]|42\d{8})"

RULES: dict[str, tuple[Rule, ...]] = {
    "aws:eks/nodeGroup:NodeGroup": (
        *_TAINTS,
        # eks_node_group: name pattern and length.
        rules.shaped(
            "nodeGroupName",
            r"[0-9A-Za-z][0-9A-Za-z_-]{0,62}",
            "1 to 63 letters, digits, hyphens and underscores, from a letter or digit",
        ),
        rules.one_of("capacityType", "ON_DEMAND", "SPOT", "CAPACITY_BLOCK"),
        # EKS user guide, "Kubernetes labels" of managed node groups.
        rules.no_reserved_labels("labels", "eks.amazonaws.com", "kubernetes.io", "k8s.io"),
        rules.within("scalingConfig.minSize", 0, 100_000),
        rules.within("scalingConfig.maxSize", 1, 100_000),
        rules.within("scalingConfig.desiredSize", 0, 100_000),
        rules.between("scalingConfig.minSize", "scalingConfig.desiredSize", "scalingConfig.maxSize"),
        rules.excludes("launchTemplate", "diskSize", "remoteAccess"),
        rules.excludes("nodeGroupName", "nodeGroupNamePrefix"),
        rules.one_of(
            "amiType",
            "AL2023_x86_64_STANDARD",
            "AL2023_x86_64_NVIDIA",
            "AL2023_ARM_64_STANDARD",
            "AL2023_ARM_64_NVIDIA",
            "AL2023_x86_64_NEURON",
            "AL2_x86_64",
            "AL2_x86_64_GPU",
            "AL2_ARM_64",
            "BOTTLEROCKET_x86_64",
            "BOTTLEROCKET_x86_64_NVIDIA",
            "BOTTLEROCKET_ARM_64",
            "BOTTLEROCKET_ARM_64_NVIDIA",
            "CUSTOM",
        ),
    ),
    "aws:eks/cluster:Cluster": (
        rules.shaped("name", r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}", "1 to 100 characters"),
        # CreateCluster: serviceIpv4Cidr between /24 and /12.
        rules.block("kubernetesNetworkConfig.serviceIpv4Cidr", 24, 12),
        rules.one_of("kubernetesNetworkConfig.ipFamily", "ipv4", "ipv6"),
        rules.one_of("accessConfig.authenticationMode", "API", "API_AND_CONFIG_MAP", "CONFIG_MAP"),
        rules.one_of(
            "enabledClusterLogTypes",
            "api",
            "audit",
            "authenticator",
            "controllerManager",
            "scheduler",
        ),
    ),
    # CreateVpc and CreateSubnet: /16 to /28.
    "aws:ec2/vpc:Vpc": (rules.block("cidrBlock", 28, 16),),
    "aws:ec2/subnet:Subnet": (rules.block("cidrBlock", 28, 16),),
    "aws:ec2/vpcEndpoint:VpcEndpoint": (
        rules.one_of(
            "vpcEndpointType",
            "Gateway",
            "Interface",
            "GatewayLoadBalancer",
            "Resource",
            "ServiceNetwork",
        ),
    ),
    "aws:directconnect/gateway:Gateway": (
        rules.shaped("amazonSideAsn", _PRIVATE_ASN, "64512-65534 or 4200000000-4294967294"),
        rules.shaped("name", r".{1,100}", "1 to 100 characters"),
    ),
    "aws:directconnect/privateVirtualInterface:PrivateVirtualInterface": (
        rules.within("vlan", 1, 4094),
        rules.one_of("addressFamily", "ipv4", "ipv6"),
        rules.exactly_one("bgpAsn", "bgpAsnLong"),
        rules.within("bgpAsn", 1, 2_147_483_647),
        rules.within("bgpAsnLong", 1, 4_294_967_294),
        rules.exactly_one("dxGatewayId", "vpnGatewayId"),
        rules.address("amazonAddress"),
        rules.address("customerAddress"),
        rules.one_of("mtu", "1500", "9001"),
        # NewPrivateVirtualInterface: authKey of 6 to 80 characters.
        rules.shaped("bgpAuthKey", r".{6,80}", "6 to 80 characters"),
    ),
    "aws:directconnect/gatewayAssociation:GatewayAssociation": (rules.block("allowedPrefixes"),),
    "aws:iam/role:Role": (rules.shaped("name", r"[\w+=,.@-]{1,64}", "1 to 64 characters"),),
    "aws:ecr/repository:Repository": (
        rules.shaped(
            "name",
            r"(?=.{2,256}$)(?:[a-z0-9]+(?:[._-][a-z0-9]+)*/)*[a-z0-9]+(?:[._-][a-z0-9]+)*",
            "2 to 256 small letters, digits, and . _ - / between them",
        ),
        rules.one_of(
            "imageTagMutability",
            "MUTABLE",
            "IMMUTABLE",
            "IMMUTABLE_WITH_EXCLUSION",
            "MUTABLE_WITH_EXCLUSION",
        ),
    ),
}
