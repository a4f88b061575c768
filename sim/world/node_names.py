"""Names and ids as each cloud gives them, and the labels that it puts on a node by itself.

Shapes from ../shared data/k8s_nodes. Must not hold a label that comes from the catalogue or from
Pulumi: those arrive with the group.
"""

from __future__ import annotations

from contract.catalog import PoolRow, Provider
from sim.world.draws import Draws
from sim.world.hardware import Machine

# First characters of an Alibaba id, by region; others are rarer.
_ALICLOUD_PREFIX = {
    "cn-hangzhou": "bp1",
    "cn-shanghai": "uf6",
    "cn-shenzhen": "wz9",
    "cn-beijing": "2ze",
    "cn-hongkong": "j6c",
    "ap-southeast-1": "t4n",
}


def instance_id(draws: Draws, provider: Provider, region: str, *key: object) -> str:
    """A cloud's id of a machine: 17 hexadecimal digits on AWS, 20 letters and digits on Alibaba."""
    if provider is Provider.AWS:
        return f"i-0{draws.hexadecimal(16, 'instance', *key)}"
    prefix = _ALICLOUD_PREFIX.get(region, "m5e")
    return f"i-{prefix}{draws.token(17, 'instance', *key)}"


def scaling_group_id(draws: Draws, provider: Provider, region: str, *key: object) -> str:
    """The id of the scaling group behind a node group or pool."""
    if provider is Provider.AWS:
        digits = draws.hexadecimal(32, "asg", *key)
        uuid = "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:32]))
        return f"eks-{key[1]}-{uuid}"
    prefix = _ALICLOUD_PREFIX.get(region, "m5e")
    return f"asg-{prefix}{draws.token(17, 'asg', *key)}"


def group_id(draws: Draws, provider: Provider, cluster: str, name: str, number: int) -> str:
    """EKS names a node group by cluster and name; ACK gives `np` and 32 digits."""
    if provider is Provider.AWS:
        return f"{cluster}:{name}"
    return f"np{draws.hexadecimal(32, 'pool', cluster, name, number)}"


def private_address(draws: Draws, provider: Provider, zone_index: int, *key: object) -> str:
    """An address in a range that other sites of the twin do not use."""
    chance = draws.stream("address", *key)
    second = {Provider.AWS: 64, Provider.ALICLOUD: 32}.get(provider, 8)
    third = zone_index * 16 + chance.randrange(16)
    return f"10.{second}.{third}.{chance.randrange(4, 251)}"


def node_name(provider: Provider, region: str, address: str) -> str:
    """The Kubernetes name that the cloud's kubelet registers under."""
    if provider is Provider.AWS:
        domain = "ec2.internal" if region == "us-east-1" else f"{region}.compute.internal"
        return f"ip-{address.replace('.', '-')}.{domain}"
    return f"{region}.{address}"


def provider_id(provider: Provider, region: str, zone: str, instance: str) -> str:
    """spec.providerID; Alibaba's has no scheme."""
    if provider is Provider.AWS:
        return f"aws:///{zone}/{instance}"
    return f"{region}.{instance}"


def cloud_labels(row: PoolRow, machine: Machine, zone: str, name: str) -> dict[str, str]:
    """Labels that kubelet, the cloud's controller and the GPU operator put on every node."""
    return {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/os": "linux",
        "kubernetes.io/hostname": name,
        "node.kubernetes.io/instance-type": machine.name,
        "topology.kubernetes.io/region": row.region,
        "topology.kubernetes.io/zone": zone,
    }


def gpu_labels(machine: Machine) -> dict[str, str]:
    """Labels of GPU feature discovery; they come with the driver, not with the node."""
    return {
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": machine.product.replace(" ", "-"),
        "nvidia.com/gpu.count": str(machine.gpus),
        "nvidia.com/gpu.memory": str(machine.gpu_memory_gib * 1024),
    }


def group_labels(provider: Provider, name: str, pool_id: str, *, is_spot: bool) -> dict[str, str]:
    """Labels by which each cloud ties a node to its group."""
    if provider is Provider.AWS:
        return {
            "eks.amazonaws.com/nodegroup": name,
            "eks.amazonaws.com/capacityType": "SPOT" if is_spot else "ON_DEMAND",
        }
    return {
        "alibabacloud.com/nodepool-id": pool_id,
        "node.alibabacloud.com/nodepool-id": pool_id,
        "node.alibabacloud.com/instance-charge-type": "PostPaid",
        "node.alibabacloud.com/spot-strategy": "SpotAsPriceGo" if is_spot else "NoSpot",
    }
