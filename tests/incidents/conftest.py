"""One socket for all worlds of the session, and the hand that sets a stage."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.incidents.engine_bench import Driven, built_bench
from tests.incidents.stage import StageHand, lend_keys
from tests.sim.wire_server import WireServer, serve


@pytest.fixture(scope="session")
def server() -> Iterator[WireServer]:
    """A server that shows one world after another."""
    with serve() as started:
        yield started


@pytest.fixture
def hand(server: WireServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StageHand:
    """Sets a stage up."""
    lend_keys(monkeypatch)
    return StageHand(server, tmp_path)


@pytest.fixture
def driven(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    """The agent's driver on a built-out project; set back to zero nodes after each test."""
    made = Driven(built_bench(request.config, tmp_path_factory))
    yield made
    made.set_back()
