"""The image registry of Alibaba Cloud, reachable from inside the VPC only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from infra.alicloud.network import AckNetwork
from infra.naming import OWNER, Kind, cloud_name

_MONTHS = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AcrRegistryArgs:
    """Whose registry, in which region, and the network that may pull from it."""

    region: str
    network: AckNetwork
    tags: Mapping[str, str]


class AcrRegistry(pulumi.ComponentResource):
    """A Container Registry Enterprise instance, its namespace and its door into the VPC."""

    address: pulumi.Output[str]

    def __init__(self, name: str, args: AcrRegistryArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("spillway:alicloud:AcrRegistry", name, None, opts)
        from pulumi_alicloud import cr, cs

        child = pulumi.ResourceOptions(parent=self)
        instance_name = cloud_name(Kind.ACR_INSTANCE, OWNER, args.region)
        instance = cr.RegistryEnterpriseInstance(
            name,
            instance_name=instance_name,
            instance_type="Standard",
            # The only way that an Enterprise instance is sold.
            payment_type="Subscription",
            period=_MONTHS,
            renew_period=_MONTHS,
            renewal_status="AutoRenewal",
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        namespace = cs.RegistryEnterpriseNamespace(
            f"{name}-namespace",
            instance_id=instance.id,
            name=cloud_name(Kind.ACR_NAMESPACE, OWNER),
            auto_create=True,
            default_visibility="PRIVATE",
            opts=child,
        )
        zone = next(iter(args.network.node_vswitches))
        cr.VpcEndpointLinkedVpc(
            f"{name}-vpc",
            instance_id=instance.id,
            module_name="Registry",
            vpc_id=args.network.vpc_id,
            vswitch_id=args.network.node_vswitches[zone],
            enable_create_dns_record_in_pvzt=True,
            opts=child,
        )
        self.address = pulumi.Output.format(
            "{0}-registry-vpc.{1}.cr.aliyuncs.com/{2}", instance_name, args.region, namespace.name
        )
        self.register_outputs({"address": self.address})
