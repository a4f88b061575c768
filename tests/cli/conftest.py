"""One socket for all commands of the session, and a fresh project for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.site import Site, make_site
from tests.sim.wire_server import WireServer, serve


@pytest.fixture(scope="session")
def server() -> Iterator[WireServer]:
    """A server that shows one world after another."""
    with serve() as started:
        yield started


@pytest.fixture
def site(
    tmp_path: Path, server: WireServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Site:
    """The current folder is a project on a twin."""
    return make_site(tmp_path, server, monkeypatch, capsys)


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder is empty, and no variable points anywhere."""
    for name in ("SPILLWAY_PROJECT_DIR", "SPILLWAY_LEDGER", "SPILLWAY_PROMETHEUS_URL", "SPILLWAY_CLUSTERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path
