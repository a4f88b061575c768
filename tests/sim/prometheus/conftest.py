"""A served twin and a way to ask its Prometheus face."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.sim.builders import a_job, a_spec, a_world
from tests.sim.serving import Served, Switchboard, served


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks over HTTP."""

    live: Served

    def ask(self, path: str, **parameters: object) -> tuple[int, Any]:
        """Status and body of a GET, as JSON where it is JSON."""
        return self._send(urllib.request.Request(f"{self._url(path)}?{urllib.parse.urlencode(parameters)}"))

    def post(self, path: str, **parameters: object) -> tuple[int, Any]:
        """Like ask, with the parameters as a form."""
        return self._send(urllib.request.Request(self._url(path), urllib.parse.urlencode(parameters).encode()))

    def _url(self, path: str) -> str:
        return f"{self.live.url}/prometheus{path}"

    def _send(self, request: urllib.request.Request) -> tuple[int, Any]:
        try:
            with urllib.request.urlopen(request, timeout=5) as response:
                return response.status, json.loads(response.read())
        except urllib.error.HTTPError as error:
            with error:
                text = error.read().decode()
            return error.code, json.loads(text) if text.startswith("{") else text

    def vector(self, query: str, **parameters: object) -> list[dict[str, Any]]:
        """The rows of an instant query."""
        status, body = self.ask("/api/v1/query", query=query, **parameters)
        assert (status, body["status"], body["data"]["resultType"]) == (200, "success", "vector")
        rows: list[dict[str, Any]] = body["data"]["result"]
        return rows

    def values(self, query: str) -> list[str]:
        """The sample values of an instant query."""
        return [row["value"][1] for row in self.vector(query)]


@pytest.fixture
def asker(board: Switchboard) -> Iterator[Asker]:
    """One busy owned node, one idle, one ACK node still to come, one job that waits."""
    jobs = [a_job("busy", duration_s=3000.0), a_job("gang", gpus=24, submitted_s=1.0, department="production")]
    world = a_world(jobs)
    world.groups.create(a_spec(desired=1))
    with served(board, world) as live:
        live.twin.jump(60.0)
        yield Asker(live)
