"""Settings of all tests: Hypothesis without a time limit, since a busy machine is no defect, and repeatable in CI."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("house", deadline=None, derandomize=bool(os.environ.get("CI")), print_blob=True)
settings.load_profile("house")
