"""A dedicated line with both its ends: the cloud's built here, the owner's given out as router settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from infra.alicloud.network import AckNetwork
from infra.aws.network import EksNetwork
from infra.link.line import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class DedicatedLinkArgs:
    """The line and the cloud network that it ends in."""

    line: Line
    network: AckNetwork | EksNetwork
    tags: Mapping[str, str]


class DedicatedLink(pulumi.ComponentResource):
    """The line itself is an existing connection, named by its id: ordering one takes weeks."""

    onprem_router: Mapping[str, pulumi.Input[object]]

    def __init__(self, name: str, args: DedicatedLinkArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("spillway:link:DedicatedLink", name, None, opts)
        if not args.line.cloud.link.has_bgp_key:
            pulumi.log.warn(
                f"the BGP session of {args.line.cloud.link.connection_id} has no password of yours; "
                "set one: pulumi config set --secret --path "
                f"'spillway:{args.line.cloud.provider}.link.bgp_key'",
                resource=self,
            )
        if isinstance(args.network, AckNetwork):
            from infra.link.express_connect import build_express_connect

            build_express_connect(self, args.line, args.network, args.tags)
        else:
            from infra.link.direct_connect import build_direct_connect

            build_direct_connect(self, args.line, args.network)
        self.onprem_router = args.line.onprem_router()
        self.register_outputs({"onpremRouter": dict(self.onprem_router)})
