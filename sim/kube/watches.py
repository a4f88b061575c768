"""Watches: a stream of changes from a version on, as JSON lines.

While somebody watches, the world is kept going by the watch itself, so that a change that is due
shows without another request. Must not hold up the loop.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass

from sim.kube.calls import Call
from sim.kube.reads import chosen
from sim.kube.shelf import Change, Entry, Keep, Shelf
from sim.kube.status import ApiError
from sim.world.ground import Verb
from sim.world.twin import Twin

_POLL_S = 0.05
_LONGEST_S = 1800


@dataclass(frozen=True, slots=True)
class _Request:
    keep: Keep
    seen: int
    lasts_s: int


def watch(call: Call, twin: Twin) -> AsyncIterator[bytes]:
    """Lines of a watch until its time is over or the server stops; raises ApiError at once.

    Without a version, or from "0", the objects of now come first as ADDED.
    """
    keep = _keep(call)
    seen = call.number("resourceVersion") or 0
    lasts_s = min(call.number("timeoutSeconds") or _LONGEST_S, _LONGEST_S)
    return _lines(call.cluster.shelf(call.place.kind), twin, _Request(keep, seen, lasts_s))


async def _lines(shelf: Shelf, twin: Twin, request: _Request) -> AsyncIterator[bytes]:
    keep, seen = request.keep, request.seen
    if not seen:
        seen = shelf.latest
        for entry in shelf.entries():
            if keep(entry):
                yield shelf.event(Change(Verb.ADDED, entry, entry.revision))
    loop = asyncio.get_running_loop()
    ends = loop.time() + request.lasts_s
    while loop.time() < ends and not twin.is_stopping:
        twin.catch_up()
        try:
            lines, seen = _news(shelf, seen, keep)
        except ApiError as error:
            yield _error_line(error)
            return
        if lines:
            yield lines
        await asyncio.sleep(_POLL_S)


def _keep(call: Call) -> Keep:
    keep, namespace = chosen(call), call.place.namespace

    def wanted(entry: Entry) -> bool:
        return namespace in ("", entry.draft.namespace) and (keep is None or keep(entry))

    return wanted


def _news(shelf: Shelf, seen: int, keep: Keep) -> tuple[bytes, int]:
    changes = shelf.since(seen)
    if not changes:
        return b"", seen
    return b"".join(shelf.event(change) for change in changes if keep(change.entry)), changes[-1].revision


def _error_line(error: ApiError) -> bytes:
    return json.dumps({"type": "ERROR", "object": error.body}).encode() + b"\n"
