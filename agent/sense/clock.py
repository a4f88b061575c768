"""Clocks: the machine's, and one that is read over HTTP for rehearsals that run faster than time."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import urllib3

from agent.errors import SignalUnavailable


class SystemClock:
    """The machine's clock, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class HttpClock:
    """A clock whose time is the field `now` (ISO 8601 with zone) of a JSON answer."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._http = urllib3.PoolManager(retries=1)

    def now(self) -> datetime:
        """Raises SignalUnavailable: without the time nothing can be judged."""
        try:
            answer = self._http.request("GET", self._url, timeout=5.0)
            now = datetime.fromisoformat(json.loads(answer.data)["now"])
        except (urllib3.exceptions.HTTPError, OSError, ValueError, KeyError, TypeError) as error:
            hint = "start what serves it, or unset SPILLWAY_CLOCK_URL to use the machine's clock"
            raise SignalUnavailable("gave no time", target=f"clock {self._url}", hint=hint) from error
        if now.tzinfo is None:
            hint = "it must give a time with its zone"
            raise SignalUnavailable("gave a time without zone", target=f"clock {self._url}", hint=hint)
        return now
