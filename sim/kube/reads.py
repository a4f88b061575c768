"""Get and list, for every kind: selectors, pages, one namespace or all.

Must not change anything.
"""

from __future__ import annotations

import base64
import binascii
import json
from itertools import islice

from sim.kube import kinds, selectors
from sim.kube.calls import Answer, Call
from sim.kube.kinds import Kind
from sim.kube.shelf import Entry, Keep, Shelf
from sim.kube.status import bad_request, expired

_ALWAYS = frozenset({"metadata.name", "metadata.namespace"})
_FIELDS = {
    kinds.NODE: _ALWAYS | {"spec.unschedulable"},
    kinds.POD: _ALWAYS | {"spec.nodeName", "status.phase"},
}


def get_one(call: Call) -> Answer:
    """One object."""
    shelf = call.cluster.shelf(call.place.kind)
    return Answer(shelf.single(shelf.get(call.place.namespace, call.place.name)))


def get_list(call: Call) -> Answer:
    """A list, or a page of it."""
    shelf = call.cluster.shelf(call.place.kind)
    keep = chosen(call)
    limit = call.number("limit")
    if not limit:
        return Answer(shelf.listing(call.place.namespace, keep))
    return _page(call, shelf, keep, limit)


def chosen(call: Call) -> Keep | None:
    """The objects that the selectors of a call want; None for all."""
    labels = selectors.parse_labels(call.query.get("labelSelector", ""))
    fields = selectors.parse_fields(call.query.get("fieldSelector", ""), _known_fields(call.place.kind))
    if not labels and not fields:
        return None

    def keep(entry: Entry) -> bool:
        draft = entry.draft
        values = {"metadata.name": draft.name, "metadata.namespace": draft.namespace, **draft.fields}
        return selectors.matches(labels, draft.labels) and selectors.matches(fields, values)

    return keep


def _known_fields(kind: Kind) -> frozenset[str]:
    return _FIELDS.get(kind, _ALWAYS)


def _page(call: Call, shelf: Shelf, keep: Keep | None, limit: int) -> Answer:
    start = _read_token(call.query.get("continue", ""), shelf)
    rest = (
        entry
        for entry in shelf.entries(call.place.namespace)
        if [entry.draft.namespace, entry.draft.name] > start and (keep is None or keep(entry))
    )
    page = list(islice(rest, limit))
    token = _token(shelf, page[-1]) if next(rest, None) is not None else ""
    return Answer(shelf.join(iter(page), token))


def _token(shelf: Shelf, last: Entry) -> str:
    value = [shelf.latest, last.draft.namespace, last.draft.name]
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode()


def _read_token(text: str, shelf: Shelf) -> list[str]:
    if not text:
        return ["", ""]
    try:
        revision, namespace, name = json.loads(base64.urlsafe_b64decode(text))
    except (ValueError, binascii.Error) as error:
        raise bad_request("continue key is not valid") from error
    if revision != shelf.latest and shelf.since(int(revision)):
        # The real server would serve the old version; the twin keeps none and says so.
        raise expired()
    return [str(namespace), str(name)]
