"""A program that asks for one resource with any inputs at all, right or wrong."""

from __future__ import annotations

import pulumi

config = pulumi.Config("probe")
package, _, _ = config.require("type").partition(":")
provider = pulumi.ProviderResource(
    package, package, {"region": config.require("region")}, pulumi.ResourceOptions(version=config.require("version"))
)
pulumi.CustomResource(
    config.require("type"),
    "probe",
    config.require_object("inputs"),
    pulumi.ResourceOptions(provider=provider, version=config.require("version")),
)
