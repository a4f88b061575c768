"""Names and tags of what is created, within each cloud's limits (I24).

Pure and deterministic: the same input gives the same name on every machine, so that a resource whose
creation was not recorded can be found again. Must not know who asks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from enum import Enum, auto

from contract.catalog import Provider

OWNER = "spillway"
TAG_OWNER = "owner"
TAG_DEPARTMENT = "department"
TAG_STACK = "spillway-stack"
TAG_POOL = "spillway-pool"
SHARED = "shared"
_HASH = 8


class BadName(ValueError):
    """A part of a name holds nothing that a cloud would accept."""


class Kind(Enum):
    """What gets a name."""

    EKS_NODE_GROUP = auto()
    EKS_CLUSTER = auto()
    IAM_ROLE = auto()
    ECR_REPOSITORY = auto()
    DIRECT_CONNECT = auto()
    ACK_NODE_POOL = auto()
    ACK_CLUSTER = auto()
    ACR_INSTANCE = auto()
    ACR_NAMESPACE = auto()
    ALICLOUD_NETWORK = auto()


# The longest name that the cloud accepts; every name is kept to small letters, digits and dashes.
_LIMIT: Mapping[Kind, int] = {
    Kind.EKS_NODE_GROUP: 63,
    Kind.EKS_CLUSTER: 100,
    Kind.IAM_ROLE: 64,
    Kind.ECR_REPOSITORY: 256,
    Kind.DIRECT_CONNECT: 100,
    Kind.ACK_NODE_POOL: 63,
    Kind.ACK_CLUSTER: 63,
    Kind.ACR_INSTANCE: 30,
    Kind.ACR_NAMESPACE: 120,
    Kind.ALICLOUD_NETWORK: 128,
}
# A repository's name is a path.
_ALLOWED = {Kind.ECR_REPOSITORY: "a-z0-9/._-"}
_PLAIN = "a-z0-9-"
_POOL_KIND = {Provider.AWS: Kind.EKS_NODE_GROUP, Provider.ALICLOUD: Kind.ACK_NODE_POOL}


def cloud_name(kind: Kind, *parts: str) -> str:
    """The parts joined by dashes; shortened with a hash of all of them when that is too long.

    A part that holds characters the cloud refuses also brings the hash, so that two parts which
    differ only there keep different names.
    """
    wished = "-".join(parts)
    plain = _plain(kind, wished)
    if plain == wished and len(plain) <= _LIMIT[kind]:
        return plain
    return _with_hash(kind, plain, parts)


def pool_name(provider: Provider, stack: str, pool: str) -> str:
    """A node pool's name in its cloud; always with a hash, because 'a-b' + 'c' is not 'a' + 'b-c'."""
    kind = _POOL_KIND[provider]
    return _with_hash(kind, _plain(kind, f"{stack}-{pool}"), (stack, pool))


def tags(stack: str, department: str, pool: str | None = None) -> dict[str, str]:
    """Tags that every resource of a stack carries: whose it is, who pays, what made it."""
    own = {TAG_OWNER: OWNER, TAG_DEPARTMENT: department, TAG_STACK: stack}
    return own if pool is None else {**own, TAG_POOL: pool}


def _plain(kind: Kind, wished: str) -> str:
    plain = re.sub(f"[^{_ALLOWED.get(kind, _PLAIN)}]+", "-", wished.lower()).strip("-/._")
    if not plain:
        raise BadName(f"{wished!r} holds no letter or digit that {kind.name} accepts")
    return plain


def _with_hash(kind: Kind, plain: str, parts: tuple[str, ...]) -> str:
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:_HASH]
    return f"{plain[: _LIMIT[kind] - _HASH - 1].strip('-/._')}-{digest}"
