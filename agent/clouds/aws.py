"""EC2 Auto Scaling as a CloudReader: the groups behind EKS node groups.

A steady tick is one call for all groups. Launch times are asked once an instance, activities only
while a group is short of its desired size.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from agent.clouds.aws_activities import launch_of
from agent.clouds.launches import standing_failure
from agent.clouds.verdicts import no_group
from agent.core.readings import CloudInstance, PoolBinding, PoolReading
from agent.core.snapshot import LaunchFailure
from agent.errors import CloudRefused, CloudUnavailable

if TYPE_CHECKING:
    from mypy_boto3_autoscaling.type_defs import AutoScalingGroupTypeDef, InstanceTypeDef

    from agent.clouds.aws_calls import AwsCalls

# Instances that one SetInstanceProtection may name.
_BATCH = 50
_LEAVING = ("Terminat", "Detach")
_PROTECTABLE = ("InService", "EnteringStandby", "Standby")
_NAMES_INSTANCE = re.compile(r"\bi-[0-9a-f]{8,17}\b")


class AwsPools:
    """A CloudReader of one AWS region. `endpoint` None: the real ones; credentials: the SDK's own chain."""

    def __init__(self, region: str, endpoint: str | None = None) -> None:
        self._region = region
        self._endpoint = endpoint
        self._launched: dict[str, datetime] = {}

    def read_pools(self, bindings: Sequence[PoolBinding]) -> Mapping[str, PoolReading]:
        for binding in bindings:
            if not binding.scaling_group:
                raise no_group(binding.pool, "", f"aws {self._region}")
        if not bindings:
            # An empty list of names would mean every group of the account.
            return {}
        groups = self._calls.groups([binding.scaling_group for binding in bindings])
        for binding in bindings:
            if binding.scaling_group not in groups:
                raise no_group(binding.pool, binding.scaling_group, self._calls.target)
        self._learn_launch_times(list(groups.values()))
        return {binding.pool: self._reading(groups[binding.scaling_group]) for binding in bindings}

    def set_protection(self, binding: PoolBinding, instance_ids: Sequence[str], *, protected: bool) -> None:
        for start in range(0, len(instance_ids), _BATCH):
            self._protect(binding, list(instance_ids[start : start + _BATCH]), protected=protected)

    def hold_still(self, binding: PoolBinding) -> None:
        self._calls.suspend_rebalancing(binding.scaling_group)

    @cached_property
    def _calls(self) -> AwsCalls:
        # At first use: who never asks this cloud does not pay its SDK's memory and start-up.
        from agent.clouds.aws_calls import AwsCalls

        return AwsCalls(self._region, self._endpoint)

    def _learn_launch_times(self, groups: Sequence[AutoScalingGroupTypeDef]) -> None:
        """Fill and prune the cache; the group's own answer has no times."""
        present = {item["InstanceId"] for group in groups for item in group["Instances"]}
        known = {name: at for name, at in self._launched.items() if name in present}
        new = sorted(present - known.keys())
        self._launched = {**known, **(self._calls.launch_times(new) if new else {})}

    def _reading(self, group: AutoScalingGroupTypeDef) -> PoolReading:
        instances = tuple(self._instance(item, group) for item in group["Instances"])
        standing = sum(not instance.is_leaving for instance in instances)
        is_short = standing < group["DesiredCapacity"]
        return PoolReading(
            instances=instances, failure=self._failure(group["AutoScalingGroupName"]) if is_short else None
        )

    def _instance(self, item: InstanceTypeDef, group: AutoScalingGroupTypeDef) -> CloudInstance:
        is_leaving = item["LifecycleState"].startswith(_LEAVING)
        launched_at = self._launched.get(item["InstanceId"])
        if launched_at is None and is_leaving:
            launched_at = group["CreatedTime"].astimezone(UTC)
        if launched_at is None:
            hint = "nothing to do: EC2 learns of an instance some seconds after its group; the next tick asks again"
            what = f"EC2 does not know instance {item['InstanceId']} yet"
            raise CloudUnavailable(what, target=self._calls.target, hint=hint)
        return CloudInstance(
            instance_id=item["InstanceId"],
            launched_at=launched_at,
            is_protected=item["ProtectedFromScaleIn"],
            is_leaving=is_leaving,
        )

    def _failure(self, group: str) -> LaunchFailure | None:
        launches = (launch_of(activity) for activity in self._calls.activities(group))
        return standing_failure([launch for launch in launches if launch])

    def _protect(self, binding: PoolBinding, instance_ids: list[str], *, protected: bool) -> None:
        """AWS refuses the whole call for one instance that is gone or leaving: leave those out and try once more."""
        try:
            self._calls.protect(binding.scaling_group, instance_ids, protected=protected)
        except CloudRefused as refused:
            if not _NAMES_INSTANCE.search(refused.what):
                raise
            rest = self._protectable(binding, instance_ids, protected=protected)
            if rest == instance_ids:
                raise
            if rest:
                self._calls.protect(binding.scaling_group, rest, protected=protected)

    def _protectable(self, binding: PoolBinding, instance_ids: Sequence[str], *, protected: bool) -> list[str]:
        """Raises CloudUnavailable when one that shall stay is still launching: it could be taken meanwhile."""
        states = self._calls.lifecycle_states(binding.scaling_group, instance_ids)
        pending = [name for name, state in states.items() if state.startswith("Pending")]
        if protected and pending:
            hint = "nothing to do; the next tick tries again once it is in service"
            what = f"{binding.pool}: {', '.join(pending)} cannot be protected while launching"
            raise CloudUnavailable(what, target=self._calls.target, hint=hint)
        return [name for name in instance_ids if states.get(name) in _PROTECTABLE]
