"""The clouds' control plane: create, read, change and delete any resource that the twin acts out.

The plugins call it over HTTP (routes), tests call it directly. Every refusal is a CloudRefusal.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain

from sim.cloud import alicloud_kinds, aws_kinds, groups, refusals
from sim.cloud.kinds import Kind, Order, check_references, check_unique, referred, values_at
from sim.cloud.mishaps import Mishaps
from sim.cloud.store import Properties, Resource, Store
from sim.world.refusals import CloudRefusal
from sim.world.world import World

KINDS: dict[str, Kind] = {kind.type_name: kind for kind in chain(aws_kinds.KINDS, alicloud_kinds.KINDS)}


@dataclass(slots=True)
class Control:
    """One control plane over one world."""

    world: World
    store: Store = field(default_factory=Store)
    mishaps: Mishaps = field(default_factory=Mishaps)

    def create(self, kind: str, region: str, inputs: Properties, token: str) -> Resource:
        """Make a resource; the same token gives back what it made before."""
        self.mishaps.before("create", kind)
        made = self.store.by_token(token)
        if made is None:
            made = Resource(kind=kind, id="", region=region, inputs=inputs, outputs={}, token=token)
            if kind in groups.GROUP_KINDS:
                groups.create(self.world.groups, self.store, made)
            else:
                self._make(self._kind(kind), made)
            self.store.add(made)
        self.mishaps.after("create", kind)
        return made

    def read(self, kind: str, resource_id: str) -> Resource:
        """A resource as it is now. Refused with the cloud's own code when it is gone."""
        self.mishaps.before("read", kind)
        resource = self._existing(kind, resource_id)
        if kind in groups.GROUP_KINDS:
            group = groups.find(self.world.groups, resource_id)
            if group is None:
                self.store.remove(kind, resource_id)
                raise self._missing(kind, resource_id)
            groups.show(group, resource)
        return resource

    def update(self, kind: str, resource_id: str, inputs: Properties) -> Resource:
        """Change a resource in place."""
        self.mishaps.before("update", kind)
        resource = self._existing(kind, resource_id)
        if kind in groups.GROUP_KINDS:
            groups.update(self.world.groups, self.store, resource, inputs)
        else:
            order = self._order(resource.kind, resource.region, inputs)
            check_references(KINDS[kind], order)
            check_unique(KINDS[kind], order, resource_id)
            resource.inputs = inputs
        self.mishaps.after("update", kind)
        return resource

    def delete(self, kind: str, resource_id: str) -> bool:
        """Delete; True when it is gone, also when it was gone before, False while it still ends."""
        self.mishaps.before("delete", kind)
        resource = self.store.find(kind, resource_id)
        if resource is None:
            return True
        self._refuse_if_used(resource)
        gone = kind not in groups.GROUP_KINDS or groups.delete(self.world.groups, resource_id)
        if gone:
            self.store.remove(kind, resource_id)
        self.mishaps.after("delete", kind)
        return gone

    def vanish(self, kind: str, resource_id: str) -> None:
        """Take a resource away behind everybody's back, as a person in a console would."""
        if self.store.remove(kind, resource_id) is None:
            raise self._missing(kind, resource_id)
        if kind in groups.GROUP_KINDS:
            groups.delete(self.world.groups, resource_id)

    def _make(self, kind: Kind, resource: Resource) -> None:
        order = self._order(kind.type_name, resource.region, resource.inputs)
        check_references(kind, order)
        check_unique(kind, order)
        for check in kind.checks:
            check(order)
        resource.id = kind.make_id(order)
        resource.outputs = kind.outputs(order, resource.id)

    def _order(self, kind: str, region: str, inputs: Properties) -> Order:
        return Order(
            kind=kind,
            region=region,
            inputs=inputs,
            number=self.store.next_number(),
            store=self.store,
            draws=self.world.ground.draws,
        )

    def _refuse_if_used(self, resource: Resource) -> None:
        for other in self.store:
            if other is not resource and self._uses(other, resource):
                kind = KINDS.get(resource.kind)
                code = kind.in_use_code if kind else "ResourceInUseException"
                what = kind.what if kind else "resource"
                raise refusals.still_used(code, what, resource.id, other.id)

    def _uses(self, user: Resource, used: Resource) -> bool:
        if user.kind in groups.GROUP_KINDS:
            return used.id in (user.inputs.get("clusterName"), user.inputs.get("clusterId"))
        return any(
            reference.holds and referred(self.store, reference, value) is used
            for reference in KINDS[user.kind].references
            for value in values_at(user.inputs, reference.path)
        )

    def _kind(self, token: str) -> Kind:
        if token not in KINDS:
            raise refusals.unknown_kind(token)
        return KINDS[token]

    def _existing(self, kind: str, resource_id: str) -> Resource:
        resource = self.store.find(kind, resource_id)
        if resource is None:
            raise self._missing(kind, resource_id)
        return resource

    def _missing(self, kind: str, resource_id: str) -> CloudRefusal:
        if kind in groups.GROUP_KINDS:
            group_kind = groups.GROUP_KINDS[kind]
            return refusals.not_found(group_kind.missing_code, group_kind.what, resource_id)
        own = self._kind(kind)
        return refusals.not_found(own.missing_code, own.what, resource_id)
