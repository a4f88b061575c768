"""The VPC on AWS: a private subnet in every zone and the endpoints that nodes need without internet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from contract.stack_config import CloudConfig
from infra import address_wishes as blocks
from infra.address_plan import AddressPlan

# What a node without a way to the internet must still reach to join and to pull its images.
_INTERFACE_SERVICES = ("ec2", "ecr.api", "ecr.dkr", "eks", "sts")


@dataclass(frozen=True, slots=True, kw_only=True)
class EksNetworkArgs:
    """Where the network is and which blocks it gets."""

    cloud: CloudConfig
    plan: AddressPlan


class EksNetwork(pulumi.ComponentResource):
    """The VPC, its subnets by zone, its route table and its endpoints. No internet gateway, no NAT."""

    vpc_id: pulumi.Output[str]
    route_table_id: pulumi.Output[str]
    subnets: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, args: EksNetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("spillway:aws:EksNetwork", name, None, opts)
        from pulumi_aws import ec2

        self._block = str(args.plan[blocks.vpc(args.cloud.provider)])
        vpc = ec2.Vpc(
            name,
            cidr_block=self._block,
            enable_dns_support=True,
            enable_dns_hostnames=True,
            tags={"Name": name},
            # Everything that a burst needs stands on it, and a new one has new ids.
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )
        table = ec2.RouteTable(name, vpc_id=vpc.id, tags={"Name": name}, opts=self._child())
        self.vpc_id = vpc.id
        self.route_table_id = table.id
        self.subnets = {zone: self._subnet(name, args, zone) for zone in args.cloud.zones}
        self._endpoints(name, args.cloud.region)
        self.register_outputs({"vpcId": self.vpc_id})

    def _child(self) -> pulumi.ResourceOptions:
        return pulumi.ResourceOptions(parent=self)

    def _subnet(self, name: str, args: EksNetworkArgs, zone: str) -> pulumi.Output[str]:
        from pulumi_aws import ec2

        label = f"{name}-{zone}"
        subnet = ec2.Subnet(
            label,
            vpc_id=self.vpc_id,
            availability_zone=zone,
            cidr_block=str(args.plan[blocks.nodes(args.cloud.provider, zone)]),
            map_public_ip_on_launch=False,
            tags={"Name": label, "kubernetes.io/role/internal-elb": "1"},
            opts=self._child(),
        )
        ec2.RouteTableAssociation(label, subnet_id=subnet.id, route_table_id=self.route_table_id, opts=self._child())
        return subnet.id

    def _endpoints(self, name: str, region: str) -> None:
        from pulumi_aws import ec2

        group = ec2.SecurityGroup(
            f"{name}-endpoints",
            vpc_id=self.vpc_id,
            description="HTTPS from inside the VPC to the interface endpoints",
            ingress=[
                ec2.SecurityGroupIngressArgs(protocol="tcp", from_port=443, to_port=443, cidr_blocks=[self._block])
            ],
            opts=self._child(),
        )
        ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=self.vpc_id,
            service_name=f"com.amazonaws.{region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[self.route_table_id],
            opts=self._child(),
        )
        for service in _INTERFACE_SERVICES:
            ec2.VpcEndpoint(
                f"{name}-{service}",
                vpc_id=self.vpc_id,
                service_name=f"com.amazonaws.{region}.{service}",
                vpc_endpoint_type="Interface",
                subnet_ids=list(self.subnets.values()),
                security_group_ids=[group.id],
                private_dns_enabled=True,
                opts=self._child(),
            )
