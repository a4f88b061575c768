"""Which address block belongs to what: blocks that never overlap each other, the owner's ranges or
the ranges that clouds and container runtimes keep for themselves (R2.1).

Pure: wishes and pins in, blocks out. A pinned block stays where it is; the rest take the first free
place. Must not know a cloud's API.
"""

from __future__ import annotations

import difflib
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

Network = ipaddress.IPv4Network

# Tunnel insides must be link-local on both clouds: a wish says so by this name for `within`.
IN_LINK_LOCAL = "link-local"
LINK_LOCAL = Network("169.254.0.0/16")
# Blocks that no wish may touch. Cluster defaults stand here because a cluster that somebody makes by
# hand with them would collide with ours on the same transit router.
RESERVED: Mapping[str, Network] = MappingProxyType(
    {
        "this host": Network("0.0.0.0/8"),
        "loopback": Network("127.0.0.0/8"),
        "Alibaba Cloud's own services": Network("100.64.0.0/10"),
        "the container runtime's bridge": Network("172.17.0.0/16"),
        "EKS' default services": Network("10.100.0.0/16"),
        "EKS' other default services and ACK's default pods": Network("172.20.0.0/16"),
        "ACK's default services": Network("172.21.0.0/20"),
        "multicast and above": Network("224.0.0.0/3"),
    }
)
# Link-local parts that AWS or Alibaba Cloud refuse as a tunnel's inside.
RESERVED_LINK_LOCAL: Mapping[str, Network] = MappingProxyType(
    {
        "AWS' reserved tunnel insides": Network("169.254.0.0/21"),
        "AWS' time and name servers": Network("169.254.169.0/24"),
        "Alibaba Cloud's reserved tunnel insides": Network("169.254.100.0/22"),
        "link-local service addresses": Network("169.254.255.0/24"),
    }
)
# A range that no owner can use beside Alibaba Cloud, whatever routes say.
_NEVER_ONPREM = "Alibaba Cloud's own services"


class AddressProblem(ValueError):
    """The plan cannot be made; the message names the blocks and what to change."""


@dataclass(frozen=True, slots=True)
class Wish:
    """A block wanted, by name. `within` names the block that must hold it; None is the supernet."""

    name: str
    prefix: int
    within: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddressRequest:
    """Everything a plan depends on. An outer wish stands before those within it."""

    supernet: Network
    onprem: tuple[Network, ...]
    wishes: tuple[Wish, ...]
    pins: Mapping[str, Network]


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """The blocks by name, in the order of the wishes."""

    blocks: Mapping[str, Network]

    def __getitem__(self, name: str) -> Network:
        return self.blocks[name]

    def as_text(self) -> dict[str, str]:
        """The form that `spillway:addresses` holds."""
        return {name: str(block) for name, block in self.blocks.items()}


def plan_addresses(request: AddressRequest) -> AddressPlan:
    """Give each wish a block. Raises AddressProblem with the two blocks that collide."""
    _check_names(request)
    _check_onprem(request)
    parents = {wish.name: wish.within for wish in request.wishes}
    _check_pins(request, parents)
    taken = dict(request.pins)
    for wish in request.wishes:
        if wish.name not in taken:
            taken[wish.name] = _first_free(wish, request, parents, taken)
    return AddressPlan(MappingProxyType({wish.name: taken[wish.name] for wish in request.wishes}))


def _check_names(request: AddressRequest) -> None:
    names = [wish.name for wish in request.wishes]
    for number, wish in enumerate(request.wishes):
        if wish.name in names[:number]:
            raise AddressProblem(f"block '{wish.name}' is asked for twice")
        if wish.within is not None and wish.within not in (*names[:number], IN_LINK_LOCAL):
            raise AddressProblem(f"block '{wish.name}' lies within '{wish.within}', which comes later")
    for name in request.pins:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean '{near[0]}'?" if near else f"known: {', '.join(names)}"
            raise AddressProblem(f"pinned block '{name}' is none of this stack's blocks; {hint}")


def _check_onprem(request: AddressRequest) -> None:
    reserved = RESERVED[_NEVER_ONPREM]
    for block in request.onprem:
        if block.overlaps(reserved):
            raise AddressProblem(
                f"on-prem range {block} overlaps {reserved} ({_NEVER_ONPREM}): "
                "hosts there cannot be reached from that cloud; renumber them or hide them behind NAT"
            )


def _check_pins(request: AddressRequest, parents: Mapping[str, str | None]) -> None:
    seen: dict[str, Network] = {}
    # In the order of the wishes: what is wrong with a block is said before what is wrong inside it.
    for name, block in ((name, request.pins[name]) for name in parents if name in request.pins):
        parent = parents[name]
        if parent in parents and parent not in request.pins:
            raise AddressProblem(f"block '{name}' is pinned, so pin '{parent}', which holds it, too")
        room, label = _room(parent, request.pins, request)
        if not block.subnet_of(room):
            raise AddressProblem(f"pinned block '{name}' {block} lies outside {label} {room}")
        for other, reason in _obstacles(parent, request):
            if block.overlaps(other):
                raise AddressProblem(f"pinned block '{name}' {block} overlaps {reason} {other}")
        for other_name, other in seen.items():
            related = _is_inside(name, other_name, parents) or _is_inside(other_name, name, parents)
            if block.overlaps(other) and not related:
                raise AddressProblem(
                    f"pinned block '{name}' {block} overlaps pinned block '{other_name}' {other}; "
                    "move one of them in 'spillway:addresses'"
                )
        seen[name] = block


def _first_free(
    wish: Wish,
    request: AddressRequest,
    parents: Mapping[str, str | None],
    taken: Mapping[str, Network],
) -> Network:
    room, label = _room(wish.within, taken, request)
    blocked = [block for block, _ in _obstacles(wish.within, request)]
    blocked += [block for name, block in taken.items() if parents[name] == wish.within]
    start = int(room.network_address)
    size = 1 << (32 - wish.prefix)
    while wish.prefix >= room.prefixlen and start + size - 1 <= int(room.broadcast_address):
        candidate = Network((start, wish.prefix))
        hit = next((block for block in blocked if block.overlaps(candidate)), None)
        if hit is None:
            return candidate
        # Jump past the obstacle, up to the next place that such a block may begin at.
        start = -(-(int(hit.broadcast_address) + 1) // size) * size
    raise AddressProblem(
        f"block '{wish.name}' (/{wish.prefix}) finds no free place in {label} {room}; "
        "free a block there, or give a larger range"
    )


def _room(within: str | None, taken: Mapping[str, Network], request: AddressRequest) -> tuple[Network, str]:
    if within == IN_LINK_LOCAL:
        return LINK_LOCAL, "link-local"
    if within is None:
        return request.supernet, "the supernet"
    return taken[within], f"block '{within}'"


def _obstacles(within: str | None, request: AddressRequest) -> list[tuple[Network, str]]:
    if within == IN_LINK_LOCAL:
        return [(block, reason) for reason, block in RESERVED_LINK_LOCAL.items()]
    reserved = [(block, f"the range of {reason}") for reason, block in RESERVED.items()]
    return [*((block, "the on-prem range") for block in request.onprem), *reserved]


def _is_inside(inner: str, outer: str, parents: Mapping[str, str | None]) -> bool:
    parent = parents[inner]
    return parent == outer or (parent in parents and _is_inside(str(parent), outer, parents))
