"""A typed client of the twin's control door, for the demo, the front door and the tests.

Standard library only. Must not be used by the agent.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from contract.units import Money, parse_money

Json = dict[str, Any]


class TwinUnreachable(Exception):
    """Nobody answers where the twin should be."""


class TwinRefused(Exception):
    """The twin answers and says no; the text says why."""


@dataclass(frozen=True, slots=True)
class TwinAddress:
    """What a port file says. `tokens` open the clusters' APIs, `token` the clouds' doors."""

    url: str
    pid: int
    token: str
    tokens: Mapping[str, str]

    def kubernetes(self, cluster: str) -> str:
        """The address of a cluster's API server."""
        return f"{self.url}/k8s/{cluster}"

    @property
    def prometheus(self) -> str:
        """The address of Prometheus."""
        return f"{self.url}/prometheus"


@dataclass(frozen=True, slots=True)
class ClockReading:
    """The virtual time."""

    now: datetime
    seconds: float
    speed: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TwinResults:
    """The figures that the demo shows; `document` holds the whole answer."""

    jobs_total: int
    jobs_finished: int
    jobs_lost: int
    nodes_bought: int
    nodes_left: int
    cloud_cost: Money
    local_use: float | None
    cloud_use: float | None
    document: Json


def read_address(port_file: Path) -> TwinAddress | None:
    """The twin of a port file; None while there is no such file."""
    try:
        document = json.loads(port_file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return TwinAddress(document["url"], document["pid"], document["token"], document["tokens"])


class TwinClient:
    """One connection, kept alive."""

    def __init__(self, url: str, timeout_s: float = 10.0) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=timeout_s)

    def __enter__(self) -> TwinClient:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let the connection go."""
        self._connection.close()

    def clock(self) -> ClockReading:
        """The virtual time of now."""
        return _reading(self._call("GET", "/twin/clock"))

    def jump(self, seconds: float) -> ClockReading:
        """Move the virtual time forward; all that is due happens before this returns."""
        return _reading(self._call("POST", "/twin/clock/jump", {"seconds": seconds}))

    def status(self) -> Json:
        """Nodes by pool and phase, groups, jobs, money."""
        return self._call("GET", "/twin/status")

    def results(self) -> TwinResults:
        """The figures so far."""
        document = self._call("GET", "/twin/results")
        return TwinResults(
            jobs_total=document["jobs_total"],
            jobs_finished=document["jobs_finished"],
            jobs_lost=document["jobs_lost"],
            nodes_bought=document["nodes_bought"],
            nodes_left=document["nodes_left"],
            cloud_cost=parse_money(document["cloud_cost"]),
            local_use=document["local"]["use"],
            cloud_use=document["cloud"]["use"],
            document=document,
        )

    def timeline(self) -> list[Json]:
        """Samples each 30 virtual seconds."""
        samples: list[Json] = self._call("GET", "/twin/timeline")["samples"]
        return samples

    def jobs(self) -> list[Json]:
        """Each job with its wait, start, end and place."""
        jobs: list[Json] = self._call("GET", "/twin/jobs")["jobs"]
        return jobs

    def bill(self) -> Json:
        """Each node's charge and the total."""
        return self._call("GET", "/twin/bill")

    def faults(self) -> Json:
        """Armed faults and those that fired."""
        return self._call("GET", "/twin/faults")

    def arm(self, *faults: Json) -> list[str]:
        """Arm faults from now on; gives their names."""
        names: list[str] = self._call("POST", "/twin/faults", {"faults": list(faults)})["armed"]
        return names

    def shutdown(self) -> None:
        """Ask the twin to end."""
        self._call("POST", "/twin/shutdown")

    def _call(self, method: str, path: str, body: Json | None = None) -> Json:
        payload = json.dumps(body).encode() if body is not None else None
        try:
            self._connection.request(method, path, payload, {"Content-Type": "application/json"})
            response = self._connection.getresponse()
            text = response.read()
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            place = f"{self._connection.host}:{self._connection.port}"
            raise TwinUnreachable(f"no twin answers at {place}: {error}; start one") from error
        try:
            document: Json = json.loads(text)
        except ValueError as error:
            raise TwinRefused(f"{method} {path}: HTTP {response.status}, not JSON") from error
        if response.status != 200:
            raise TwinRefused(f"{method} {path}: {document.get('error', document)}")
        return document


def _reading(document: Json) -> ClockReading:
    return ClockReading(datetime.fromisoformat(document["now"]), document["seconds"], document["speed"])
