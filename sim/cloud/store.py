"""What exists in a cloud: resources by type and id, with what was asked for and what came of it.

Must not know any type; the rules of types stand in kinds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

# JSON as the plugins send it: the shape of each type is the business of its kind.
Properties = dict[str, Any]


@dataclass(slots=True, kw_only=True)
class Resource:
    """One thing in the cloud. `token` names the call that made it, so that a lost answer can be found."""

    kind: str
    id: str
    region: str
    inputs: Properties
    outputs: Properties
    token: str = ""


@dataclass(slots=True)
class Store:
    """All resources, in the order of their making."""

    _resources: dict[tuple[str, str], Resource] = field(default_factory=dict)
    _made: int = 0

    def add(self, resource: Resource) -> None:
        """Remember a new resource."""
        self._resources[resource.kind, resource.id] = resource

    def find(self, kind: str, resource_id: str) -> Resource | None:
        """One resource by its type and id."""
        return self._resources.get((kind, resource_id))

    def by_token(self, token: str) -> Resource | None:
        """What an earlier call with the same token made."""
        return next((item for item in self if token and item.token == token), None)

    def of_kind(self, kind: str) -> list[Resource]:
        """All of a type, oldest first."""
        return [item for item in self if item.kind == kind]

    def remove(self, kind: str, resource_id: str) -> Resource | None:
        """Forget a resource; None when it was not there."""
        return self._resources.pop((kind, resource_id), None)

    def next_number(self) -> int:
        """Counts the resources ever made: no id comes twice."""
        self._made += 1
        return self._made

    def __iter__(self) -> Iterator[Resource]:
        return iter(tuple(self._resources.values()))
