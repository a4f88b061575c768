"""Names of what stacks export. A reader and the writer use the same constant, so that a rename breaks loudly."""

from __future__ import annotations

from enum import StrEnum


class FoundationOutput(StrEnum):
    """Exports of a foundation stack that burst stacks and the agent read."""

    ACK_CLUSTER_ID = "ackClusterId"
    ACK_CLUSTER_NAME = "ackClusterName"
    ACK_VSWITCH_IDS = "ackVswitchIds"
    ACK_REGISTRY = "acrRegistry"
    EKS_CLUSTER_NAME = "eksClusterName"
    EKS_NODE_ROLE_ARN = "eksNodeRoleArn"
    EKS_SUBNET_IDS = "eksSubnetIds"
    EKS_REGISTRY = "ecrRegistry"
    ADDRESSES = "addresses"
    LINKS = "links"


class BurstOutput(StrEnum):
    """Exports of a burst stack: by pool, what the agent needs to find and protect its nodes."""

    POOLS = "pools"


class PoolOutput(StrEnum):
    """Keys of one entry of BurstOutput.POOLS."""

    NODE_POOL_ID = "nodePoolId"
    SCALING_GROUP = "scalingGroup"
    DESIRED = "desired"
