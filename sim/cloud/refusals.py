"""What a cloud says about networks, clusters and roles when it says no, with the real codes.

Codes: AWS from the API references of EC2, EKS, IAM and Direct Connect; Alibaba from the error tables
of the VPC, CS and CBN API pages. Refusals of node groups and machines stand in sim.world.refusals.
"""

from __future__ import annotations

from sim.world.refusals import CloudRefusal


def not_found(code: str, what: str, resource_id: str) -> CloudRefusal:
    """A reference, or the object of the call, does not exist."""
    return CloudRefusal(code, f"The {what} '{resource_id}' does not exist", 404)


def already_exists(code: str, what: str, name: str) -> CloudRefusal:
    """The name is taken."""
    return CloudRefusal(code, f"{what} already exists with name {name}", 409)


def still_used(code: str, what: str, resource_id: str, user: str) -> CloudRefusal:
    """Something that stands on it must go first."""
    return CloudRefusal(code, f"The {what} '{resource_id}' has dependencies and cannot be deleted: {user}", 409)


def overlap(code: str, block: str, other: str, owner: str) -> CloudRefusal:
    """A range collides with another one."""
    return CloudRefusal(code, f"The CIDR '{block}' conflicts with '{other}' of {owner}")


def outside(code: str, block: str, outer: str) -> CloudRefusal:
    """A subnet does not lie in its network."""
    return CloudRefusal(code, f"The CIDR '{block}' is invalid: it lies outside of {outer}")


def unknown_kind(kind: str) -> CloudRefusal:
    """The twin's own refusal."""
    return CloudRefusal("TwinUnknownType", f"the twin does not act out {kind}; see sim/cloud for the types it knows")
