"""The VPC of Alibaba Cloud: a vSwitch for nodes and one for pods in every zone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pulumi

from contract.stack_config import CloudConfig
from infra import address_wishes as blocks
from infra.address_plan import AddressPlan
from infra.naming import Kind, cloud_name


@dataclass(frozen=True, slots=True, kw_only=True)
class AckNetworkArgs:
    """Where the network is and which blocks it gets."""

    cloud: CloudConfig
    plan: AddressPlan
    tags: Mapping[str, str]


class AckNetwork(pulumi.ComponentResource):
    """The VPC and its vSwitches, by zone. Nothing in it has a public address."""

    vpc_id: pulumi.Output[str]
    node_vswitches: Mapping[str, pulumi.Output[str]]
    pod_vswitches: Mapping[str, pulumi.Output[str]]

    def __init__(self, name: str, args: AckNetworkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("spillway:alicloud:AckNetwork", name, None, opts)
        from pulumi_alicloud import vpc

        provider, plan = args.cloud.provider, args.plan
        network = vpc.Network(
            name,
            vpc_name=cloud_name(Kind.ALICLOUD_NETWORK, name),
            cidr_block=str(plan[blocks.vpc(provider)]),
            tags=args.tags,
            # Everything that a burst needs stands on it, and a new one has new ids.
            opts=pulumi.ResourceOptions(parent=self, protect=True),
        )

        def switch(zone: str, role: str, block: str) -> pulumi.Output[str]:
            label = f"{name}-{role}-{zone}"
            return vpc.Switch(
                label,
                vpc_id=network.id,
                vswitch_name=cloud_name(Kind.ALICLOUD_NETWORK, label),
                zone_id=zone,
                cidr_block=str(plan[block]),
                tags=args.tags,
                opts=pulumi.ResourceOptions(parent=self),
            ).id

        self.vpc_id = network.id
        self.node_vswitches = self._by_zone(args, switch, "nodes", blocks.nodes)
        self.pod_vswitches = self._by_zone(args, switch, "pods", blocks.pods)
        self.register_outputs({"vpcId": self.vpc_id})

    @staticmethod
    def _by_zone(
        args: AckNetworkArgs,
        switch: Callable[[str, str, str], pulumi.Output[str]],
        role: str,
        block: Callable[..., str],
    ) -> dict[str, pulumi.Output[str]]:
        return {zone: switch(zone, role, block(args.cloud.provider, zone)) for zone in args.cloud.zones}
