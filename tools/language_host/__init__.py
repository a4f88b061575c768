"""The Python language host for a Pulumi CLI that was built from Go modules.

The official host is not served by the Go module proxy, so the built CLI would have none. This
package answers the few calls that `pulumi up`, `preview`, `refresh` and `destroy` make, and starts
the program through the SDK's own executor. It decides nothing about it and installs nothing.
"""
