"""Brings everything that `make demo` and `make test` need: run `python3 tools/setup.py`.

Standard library only, and this file must parse on older interpreters, so that a wrong one gets a
clear message instead of a syntax error. The work is in tools/toolchain.
"""

import sys

MINIMUM_PYTHON = (3, 11)


def main() -> int:
    if sys.version_info[:2] < MINIMUM_PYTHON:
        found = sys.version.split()[0]
        sys.stderr.write(
            f"error: set-up runs on Python 3.11 or newer, this is {found}\n"
            "  next: run it with a newer one, for instance python3.11 tools/setup.py,\n"
            "        or make setup PYTHON=python3.11\n"
        )
        return 1
    root = __file__.replace("\\", "/").rpartition("/tools/")[0] or ".."
    sys.path.insert(0, root)
    from tools.toolchain.command_line import run

    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
