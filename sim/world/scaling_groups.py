"""Node groups and pools as the clouds run them: orders, launches, refusals, shrinking, protection.

Callers are the provider plugins and the clouds' wire faces. A stock-out hits either in the answer
(CloudRefusal) or later, as a failed activity, as it does on EC2 Auto Scaling and on ESS: there the
group keeps its desired size and tries again. A group never looks at what runs on its nodes. Must
not know Kubernetes, jobs or wire formats.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from contract.catalog import Provider
from sim.world import node_names as named
from sim.world import refusals
from sim.world.faults import FaultKind, Moment
from sim.world.fleet import Fleet
from sim.world.ground import Ground
from sim.world.group_spec import Activity, ActivityKind, Group, GroupSpec
from sim.world.launches import Launches
from sim.world.nodes import LossCause, Node, Phase
from sim.world.pricing import row_of
from sim.world.victims import choose_victims

_FIRST_RETRY_S, _LAST_RETRY_S = 60.0, 300.0
_DRAIN_S = (30.0, 90.0)
AZ_REBALANCE = "AZRebalance"


class ScalingGroups:
    """All groups of all clouds. Every method may raise CloudRefusal."""

    def __init__(self, ground: Ground, fleet: Fleet) -> None:
        self._ground = ground
        self._fleet = fleet
        self._launches = Launches(ground, fleet)
        self._groups: dict[str, Group] = {}
        self._made = 0
        fleet.followers.append(self._follow)

    # ---- what callers ask ----

    def groups(self, provider: Provider | None = None, cluster: str = "") -> tuple[Group, ...]:
        """Groups in the order of their creation, those being deleted included."""
        return tuple(
            group
            for group in self._groups.values()
            if provider in (None, group.spec.provider) and cluster in ("", group.spec.cluster)
        )

    def group(self, group_id: str) -> Group:
        """One group by its own id or by the id of its scaling group."""
        for group in self._groups.values():
            if group_id in (group.group_id, group.scaling_group_id):
                return group
        raise refusals.no_such_group(_provider_of(group_id), group_id)

    def find(self, provider: Provider, cluster: str, name: str) -> Group | None:
        """A group by cluster and name; None when there is none."""
        for group in self._groups.values():
            spec = group.spec
            if (spec.provider, spec.cluster, spec.name) == (provider, cluster, name):
                return group
        return None

    def instances(self, group_id: str) -> tuple[Node, ...]:
        """The machines of a group, those on their way out included, oldest first."""
        return self.group(group_id).present()

    def activities(self, group_id: str) -> tuple[Activity, ...]:
        """What the scaling group tried, oldest first."""
        return tuple(self.group(group_id).activities)

    # ---- what callers do ----

    def create(self, spec: GroupSpec) -> Group:
        """Make a group and order its first nodes."""
        self._check_throttle(spec)
        if self.find(spec.provider, spec.cluster, spec.name):
            raise refusals.group_exists(spec.provider, spec.cluster, spec.name)
        row = row_of(self._ground.catalog, spec)
        self._check_size(spec, spec.desired)
        self._check_order(spec, spec.desired)
        number = self._made = self._made + 1
        draws, key = self._ground.draws, (spec.cluster, spec.name, number)
        group = Group(
            group_id=named.group_id(draws, spec.provider, *key),
            scaling_group_id=named.scaling_group_id(draws, spec.provider, spec.region, *key),
            spec=spec,
            row=row,
            created_s=self._ground.now_s,
        )
        self._groups[group.group_id] = group
        self._reconcile(group)
        return group

    def update(self, group_id: str, spec: GroupSpec) -> Group:
        """Put a new description in place; labels and taints reach the nodes that stand already."""
        group = self._open_group(group_id)
        old = group.spec
        if (spec.provider, spec.cluster, spec.name) != (old.provider, old.cluster, old.name):
            raise ValueError("provider, cluster and name of a group never change")
        self._check_size(spec, spec.desired)
        self._check_order(spec, spec.desired - len(group.standing()))
        group.row = row_of(self._ground.catalog, spec)
        group.spec = spec
        for node in group.standing():
            self._relabel(node, old, spec)
        self._reconcile(group)
        return group

    def set_desired(self, group_id: str, desired: int) -> None:
        """Ask for a size; growing orders nodes, shrinking lets the cloud choose victims."""
        group = self._open_group(group_id)
        self._check_size(group.spec, desired)
        self._check_order(group.spec, desired - len(group.standing()))
        group.spec = replace(group.spec, desired=desired)
        self._reconcile(group)

    def delete(self, group_id: str) -> None:
        """Take the group away with all its nodes; it is gone when its last node is."""
        group = self.group(group_id)
        self._check_throttle(group.spec)
        group.is_deleting = True
        for node in group.standing():
            self._terminate(group, node)
        self._forget_if_empty(group)

    def set_protection(self, group_id: str, instance_ids: Iterable[str], *, on: bool) -> None:
        """Protect instances of a group against being chosen; all ids are checked first.

        A group that stands above its desired size shrinks as soon as protection lets it (EC2 Auto
        Scaling guide, "Use instance scale-in protection").
        """
        group = self._open_group(group_id)
        nodes = [self._instance(group, instance_id) for instance_id in instance_ids]
        for node in nodes:
            node.is_protected = on
        if not on:
            self._reconcile_soon(group)

    def suspend(self, group_id: str, processes: Iterable[str], *, on: bool = True) -> None:
        """Suspend or resume processes of a scaling group, such as AZRebalance."""
        group = self._open_group(group_id)
        if on:
            group.suspended.update(processes)
        else:
            group.suspended.difference_update(processes)

    def remove_instance(self, instance_id: str, *, decrement: bool) -> None:
        """End exactly this machine. Without `decrement` the group orders another in its place.

        Protection does not stop this call: on both clouds it guards against scale-in only.
        """
        node = self._fleet.by_instance.get(instance_id)
        if node is None or node.group_id is None or node.is_leaving:
            raise refusals.no_such_instance(_provider_of(instance_id), instance_id)
        group = self._open_group(node.group_id)
        if decrement:
            if group.desired - 1 < group.spec.minimum:
                raise refusals.below_minimum(group.spec.provider, group.spec.minimum)
            group.spec = replace(group.spec, desired=group.desired - 1)
        self._terminate(group, node)
        self._reconcile(group)

    # ---- rules ----

    def _reconcile(self, group: Group) -> None:
        missing = group.desired - len(group.standing())
        if missing > 0:
            self._grow(group, missing)
        elif missing < 0:
            chance = self._ground.draws.stream("victims", group.group_id, self._ground.now_s)
            nodes = group.standing()
            for node in choose_victims(group.spec.provider, nodes, -missing, chance):
                self._terminate(group, node)

    def _grow(self, group: Group, count: int) -> None:
        for _ in range(count):
            if (refusal := self._launches.launch(group)) is not None:
                self._record(group, ActivityKind.LAUNCH, refusal=refusal)
                self._retry_later(group)
                return
            self._record(group, ActivityKind.LAUNCH, instance_id=group.nodes[-1].instance_id)
        group.retry_delay_s = 0.0

    def _retry_later(self, group: Group) -> None:
        if group.retry is not None:
            return
        group.retry_delay_s = min(max(group.retry_delay_s * 2, _FIRST_RETRY_S), _LAST_RETRY_S)

        def again() -> None:
            group.retry = None
            if not group.is_deleting:
                self._reconcile(group)

        group.retry = self._ground.agenda.after(group.retry_delay_s, again)

    def _terminate(self, group: Group, node: Node) -> None:
        self._record(group, ActivityKind.TERMINATE, instance_id=node.instance_id)
        drain_s = self._ground.draws.stream("drain", node.instance_id).uniform(*_DRAIN_S)
        self._fleet.retire(node, LossCause.SCALE_IN, drain_s)

    def _follow(self, node: Node, before: Phase) -> None:
        group = self._groups.get(node.group_id or "")
        if group is None:
            return
        if node.phase is Phase.JOINED or (node.phase is Phase.GONE and before is not Phase.DRAINING):
            # One more came up, or the cloud took one (spot): both clouds strive for the desired size.
            self._reconcile_soon(group)
        elif node.phase is Phase.GONE:
            self._rebalance(group)
        if node.phase is Phase.GONE:
            self._forget_if_empty(group)

    def _reconcile_soon(self, group: Group) -> None:
        if not group.is_deleting:
            self._ground.agenda.after(0.0, lambda: self._reconcile(group))

    def _rebalance(self, group: Group) -> None:
        """AZRebalance of EC2 Auto Scaling: order one in the emptiest zone; when it has joined, the
        fullest zone gives one back. Busy nodes are not spared, protected ones are (I29)."""
        if group.spec.provider is not Provider.AWS or AZ_REBALANCE in group.suspended or group.is_deleting:
            return
        sizes = Counter(dict.fromkeys(group.spec.zones, 0))
        sizes.update(node.zone for node in group.standing())
        if max(sizes.values()) - min(sizes.values()) > 1 and len(group.standing()) <= group.desired:
            self._grow(group, 1)

    def _forget_if_empty(self, group: Group) -> None:
        if group.is_deleting and not group.present():
            self._groups.pop(group.group_id, None)

    def _relabel(self, node: Node, old: GroupSpec, new: GroupSpec) -> None:
        if (old.labels, old.taints) == (new.labels, new.taints):
            return
        for key in old.labels:
            node.labels.pop(key, None)
        node.labels.update(new.labels)
        kept = [taint for taint in node.taints if taint not in old.taints]
        node.taints = [*kept, *new.taints]
        self._fleet.touch(node)

    def _record(
        self,
        group: Group,
        kind: ActivityKind,
        *,
        instance_id: str = "",
        refusal: refusals.CloudRefusal | None = None,
    ) -> None:
        number = len(group.activities)
        token = self._ground.draws.hexadecimal(32, "activity", group.scaling_group_id, number)
        group.activities.append(
            Activity(
                activity_id=token,
                group_id=group.group_id,
                kind=kind,
                at_s=self._ground.now_s,
                instance_id=instance_id,
                code=refusal.code if refusal else "",
                message=refusal.message if refusal else "",
            )
        )

    def _open_group(self, group_id: str) -> Group:
        group = self.group(group_id)
        self._check_throttle(group.spec)
        if group.is_deleting:
            raise refusals.being_deleted(group.spec.provider, group.spec.name)
        return group

    def _instance(self, group: Group, instance_id: str) -> Node:
        for node in group.standing():
            if node.instance_id == instance_id:
                return node
        raise refusals.no_such_instance(group.spec.provider, instance_id)

    def _check_size(self, spec: GroupSpec, desired: int) -> None:
        if not spec.minimum <= desired <= spec.maximum:
            raise refusals.outside_bounds(spec.provider, desired, spec.minimum, spec.maximum)

    def _check_throttle(self, spec: GroupSpec) -> None:
        target = self._launches.target(spec, "", "")
        detail = f"call for {spec.name}"
        if self._ground.faults.strike(FaultKind.THROTTLING, target, self._ground.now_s, detail):
            raise refusals.throttled(spec.provider)

    def _check_order(self, spec: GroupSpec, growth: int) -> None:
        if growth > 0 and (refusal := self._launches.order_refusal(spec, Moment.ORDER)):
            raise refusal


def _provider_of(text: str) -> Provider | None:
    """Which cloud an id that is not known looks like; only chooses the words of a refusal."""
    if text.startswith(("np", "asg-")) or (text.startswith("i-") and not text.startswith("i-0")):
        return Provider.ALICLOUD
    return Provider.AWS
