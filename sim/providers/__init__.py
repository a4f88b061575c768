"""Pulumi plugins of the twin: `pulumi-resource-aws` and `pulumi-resource-alicloud`.

They check inputs as the real ones do and hand each call to the twin's control plane; they keep no
state. A plugin must start fast: nothing here imports the Pulumi SDK in the plugin's own process.
"""
