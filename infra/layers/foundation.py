"""A foundation stack: address plan, networks, clusters, registries and dedicated lines of each cloud."""

from __future__ import annotations

import pulumi

from contract.catalog import Provider
from contract.stack_config import CloudConfig, FoundationConfig
from contract.stack_outputs import FoundationOutput
from infra import address_wishes as blocks
from infra.address_plan import AddressPlan, AddressProblem, plan_addresses
from infra.alicloud.cluster import AckCluster, AckClusterArgs
from infra.alicloud.network import AckNetwork, AckNetworkArgs
from infra.alicloud.registry import AcrRegistry, AcrRegistryArgs
from infra.aws.cluster import EksCluster, EksClusterArgs
from infra.aws.network import EksNetwork, EksNetworkArgs
from infra.aws.registry import EcrRegistry, EcrRegistryArgs
from infra.aws.roles import EksRoles, EksRolesArgs
from infra.config import Inputs
from infra.layers import Outputs
from infra.link.dedicated_link import DedicatedLink, DedicatedLinkArgs
from infra.link.line import Line
from infra.naming import OWNER, SHARED, tags
from infra.problems import ProgramProblem


def build_foundation(inputs: Inputs, config: FoundationConfig) -> Outputs:
    """Build every cloud that the stack names; exports what burst stacks and routers need."""
    try:
        plan = plan_addresses(blocks.address_request(config))
    except AddressProblem as error:
        raise ProgramProblem(f"address plan: {error}") from error
    _warn_of_unpinned(config, plan)
    outputs: dict[str, pulumi.Input[object]] = {FoundationOutput.ADDRESSES.value: plan.as_text()}
    links: dict[str, pulumi.Input[object]] = {}
    for cloud in config.clouds:
        build = _alicloud if cloud.provider is Provider.ALICLOUD else _aws
        own, links[cloud.provider.value] = build(inputs, cloud, plan, _line(inputs, config, cloud, plan))
        outputs.update(own)
    outputs[FoundationOutput.LINKS.value] = links
    return outputs


def _warn_of_unpinned(config: FoundationConfig, plan: AddressPlan) -> None:
    """A block that no file holds could move when a zone or a range is added."""
    fresh = {name: block for name, block in plan.as_text().items() if name not in config.pins}
    if fresh:
        lines = "".join(f"\n    {name}: {block}" for name, block in fresh.items())
        pulumi.log.warn(f"blocks given out now; copy them below 'spillway:addresses:' and commit:{lines}")


def _line(inputs: Inputs, config: FoundationConfig, cloud: CloudConfig, plan: AddressPlan) -> Line:
    return Line(
        cloud=cloud,
        onprem=config.onprem,
        addresses=plan[blocks.link(cloud.provider)],
        vpc_block=plan[blocks.vpc(cloud.provider)],
        bgp_key=inputs.bgp_keys.get(cloud.provider),
    )


def _alicloud(inputs: Inputs, cloud: CloudConfig, plan: AddressPlan, line: Line) -> tuple[Outputs, Outputs]:
    import pulumi_alicloud as alicloud

    own_tags = tags(inputs.stack, SHARED)
    # Components take it for their children; nothing is left to a default provider's environment.
    opts = pulumi.ResourceOptions(providers=[alicloud.Provider("alicloud", region=cloud.region)])
    name = cloud.cluster_name
    network = AckNetwork(name, AckNetworkArgs(cloud=cloud, plan=plan, tags=own_tags), opts)
    cluster = AckCluster(name, AckClusterArgs(cloud=cloud, plan=plan, network=network, tags=own_tags), opts)
    registry = AcrRegistry("acr", AcrRegistryArgs(region=cloud.region, network=network, tags=own_tags), opts)
    link = DedicatedLink(line.name, DedicatedLinkArgs(line=line, network=network, tags=own_tags), opts)
    outputs: Outputs = {
        FoundationOutput.ACK_CLUSTER_ID.value: cluster.cluster_id,
        FoundationOutput.ACK_CLUSTER_NAME.value: cluster.cluster_name,
        FoundationOutput.ACK_VSWITCH_IDS.value: dict(network.node_vswitches),
        FoundationOutput.ACK_REGISTRY.value: registry.address,
    }
    return outputs, link.onprem_router


def _aws(inputs: Inputs, cloud: CloudConfig, plan: AddressPlan, line: Line) -> tuple[Outputs, Outputs]:
    import pulumi_aws as aws

    own_tags = tags(inputs.stack, SHARED)
    provider = aws.Provider(
        "aws",
        region=cloud.region,
        allowed_account_ids=[cloud.account_id] if cloud.account_id else None,
        default_tags=aws.ProviderDefaultTagsArgs(tags=own_tags),
    )
    opts = pulumi.ResourceOptions(providers=[provider])
    name = cloud.cluster_name
    network = EksNetwork(name, EksNetworkArgs(cloud=cloud, plan=plan), opts)
    roles = EksRoles(name, EksRolesArgs(cluster_name=name), opts)
    cluster = EksCluster(name, EksClusterArgs(cloud=cloud, plan=plan, network=network, roles=roles), opts)
    registry = EcrRegistry("ecr", EcrRegistryArgs(repository=f"{OWNER}/train"), opts)
    link = DedicatedLink(line.name, DedicatedLinkArgs(line=line, network=network, tags=own_tags), opts)
    outputs: Outputs = {
        FoundationOutput.EKS_CLUSTER_NAME.value: cluster.cluster_name,
        FoundationOutput.EKS_NODE_ROLE_ARN.value: roles.node_arn,
        FoundationOutput.EKS_SUBNET_IDS.value: dict(network.subnets),
        FoundationOutput.EKS_REGISTRY.value: registry.address,
    }
    return outputs, link.onprem_router
