"""What both clouds' lines have in common: the numbers of its two ends and the on-prem router's part.

Pure but for the secret key, which stays an Output.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from contract.stack_config import CloudConfig, OnPremNetwork
from infra.address_plan import Network


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One ordered line with its BGP session: addresses, numbers, VLAN and the session's password."""

    cloud: CloudConfig
    onprem: OnPremNetwork
    addresses: Network
    vpc_block: Network
    bgp_key: pulumi.Output[str] | None

    @property
    def name(self) -> str:
        """The name of everything that belongs to the line."""
        return f"link-{self.cloud.provider}"

    @property
    def cloud_address(self) -> ipaddress.IPv4Address:
        """The cloud's end of the line."""
        return self.addresses[1]

    @property
    def onprem_address(self) -> ipaddress.IPv4Address:
        """The owner's end of the line."""
        return self.addresses[2]

    def onprem_router(self) -> Mapping[str, pulumi.Input[object]]:
        """All that the owner's router needs; a person or a network tool enters it there."""
        line = self.cloud.link
        return {
            "connection": line.connection_id,
            "vlan": line.vlan,
            "bandwidthMbps": int(line.bandwidth),
            "localAddress": self._with_prefix(self.onprem_address),
            "peerAddress": str(self.cloud_address),
            "localAsn": self.onprem.asn,
            "peerAsn": self.cloud.asn,
            "bfd": {"intervalMs": BFD_INTERVAL_MS, "multiplier": BFD_MULTIPLIER},
            "announce": [str(block) for block in self.onprem.ranges],
            "expect": [str(self.vpc_block)],
            "bgpKey": self.bgp_key,
        }

    def cloud_cidr(self) -> str:
        """The cloud's end with its prefix."""
        return self._with_prefix(self.cloud_address)

    def onprem_cidr(self) -> str:
        """The owner's end with its prefix."""
        return self._with_prefix(self.onprem_address)

    def _with_prefix(self, address: ipaddress.IPv4Address) -> str:
        return f"{address}/{self.addresses.prefixlen}"


# Three missed packets of 300 ms: a dead line is known after 0.9 s instead of BGP's 90 s.
BFD_INTERVAL_MS = 300
BFD_MULTIPLIER = 3
