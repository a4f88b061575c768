"""The ACK cluster: managed control plane without a public endpoint, pods with addresses of the VPC."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from contract.stack_config import CloudConfig
from infra import address_wishes as blocks
from infra.address_plan import AddressPlan
from infra.alicloud.network import AckNetwork
from infra.naming import Kind, cloud_name

# Terway gives pods addresses of the VPC, so that the line reaches them without a second NAT.
_ADDONS = ("terway-eniip", "csi-plugin", "csi-provisioner", "ack-node-problem-detector")


@dataclass(frozen=True, slots=True, kw_only=True)
class AckClusterArgs:
    """The cluster's config and the network that it stands in."""

    cloud: CloudConfig
    plan: AddressPlan
    network: AckNetwork
    tags: Mapping[str, str]


class AckCluster(pulumi.ComponentResource):
    """The control plane. GPU pools join from burst stacks."""

    cluster_id: pulumi.Output[str]
    cluster_name: pulumi.Output[str]

    def __init__(self, name: str, args: AckClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("spillway:alicloud:AckCluster", name, None, opts)
        from pulumi_alicloud import cs

        cluster = cs.ManagedKubernetes(
            name,
            name=cloud_name(Kind.ACK_CLUSTER, args.cloud.cluster_name),
            cluster_spec="ack.pro.small",
            version=args.cloud.kubernetes_version,
            vswitch_ids=list(args.network.node_vswitches.values()),
            pod_vswitch_ids=list(args.network.pod_vswitches.values()),
            service_cidr=str(args.plan[blocks.services(args.cloud.provider)]),
            proxy_mode="ipvs",
            new_nat_gateway=False,
            slb_internet_enabled=False,
            is_enterprise_security_group=True,
            enable_rrsa=True,
            # Keeps the cluster's private keys out of the state file.
            skip_set_certificate_authority=True,
            addons=[cs.ManagedKubernetesAddonArgs(name=addon) for addon in _ADDONS],
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        self.cluster_id = cluster.id
        self.cluster_name = cluster.name
        self.register_outputs({"clusterId": self.cluster_id})
