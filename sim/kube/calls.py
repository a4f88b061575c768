"""One call to an API server as plain values, and its answer. No HTTP library here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from sim.kube.cluster import Cluster
from sim.kube.kinds import Place
from sim.kube.status import Json, bad_request, conflict


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """What a client asks. `query` holds the last value of each parameter."""

    cluster: Cluster
    method: str
    place: Place
    query: Mapping[str, str] = field(default_factory=dict)
    content_type: str = ""
    payload: bytes = b""

    def document(self) -> Json:
        """The body as an object; raises ApiError 400."""
        value = self.any_document()
        if not isinstance(value, dict):
            raise bad_request("the body is not an object")
        return value

    def any_document(self) -> object:
        """The body as JSON; an empty one reads as an empty object."""
        if not self.payload.strip():
            return {}
        try:
            return json.loads(self.payload)
        except ValueError as error:
            raise bad_request(f"the body is not JSON: {error}") from error

    def number(self, key: str) -> int | None:
        """A whole number of the query; None when absent."""
        text = self.query.get(key, "")
        if not text:
            return None
        if not text.isdigit():
            raise bad_request(f'invalid value "{text}" for {key}')
        return int(text)

    def flag(self, key: str) -> bool:
        """A true/false parameter of the query."""
        return self.query.get(key, "").lower() in ("1", "true")


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back: JSON, already as bytes."""

    body: bytes
    code: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


def answer(document: Json, code: int = 200) -> Answer:
    """An answer from a document."""
    return Answer(json.dumps(document, separators=(",", ":")).encode(), code)


def check_version(call: Call, document: Json, latest: int, name: str) -> None:
    """A body that carries a resourceVersion must carry the latest one; raises ApiError 409."""
    wanted = str((document.get("metadata") or {}).get("resourceVersion") or "")
    if wanted and wanted != str(latest):
        raise conflict(call.place.kind.resource, name)
