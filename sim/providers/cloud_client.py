"""The plugin's line to the twin's control plane: one POST per call, refusals as CloudAnswer errors.

Repeats what a real provider repeats (throttling) and nothing else.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

Body = dict[str, Any]
_TIMEOUT_S = 60.0
_TRIES = 5
_FIRST_PAUSE_S = 0.2
_REPEATED = ("Throttling", "RequestLimitExceeded", "ServiceUnavailable")


class TwinAbsent(Exception):
    """There is no twin to talk to."""


class CloudRefused(Exception):
    """The cloud said no. `code` is the cloud's own."""

    def __init__(self, code: str, message: str, status: int) -> None:
        self.code = code
        self.message = message
        self.is_missing = status == 404
        super().__init__(f"{code}: {message}")


@dataclass(frozen=True, slots=True)
class CloudClient:
    """Calls the control plane at `url` with `token`."""

    url: str
    token: str

    @classmethod
    def from_environment(cls) -> CloudClient:
        """The twin that the environment names. Raises TwinAbsent when it names none."""
        url = os.environ.get("SPILLWAY_TWIN_URL", "")
        if not url:
            raise TwinAbsent(
                "this is the twin's plugin and SPILLWAY_TWIN_URL names no twin: start the twin "
                "(spillway twin start), or install the real provider (pulumi plugin install)"
            )
        return cls(url, os.environ.get("SPILLWAY_TWIN_TOKEN", ""))

    def call(self, operation: str, body: Body) -> Body:
        """One operation. Raises CloudRefused or TwinAbsent."""
        pause = _FIRST_PAUSE_S
        for attempt in range(1, _TRIES + 1):
            try:
                return self._post(operation, body)
            except CloudRefused as refused:
                if attempt == _TRIES or not refused.code.startswith(_REPEATED):
                    raise
            time.sleep(pause)
            pause *= 2
        raise AssertionError("the last try returns or raises")

    def _post(self, operation: str, body: Body) -> Body:
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.netloc, timeout=_TIMEOUT_S)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        try:
            path = f"{parts.path.rstrip('/')}/cloud/{operation}"
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise TwinAbsent(f"the twin at {self.url} does not answer ({error}): see 'spillway twin status'") from error
        finally:
            connection.close()
        if response.status >= 400:
            raise CloudRefused(
                str(answer.get("code", response.status)),
                str(answer.get("message", "")),
                response.status,
            )
        return dict(answer)
