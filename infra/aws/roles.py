"""The two roles of an EKS cluster: its control plane's and its nodes'."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pulumi

from infra.naming import Kind, cloud_name

_CONTROL_PLANE = ("AmazonEKSClusterPolicy",)
_NODES = (
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
    "AmazonEC2ContainerRegistryPullOnly",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EksRolesArgs:
    """Whose roles they are."""

    cluster_name: str


class EksRoles(pulumi.ComponentResource):
    """Roles with the policies that AWS keeps for them. `ready` ends when the policies are attached."""

    control_plane_arn: pulumi.Output[str]
    node_arn: pulumi.Output[str]

    def __init__(self, name: str, args: EksRolesArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("spillway:aws:EksRoles", name, None, opts)
        self.attachments: list[pulumi.Resource] = []
        cluster = args.cluster_name
        self.control_plane_arn = self._role(cluster, "eks.amazonaws.com", _CONTROL_PLANE)
        self.node_arn = self._role(f"{cluster}-node", "ec2.amazonaws.com", _NODES)
        self.register_outputs({"nodeArn": self.node_arn})

    def _role(self, label: str, service: str, policies: tuple[str, ...]) -> pulumi.Output[str]:
        from pulumi_aws import iam

        child = pulumi.ResourceOptions(parent=self)
        role = iam.Role(
            label,
            name=cloud_name(Kind.IAM_ROLE, "spillway", label),
            assume_role_policy=_trust(service),
            opts=child,
        )
        for policy in policies:
            attachment = iam.RolePolicyAttachment(
                f"{label}-{policy}",
                role=role.name,
                policy_arn=f"arn:aws:iam::aws:policy/{policy}",
                opts=child,
            )
            self.attachments.append(attachment)
        return role.arn


def _trust(service: str) -> str:
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": service},
        "Action": ["sts:AssumeRole", "sts:TagSession"] if service.startswith("eks") else "sts:AssumeRole",
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})
