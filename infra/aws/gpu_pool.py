"""A GPU node group of an EKS cluster, built from one catalogue row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from infra.pools import PoolSpec, pool_outputs

if TYPE_CHECKING:
    from pulumi_aws import eks

_DISK_GIB = 500
_AMI = "AL2023_x86_64_NVIDIA"


@dataclass(frozen=True, slots=True, kw_only=True)
class EksGpuPoolArgs:
    """The pool, the cluster that it joins, the nodes' role, and a subnet in each of the row's zones."""

    spec: PoolSpec
    cluster_name: pulumi.Input[str]
    node_role_arn: pulumi.Input[str]
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]


class EksGpuPool(pulumi.ComponentResource):
    """The node group. Nothing is ignored: its desired size is Pulumi's alone (I22)."""

    node_pool_id: pulumi.Output[str]
    scaling_group: pulumi.Output[str]
    outputs: Mapping[str, pulumi.Input[object]]

    def __init__(self, name: str, args: EksGpuPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("spillway:aws:EksGpuPool", name, None, opts)
        from pulumi_aws import eks

        spec, row = args.spec, args.spec.row
        group = eks.NodeGroup(
            name,
            cluster_name=args.cluster_name,
            node_group_name=spec.name,
            node_role_arn=args.node_role_arn,
            subnet_ids=args.subnet_ids,
            instance_types=list(row.instance_types),
            capacity_type="SPOT" if row.is_preemptible else "ON_DEMAND",
            ami_type=_AMI,
            disk_size=_DISK_GIB,
            scaling_config=eks.NodeGroupScalingConfigArgs(
                desired_size=int(spec.desired), min_size=0, max_size=int(row.quota)
            ),
            update_config=eks.NodeGroupUpdateConfigArgs(max_unavailable=1),
            labels=row.node_labels(),
            taints=[
                eks.NodeGroupTaintArgs(key=key, value=value, effect=effect.eks)
                for key, value, effect in row.node_taints()
            ],
            tags=spec.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self._export(group, spec)

    def _export(self, group: eks.NodeGroup, spec: PoolSpec) -> None:
        self.node_pool_id = group.node_group_name
        self.scaling_group = group.resources.apply(_scaling_group)
        self.outputs = pool_outputs(self.node_pool_id, self.scaling_group, spec.desired)
        self.register_outputs(dict(self.outputs))


def _scaling_group(resources: Sequence[eks.outputs.NodeGroupResource]) -> str:
    groups = resources[0].autoscaling_groups if resources else None
    return (groups[0].name or "") if groups else ""
