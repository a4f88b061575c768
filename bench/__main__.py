"""`python -m bench [decision|actuation]`: prints a table of what was measured."""

from __future__ import annotations

import platform
import sys

from bench import actuation, decision

_SUITES = {"decision": decision.measure, "actuation": actuation.measure}


def main(names: list[str]) -> int:
    """Run the suites named, or all."""
    if unknown := set(names) - set(_SUITES):
        print(f"no suite {', '.join(unknown)}; there are {', '.join(_SUITES)}", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()}, {platform.machine()}")
    for name in names or _SUITES:
        for what, figure in _SUITES[name]():
            print(f"{name}: {what}: {figure}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
