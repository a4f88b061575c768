"""One launch of one machine: which type in which zone, or why none.

A group tries its types in order and spreads over its zones, fewest first. Must not decide how many
to launch nor when to try again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sim.world import node_names as named
from sim.world import refusals
from sim.world.boot import Boot
from sim.world.faults import FaultKind, Moment, Target
from sim.world.fleet import Fleet
from sim.world.ground import Ground
from sim.world.group_spec import Group, GroupSpec
from sim.world.hardware import Machine, rented_machine
from sim.world.nodes import Node


class Launches:
    """Orders machines for groups."""

    def __init__(self, ground: Ground, fleet: Fleet) -> None:
        self._ground = ground
        self._fleet = fleet
        self._boot = Boot(ground, fleet)

    def launch(self, group: Group) -> refusals.CloudRefusal | None:
        """Order one machine. Gives the last refusal when no type in no zone is to be had."""
        if (refusal := self._over_quota(group)) is not None:
            return refusal
        for instance_type, zone in self._offers(group):
            refusal = self._refusal(group.spec, instance_type, zone, Moment.LAUNCH)
            if refusal is None:
                self._add(group, instance_type, zone)
                return None
        return refusal

    def order_refusal(self, spec: GroupSpec, moment: Moment) -> refusals.CloudRefusal | None:
        """Whether every offer is refused at this moment; the last refusal."""
        refusal = None
        for instance_type in spec.instance_types:
            for zone in spec.zones:
                refusal = self._refusal(spec, instance_type, zone, moment)
                if refusal is None:
                    return None
        return refusal

    def target(self, spec: GroupSpec, instance_type: str, zone: str) -> Target:
        """What a fault may name to hit a launch."""
        row = self._ground.catalog.pools.get(spec.pool)
        return Target(
            pool=spec.pool,
            instance_type=instance_type,
            zone=zone,
            cluster=row.cluster if row else "",
            provider=spec.provider.value,
        )

    def _offers(self, group: Group) -> Iterator[tuple[str, str]]:
        sizes = Counter(node.zone for node in group.standing())
        zones = sorted(group.spec.zones, key=lambda zone: sizes[zone])
        for instance_type in group.spec.instance_types:
            for zone in zones:
                yield instance_type, zone

    def _refusal(self, spec: GroupSpec, instance_type: str, zone: str, moment: Moment) -> refusals.CloudRefusal | None:
        target, now_s = self.target(spec, instance_type, zone), self._ground.now_s
        faults, detail = self._ground.faults, f"{instance_type} in {zone} for {spec.name}"
        quota = faults.match(FaultKind.QUOTA, target, now_s)
        if quota and quota.moment is moment and self._held(spec.pool) >= quota.limit:
            faults.record(quota, now_s, detail)
            return refusals.no_quota(spec.provider, instance_type, quota.limit)
        stock = faults.match(FaultKind.STOCK_OUT, target, now_s)
        if stock and stock.moment is moment:
            faults.record(stock, now_s, detail)
            return refusals.no_stock(spec.provider, instance_type, zone)
        return None

    def _over_quota(self, group: Group) -> refusals.CloudRefusal | None:
        if self._held(group.row.pool) < group.row.quota:
            return None
        first = group.spec.instance_types[0]
        return refusals.no_quota(group.spec.provider, first, int(group.row.quota))

    def _held(self, pool: str) -> int:
        return sum(node.row.pool == pool for node in self._fleet.nodes.values())

    def _add(self, group: Group, instance_type: str, zone: str) -> None:
        machine = rented_machine(group.spec.provider, instance_type)
        if machine is None:
            raise ValueError(f"{instance_type} was checked when the group was made")
        group.launches += 1
        node = self._node(group, machine, zone)
        group.nodes.append(node)
        self._fleet.add(node)
        self._boot.start(node)

    def _node(self, group: Group, machine: Machine, zone: str) -> Node:
        spec, draws = group.spec, self._ground.draws
        key = (group.scaling_group_id, group.launches)
        instance = named.instance_id(draws, spec.provider, spec.region, *key)
        address, name = self._free_name(group, zone, instance)
        labels = named.cloud_labels(group.row, machine, zone, name)
        labels |= named.group_labels(spec.provider, spec.name, group.group_id, is_spot=spec.is_spot)
        return Node(
            name=name,
            instance_id=instance,
            provider_id=named.provider_id(spec.provider, spec.region, zone, instance),
            address=address,
            row=group.row,
            machine=machine,
            zone=zone,
            group_id=group.group_id,
            is_spot=spec.is_spot,
            ordered_s=self._ground.now_s,
            labels=labels | dict(spec.labels),
            taints=list(spec.taints),
        )

    def _free_name(self, group: Group, zone: str, instance: str) -> tuple[str, str]:
        spec, attempt = group.spec, 0
        while True:
            address = named.private_address(
                self._ground.draws, spec.provider, spec.zones.index(zone), instance, attempt
            )
            name = named.node_name(spec.provider, spec.region, address)
            if name not in self._fleet.nodes:
                return address, name
            attempt += 1
