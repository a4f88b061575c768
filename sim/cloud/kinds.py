"""How one type of resource behaves in its cloud: its id, its references, its names, its outputs.

A type is a value of Kind; the tables stand in aws_kinds and alicloud_kinds. Node groups and pools
are not here: see groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from sim.cloud import refusals
from sim.cloud.store import Properties, Resource, Store
from sim.world.draws import Draws

ACCOUNT = "012345678912"
ALICLOUD_ACCOUNT = "1098765432109876"


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A call that makes or changes a resource, with what its kind may look at."""

    kind: str
    region: str
    inputs: Properties
    number: int
    store: Store
    draws: Draws

    def text(self, name: str) -> str:
        """An input as text; empty when absent."""
        value = self.inputs.get(name)
        return "" if value is None else str(value)

    def hexadecimal(self, length: int, *key: object) -> str:
        """Digits of this resource's own."""
        return self.draws.hexadecimal(length, self.kind, self.number, *key)

    def token(self, length: int, *key: object) -> str:
        """Letters and digits of this resource's own."""
        return self.draws.token(length, self.kind, self.number, *key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """An input that names other resources. `path` goes through objects and lists by dots.

    `kind` may hold several types with a space between.
    """

    path: str
    kind: str
    code: str
    what: str
    by: str = "id"
    # Whether the thing referred to cannot be deleted before this one.
    holds: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One type."""

    type_name: str
    what: str
    make_id: Callable[[Order], str]
    outputs: Callable[[Order, str], Properties] = lambda _order, _id: {}
    references: tuple[Reference, ...] = ()
    checks: tuple[Callable[[Order], None], ...] = ()
    # Inputs that must differ from those of every other resource of the type, and the code if not.
    unique: tuple[str, ...] = ()
    taken_code: str = ""
    in_use_code: str = "DependencyViolation"
    missing_code: str = "ResourceNotFoundException"


def values_at(inputs: object, path: str) -> Iterator[str]:
    """All texts at a path such as `vpcConfig.subnetIds` or `zoneMappings.vswitchId`."""
    if isinstance(inputs, list):
        for item in inputs:
            yield from values_at(item, path)
    elif not path:
        if isinstance(inputs, str):
            yield inputs
    elif isinstance(inputs, dict):
        head, _, rest = path.partition(".")
        yield from values_at(inputs.get(head), rest)


def referred(store: Store, reference: Reference, value: str) -> Resource | None:
    """The resource that a value names."""
    for kind in reference.kind.split():
        for item in store.of_kind(kind):
            if (item.id if reference.by == "id" else field(item, reference.by)) == value:
                return item
    return None


def field(resource: Resource, name: str) -> Any:
    """A property as the cloud shows it: what came of it, else what was asked for."""
    return resource.outputs.get(name, resource.inputs.get(name))


def check_references(kind: Kind, order: Order) -> None:
    """Refuse an order that names what does not exist."""
    for reference in kind.references:
        for value in values_at(order.inputs, reference.path):
            if referred(order.store, reference, value) is None:
                raise refusals.not_found(reference.code, reference.what, value)


def check_unique(kind: Kind, order: Order, own_id: str = "") -> None:
    """Refuse a name that another resource of the type has."""
    if not kind.unique:
        return
    wanted = [order.inputs.get(name) for name in kind.unique]
    for other in order.store.of_kind(kind.type_name):
        if other.id != own_id and [other.inputs.get(name) for name in kind.unique] == wanted:
            raise refusals.already_exists(kind.taken_code, kind.what, order.text(kind.unique[-1]))
