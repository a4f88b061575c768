"""Makes the SDK's gRPC stubs importable without running `pulumi/__init__`, which costs 0.3 s.

Call `mount` before the first import of a stub, in a process that never wants the SDK itself.
"""

from __future__ import annotations

import importlib.machinery
import sys
from pathlib import Path
from types import ModuleType

_PACKAGES = ("pulumi", "pulumi.runtime", "pulumi.runtime.proto", "pulumi.runtime.proto.codegen")


class SdkNotInstalled(Exception):
    """The interpreter that runs the plugin has no Pulumi SDK."""


def mount() -> None:
    """Put empty packages in place of those that would import the whole SDK."""
    if "pulumi" in sys.modules:
        return
    spec = importlib.machinery.PathFinder.find_spec("pulumi", sys.path)
    if spec is None or spec.origin is None:
        raise SdkNotInstalled(f"no Pulumi SDK in {sys.prefix}; run set-up, which installs it")
    site = Path(spec.origin).parent.parent
    for name in _PACKAGES:
        shell = ModuleType(name)
        shell.__path__ = [str(site.joinpath(*name.split(".")))]
        sys.modules[name] = shell
