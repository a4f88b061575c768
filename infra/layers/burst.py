"""A burst stack: the rented GPU pools of one cloud, on the networks and cluster of a foundation.

Imports one cloud's SDK only: both would double the time of each preview that the agent waits for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pulumi

from contract.catalog import PoolRow, Provider
from contract.stack_config import BurstConfig
from contract.stack_outputs import BurstOutput, FoundationOutput
from infra.config import Inputs
from infra.layers import Outputs
from infra.naming import tags
from infra.pools import PoolSpec
from infra.problems import ProgramProblem

PoolEntry = Mapping[str, pulumi.Input[object]]


def build_burst(inputs: Inputs, config: BurstConfig) -> Outputs:
    """One pool per catalogue row of the stack's cloud; exports what the agent needs to find them."""
    rows = inputs.catalog.cloud_pools(config.provider)
    specs = [
        PoolSpec(row=row, stack=inputs.stack, department=config.department, desired=config.desired[row.pool])
        for row in rows
    ]
    region = _one_region(rows)
    foundation = pulumi.StackReference(f"{pulumi.get_organization()}/{pulumi.get_project()}/{config.foundation}")
    build = _ack_pools if config.provider is Provider.ALICLOUD else _eks_pools
    pools = build(specs, foundation, region)
    return {BurstOutput.POOLS.value: pools}


def _ack_pools(specs: Sequence[PoolSpec], foundation: pulumi.StackReference, region: str) -> dict[str, PoolEntry]:
    import pulumi_alicloud as alicloud

    from infra.alicloud.gpu_pool import AckGpuPool, AckGpuPoolArgs

    provider = alicloud.Provider("alicloud", region=region)
    vswitches = foundation.require_output(FoundationOutput.ACK_VSWITCH_IDS.value)
    return {
        spec.row.pool: AckGpuPool(
            spec.row.pool,
            AckGpuPoolArgs(
                spec=spec,
                cluster_id=foundation.require_output(FoundationOutput.ACK_CLUSTER_ID.value),
                vswitch_ids=_in_zones(vswitches, spec.row),
            ),
            pulumi.ResourceOptions(providers=[provider]),
        ).outputs
        for spec in specs
    }


def _eks_pools(specs: Sequence[PoolSpec], foundation: pulumi.StackReference, region: str) -> dict[str, PoolEntry]:
    import pulumi_aws as aws

    from infra.aws.gpu_pool import EksGpuPool, EksGpuPoolArgs

    role = foundation.require_output(FoundationOutput.EKS_NODE_ROLE_ARN.value)
    subnets = foundation.require_output(FoundationOutput.EKS_SUBNET_IDS.value)
    stack_tags = tags(specs[0].stack, specs[0].department)
    provider = aws.Provider(
        "aws",
        region=region,
        allowed_account_ids=[role.apply(_account_of)],
        default_tags=aws.ProviderDefaultTagsArgs(tags=stack_tags),
    )
    return {
        spec.row.pool: EksGpuPool(
            spec.row.pool,
            EksGpuPoolArgs(
                spec=spec,
                cluster_name=foundation.require_output(FoundationOutput.EKS_CLUSTER_NAME.value),
                node_role_arn=role,
                subnet_ids=_in_zones(subnets, spec.row),
            ),
            pulumi.ResourceOptions(providers=[provider]),
        ).outputs
        for spec in specs
    }


def _in_zones(by_zone: pulumi.Output[Mapping[str, str]], row: PoolRow) -> pulumi.Output[list[str]]:
    def pick(known: Mapping[str, str]) -> list[str]:
        absent = [zone for zone in row.zones if zone not in known]
        if absent:
            raise ProgramProblem(
                f"pool '{row.pool}' wants zone {', '.join(absent)}; the foundation has a subnet in "
                f"{', '.join(known)}: change 'zones' in the catalogue or in the foundation"
            )
        return [known[zone] for zone in row.zones]

    return by_zone.apply(pick)


def _one_region(rows: Sequence[PoolRow]) -> str:
    regions = sorted({row.region for row in rows})
    if len(regions) != 1:
        found = ", ".join(regions) or "no pool at all"
        raise ProgramProblem(
            f"a burst stack needs pools of one region and the catalogue has {found}: "
            "keep one region per cloud in the catalogue"
        )
    return regions[0]


def _account_of(arn: str) -> str:
    return arn.split(":")[4]
