"""The EKS cluster: control plane with a private endpoint only."""

from __future__ import annotations

from dataclasses import dataclass

import pulumi

from contract.stack_config import CloudConfig
from infra import address_wishes as blocks
from infra.address_plan import AddressPlan
from infra.aws.network import EksNetwork
from infra.aws.roles import EksRoles
from infra.naming import Kind, cloud_name

_LOGS = ["api", "audit", "authenticator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EksClusterArgs:
    """The cluster's config, the network that it stands in and the roles that it takes."""

    cloud: CloudConfig
    plan: AddressPlan
    network: EksNetwork
    roles: EksRoles


class EksCluster(pulumi.ComponentResource):
    """The control plane. GPU pools join from burst stacks."""

    cluster_name: pulumi.Output[str]

    def __init__(self, name: str, args: EksClusterArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("spillway:aws:EksCluster", name, None, opts)
        from pulumi_aws import eks

        services = str(args.plan[blocks.services(args.cloud.provider)])
        cluster = eks.Cluster(
            name,
            name=cloud_name(Kind.EKS_CLUSTER, args.cloud.cluster_name),
            role_arn=args.roles.control_plane_arn,
            version=args.cloud.kubernetes_version,
            vpc_config=eks.ClusterVpcConfigArgs(
                subnet_ids=list(args.network.subnets.values()),
                endpoint_private_access=True,
                endpoint_public_access=False,
            ),
            kubernetes_network_config=eks.ClusterKubernetesNetworkConfigArgs(
                ip_family="ipv4", service_ipv4_cidr=services
            ),
            access_config=eks.ClusterAccessConfigArgs(
                authentication_mode="API", bootstrap_cluster_creator_admin_permissions=True
            ),
            enabled_cluster_log_types=_LOGS,
            # A cluster made before its role may act fails; one that outlives it cannot be deleted.
            opts=pulumi.ResourceOptions(parent=self, protect=True, depends_on=args.roles.attachments),
        )
        self.cluster_name = cluster.name
        self.register_outputs({"clusterName": self.cluster_name})
