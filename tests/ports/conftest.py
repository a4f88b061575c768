"""The engine's bench for the suite over stack drivers; the other suites bring their own servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.incidents.engine_bench import Driven, built_bench


@pytest.fixture
def driven(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    """The agent's driver on a built-out project; set back to zero nodes after each test."""
    made = Driven(built_bench(request.config, tmp_path_factory))
    yield made
    made.set_back()
