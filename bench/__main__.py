"""`python -m bench [decision|placement|actuation|replay|million|optimum]`: prints a table of what was measured."""

from __future__ import annotations

import platform
import sys

from bench import actuation, decision, million, optimum, placement, replay

_SUITES = {
    "decision": decision.measure,
    "placement": placement.measure,
    "actuation": actuation.measure,
    "replay": replay.measure,
    "million": million.measure,
    "optimum": optimum.measure,
}
# These take ten minutes each: only when they are named.
_SLOW = ("million", "optimum")


def main(names: list[str]) -> int:
    """Run the suites named, or all."""
    if unknown := set(names) - set(_SUITES):
        print(f"no suite {', '.join(unknown)}; there are {', '.join(_SUITES)}", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()}, {platform.machine()}")
    for name in names or [suite for suite in _SUITES if suite not in _SLOW]:
        for what, figure in _SUITES[name]():
            print(f"{name}: {what}: {figure}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
