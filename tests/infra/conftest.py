"""The cloud SDKs warn about classes of their own while they are imported; those are not ours to mend."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_alicloud"))
            item.add_marker(pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_aws"))
