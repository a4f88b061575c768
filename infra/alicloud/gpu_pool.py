"""A GPU node pool of an ACK cluster, built from one catalogue row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pulumi

from infra.pools import PoolSpec, pool_outputs

if TYPE_CHECKING:
    from pulumi_alicloud import cs

_SYSTEM_DISK_GIB = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class AckGpuPoolArgs:
    """The pool, the cluster that it joins, and a vSwitch in each of the row's zones."""

    spec: PoolSpec
    cluster_id: pulumi.Input[str]
    vswitch_ids: pulumi.Input[Sequence[pulumi.Input[str]]]


class AckGpuPool(pulumi.ComponentResource):
    """The node pool. Its size is Pulumi's alone: the cloud's own autoscaling stays off."""

    node_pool_id: pulumi.Output[str]
    scaling_group: pulumi.Output[str]
    outputs: Mapping[str, pulumi.Input[object]]

    def __init__(self, name: str, args: AckGpuPoolArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("spillway:alicloud:AckGpuPool", name, None, opts)
        from pulumi_alicloud import cs

        spec, row = args.spec, args.spec.row
        pool = cs.NodePool(
            name,
            cluster_id=args.cluster_id,
            node_pool_name=spec.name,
            vswitch_ids=args.vswitch_ids,
            instance_types=list(row.instance_types),
            # The API's expected number of nodes is a text, and "0" is not the same as absent.
            desired_size=str(spec.desired),
            scaling_config=cs.NodePoolScalingConfigArgs(
                enable=False, min_size=0, max_size=int(row.quota), type="spot" if row.is_preemptible else "gpu"
            ),
            scaling_policy="release",
            # Never BALANCE: a group that evens out its zones takes away nodes that are at work.
            multi_az_policy="COST_OPTIMIZED" if row.is_preemptible else "PRIORITY",
            labels=[cs.NodePoolLabelArgs(key=key, value=value) for key, value in row.node_labels().items()],
            taints=[
                cs.NodePoolTaintArgs(key=key, value=value, effect=effect.ack)
                for key, value, effect in row.node_taints()
            ],
            image_type="AliyunLinux3",
            system_disk_category="cloud_essd",
            system_disk_size=_SYSTEM_DISK_GIB,
            tags=spec.tags,
            opts=pulumi.ResourceOptions(parent=self),
            instance_charge_type="PostPaid",
            # As-price-go follows the market and never exceeds the pay-as-you-go price.
            spot_strategy="SpotAsPriceGo" if row.is_preemptible else "NoSpot",
        )
        self._export(pool, spec)

    def _export(self, pool: cs.NodePool, spec: PoolSpec) -> None:
        self.node_pool_id = pool.node_pool_id
        self.scaling_group = pool.scaling_group_id
        self.outputs = pool_outputs(self.node_pool_id, self.scaling_group, spec.desired)
        self.register_outputs(dict(self.outputs))
