"""Objects of one kind in one cluster, kept as the bytes that go over the wire.

An object is turned into bytes once per change; a list joins them. Each change gets the cluster's
next resourceVersion and is kept for watches, up to a bound. Must not know what an object means.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from uuid import NAMESPACE_URL, uuid5

from sim.kube import status
from sim.kube.kinds import Kind
from sim.kube.status import Json
from sim.world.ground import Verb

Key = tuple[str, str]
Keep = Callable[["Entry"], bool]
_HISTORY = 4096


@dataclass(slots=True)
class Revisions:
    """The cluster's counter of changes; what resourceVersion counts."""

    latest: int = 1000

    def next(self) -> int:
        """One change more."""
        self.latest += 1
        return self.latest


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """An object before it has a version. `fields` answer field selectors."""

    name: str
    namespace: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    created: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)
    body: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Entry:
    """An object as stored: `data` is its JSON without kind and apiVersion, as in a list."""

    draft: Draft
    revision: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """One event of a watch."""

    verb: Verb
    entry: Entry
    revision: int


class Shelf:
    """All objects of one kind in one cluster."""

    def __init__(self, kind: Kind, cluster: str, revisions: Revisions) -> None:
        self.kind = kind
        self._cluster = cluster
        self._revisions = revisions
        self._entries: dict[Key, Entry] = {}
        self._sorted: list[Entry] | None = None
        self._all: bytes | None = None
        self.changes: deque[Change] = deque(maxlen=_HISTORY)
        self._head = f'{{"kind":"{kind.kind}","apiVersion":"{kind.api_version}",'.encode()

    def __len__(self) -> int:
        return len(self._entries)

    def put(self, draft: Draft) -> Entry:
        """Store a new object or a new state of one."""
        key = (draft.namespace, draft.name)
        verb = Verb.MODIFIED if key in self._entries else Verb.ADDED
        entry = self._entry(draft)
        self._entries[key] = entry
        self._changed(verb, entry)
        return entry

    def remove(self, namespace: str, name: str) -> Entry | None:
        """Take an object out; gives its last state, with the version of its deletion."""
        last = self._entries.pop((namespace, name), None)
        if last is None:
            return None
        entry = self._entry(last.draft)
        self._changed(Verb.DELETED, entry)
        return entry

    def find(self, namespace: str, name: str) -> Entry | None:
        """One object, or None."""
        return self._entries.get((namespace, name))

    def get(self, namespace: str, name: str) -> Entry:
        """One object; raises ApiError 404."""
        entry = self.find(namespace, name)
        if entry is None:
            raise status.not_found(self.kind.resource, self.kind.group, name)
        return entry

    def entries(self, namespace: str = "") -> Iterator[Entry]:
        """Objects in the order of their keys; of one namespace when given."""
        if self._sorted is None:
            self._sorted = [self._entries[key] for key in sorted(self._entries)]
        return (entry for entry in self._sorted if namespace in ("", entry.draft.namespace))

    def single(self, entry: Entry) -> bytes:
        """The JSON of one object on its own."""
        return self._head + entry.data[1:]

    def listing(self, namespace: str = "", keep: Keep | None = None) -> bytes:
        """The JSON of a list."""
        if namespace or keep is not None:
            chosen = self.entries(namespace)
            return self.join(entry for entry in chosen if keep is None or keep(entry))
        if self._all is None:
            self._all = b",".join(entry.data for entry in self.entries())
        return self._wrap(self._all)

    def join(self, entries: Iterator[Entry], following: str = "") -> bytes:
        """The JSON of a list of these objects; `following` is the token of the next page."""
        return self._wrap(b",".join(entry.data for entry in entries), following)

    def event(self, change: Change) -> bytes:
        """One line of a watch."""
        return b'{"type":"%b","object":%b}\n' % (change.verb.encode(), self.single(change.entry))

    def since(self, revision: int) -> list[Change]:
        """Changes after a version, oldest first; raises ApiError 410 when some are forgotten."""
        if len(self.changes) == _HISTORY and revision < self.changes[0].revision - 1:
            raise status.expired()
        newer = []
        for change in reversed(self.changes):
            if change.revision <= revision:
                break
            newer.append(change)
        return newer[::-1]

    @property
    def latest(self) -> int:
        """The cluster's latest version."""
        return self._revisions.latest

    def _wrap(self, items: bytes, following: str = "") -> bytes:
        more = f',"continue":"{following}"' if following else ""
        head = f'{{"kind":"{self.kind.kind}List","apiVersion":"{self.kind.api_version}",'
        head += f'"metadata":{{"resourceVersion":"{self._revisions.latest}"{more}}},"items":['
        return head.encode() + items + b"]}"

    def _changed(self, verb: Verb, entry: Entry) -> None:
        self._sorted = self._all = None
        self.changes.append(Change(verb, entry, entry.revision))

    def _entry(self, draft: Draft) -> Entry:
        revision = self._revisions.next()
        metadata: Json = {
            "name": draft.name,
            "uid": self._uid(draft),
            "resourceVersion": str(revision),
            "creationTimestamp": draft.created,
        }
        if draft.namespace:
            metadata["namespace"] = draft.namespace
        if draft.labels:
            metadata["labels"] = dict(draft.labels)
        if draft.annotations:
            metadata["annotations"] = dict(draft.annotations)
        whole = {"metadata": metadata | draft.metadata, **draft.body}
        return Entry(draft, revision, json.dumps(whole, separators=(",", ":")).encode())

    def _uid(self, draft: Draft) -> str:
        key = (self._cluster, self.kind.plural, draft.namespace, draft.name, draft.created)
        return str(uuid5(NAMESPACE_URL, "/".join(key)))
