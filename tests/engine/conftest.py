"""One built-out project for all tests of the engine: it costs three seconds and no test spoils it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.engine.workbench import Workbench, workbench

HERE = Path(__file__).parent
BURST = {"aws": "burst-aws", "alicloud": "burst-alicloud"}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.engine)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    """Foundation and both burst stacks, up, with no node. A test leaves it as it found it."""
    with workbench(tmp_path_factory.mktemp("built")) as bench:
        for stack in ("foundation", *BURST.values()):
            assert bench.pulumi("stack", "init", stack).code == 0
            done = bench.up(stack)
            assert done.code == 0, done.output
        yield bench
