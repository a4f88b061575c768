"""The listener that all tests of the twin's faces share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.sim.serving import Switchboard, listening


@pytest.fixture(scope="session")
def board() -> Iterator[Switchboard]:
    """One HTTP server for the session."""
    with listening() as board:
        yield board
