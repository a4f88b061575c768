"""Create, replace, patch and delete the kinds that live in the face only: leases and budgets.

Optimistic locking as on the real server: a lease cannot be updated without the resourceVersion that
it has now, so that two holders can never both win. Must not touch the world.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace

from sim.kube import budgets, kinds
from sim.kube import status as says
from sim.kube.calls import Answer, Call, answer, check_version
from sim.kube.patches import apply_patch
from sim.kube.shelf import Draft, Entry, Shelf
from sim.kube.status import Json

_NAME = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


def create(call: Call) -> Answer:
    """A new object; 409 when the name is taken."""
    document = call.document()
    draft = _draft(call, document, call.cluster.stamp_now())
    if not _NAME.fullmatch(draft.name):
        raise says.invalid(
            call.place.kind.kind, draft.name, "metadata.name", "a lowercase RFC 1123 subdomain is needed"
        )
    shelf = _shelf(call)
    if shelf.find(draft.namespace, draft.name):
        raise says.already_exists(call.place.kind.resource, draft.name)
    return _shown(call, shelf.put(draft), 201)


def put(call: Call) -> Answer:
    """A whole new state; a lease that does not exist is made, as the real server does."""
    document, shelf = call.document(), _shelf(call)
    old = shelf.find(call.place.namespace, call.place.name)
    if old is None and call.place.kind is kinds.LEASE:
        return _shown(call, shelf.put(_draft(call, document, call.cluster.stamp_now())), 201)
    old = old or shelf.get(call.place.namespace, call.place.name)
    if not (document.get("metadata") or {}).get("resourceVersion"):
        field, message = "metadata.resourceVersion", "Invalid value: 0: must be specified for an update"
        raise says.invalid(call.place.kind.kind, call.place.name, field, message)
    return _store(call, old, document)


def patch(call: Call) -> Answer:
    """A change of an object."""
    shelf = _shelf(call)
    old = shelf.get(call.place.namespace, call.place.name)
    document = apply_patch(json.loads(shelf.single(old)), call.any_document(), call.content_type)
    return _store(call, old, document)


def delete(call: Call) -> Answer:
    """Take an object away, if its version is the one that the caller names."""
    shelf = _shelf(call)
    entry = shelf.get(call.place.namespace, call.place.name)
    wanted = (call.document().get("preconditions") or {}).get("resourceVersion")
    if wanted and wanted != str(entry.revision):
        raise says.conflict(call.place.kind.resource, call.place.name)
    shelf.remove(call.place.namespace, call.place.name)
    details = {"name": call.place.name, "kind": call.place.kind.plural, "group": call.place.kind.group}
    return answer(says.success(details))


def list_budgets(call: Call, keep: object) -> Answer:
    """Budgets are few and their status moves with the pods: made anew for each answer."""
    shelf = _shelf(call)
    items = [
        budgets.with_status(call.cluster, entry)
        for entry in shelf.entries(call.place.namespace)
        if not callable(keep) or keep(entry)
    ]
    kind = call.place.kind
    metadata = {"resourceVersion": str(shelf.latest)}
    return answer({"kind": f"{kind.kind}List", "apiVersion": kind.api_version, "metadata": metadata, "items": items})


def get_budget(call: Call) -> Answer:
    """One budget with its status of now."""
    return _shown(call, _shelf(call).get(call.place.namespace, call.place.name), 200)


def _store(call: Call, old: Entry, document: Json) -> Answer:
    check_version(call, document, old.revision, call.place.name)
    return _shown(call, _shelf(call).put(_draft(call, document, old.draft.created)), 200)


def _draft(call: Call, document: Json, created: str) -> Draft:
    kind, metadata = call.place.kind, document.get("metadata") or {}
    for key, value in (("kind", kind.kind), ("apiVersion", kind.api_version)):
        if document.get(key, value) != value:
            raise says.bad_request(f"{key} {document[key]!r} does not match the URL, which wants {value!r}")
    name = str(metadata.get("name") or call.place.name)
    if call.place.name and name != call.place.name:
        raise says.bad_request("the name of the object does not match the name on the URL")
    if metadata.get("namespace", call.place.namespace) != call.place.namespace:
        raise says.bad_request("the namespace of the object does not match the namespace on the request")
    draft = Draft(
        name=name,
        namespace=call.place.namespace,
        labels=metadata.get("labels") or {},
        annotations=metadata.get("annotations") or {},
        created=created,
        body={"spec": document.get("spec") or {}},
    )
    if kind is kinds.LEASE:
        _check_lease(draft)
    else:
        budgets.check_budget(draft)
    return draft


def _check_lease(draft: Draft) -> None:
    spec = draft.body["spec"]
    duration, moves = spec.get("leaseDurationSeconds"), spec.get("leaseTransitions")
    if duration is not None and (not isinstance(duration, int) or duration <= 0):
        raise says.invalid("Lease", draft.name, "spec.leaseDurationSeconds", "must be greater than 0")
    if moves is not None and (not isinstance(moves, int) or moves < 0):
        raise says.invalid("Lease", draft.name, "spec.leaseTransitions", "must be greater than or equal to 0")


def _shelf(call: Call) -> Shelf:
    return call.cluster.shelf(call.place.kind)


def _shown(call: Call, entry: Entry, code: int) -> Answer:
    kind = call.place.kind
    if kind is kinds.BUDGET:
        head = {"kind": kind.kind, "apiVersion": kind.api_version}
        return answer(head | budgets.with_status(call.cluster, entry), code)
    return replace(Answer(_shelf(call).single(entry)), code=code)
