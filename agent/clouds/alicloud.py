"""Alibaba's Auto Scaling (ESS) as a CloudReader: the groups behind ACK node pools.

A steady tick is one call a pool. Activities are asked only while a pool is short of what its stack
has applied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from agent.clouds.launches import Launch, standing_failure
from agent.clouds.verdicts import no_answer, no_group
from agent.core.readings import CloudInstance, PoolBinding, PoolReading
from agent.core.snapshot import LaunchFailure
from agent.errors import CloudRefused

if TYPE_CHECKING:
    from agent.clouds.ess_calls import EssCalls, Json

# Instances that one SetInstancesProtection may name.
_BATCH = 20
_FAILED = ("Failed", "Rejected", "Warning")
_UNKNOWN_INSTANCE = "InvalidInstanceId"
_TO_THE_MINUTE = len("2026-11-30T08:00Z")


class AlicloudPools:
    """A CloudReader of one Alibaba region. `endpoint`: host:port over HTTP; credentials: the SDK's own chain."""

    def __init__(self, region: str, endpoint: str | None = None) -> None:
        self._region = region
        self._endpoint = endpoint

    def read_pools(self, bindings: Sequence[PoolBinding]) -> Mapping[str, PoolReading]:
        for binding in bindings:
            if not binding.scaling_group:
                raise no_group(binding.pool, "", f"alicloud {self._region}")
        return {binding.pool: self._reading(binding) for binding in bindings}

    def set_protection(self, binding: PoolBinding, instance_ids: Sequence[str], *, protected: bool) -> None:
        for start in range(0, len(instance_ids), _BATCH):
            self._protect(binding, list(instance_ids[start : start + _BATCH]), protected=protected)

    def hold_still(self, binding: PoolBinding) -> None:
        # Nothing to stop: ESS evens out zones only where a group's owner turned that on (AzBalance, off
        # by default), and an ACK pool has no argument for it.
        return

    @cached_property
    def _calls(self) -> EssCalls:
        # At first use: see ess_calls.
        from agent.clouds.ess_calls import EssCalls

        return EssCalls(self._region, self._endpoint)

    def _reading(self, binding: PoolBinding) -> PoolReading:
        instances = self._instances(binding.scaling_group)
        standing = sum(not instance.is_leaving for instance in instances)
        failure = self._failure(binding.scaling_group) if standing < binding.applied else None
        return PoolReading(instances=instances, failure=failure)

    def _instances(self, group: str) -> tuple[CloudInstance, ...]:
        items = self._calls.instances(group)
        try:
            return tuple(_instance(item) for item in items)
        except (KeyError, TypeError, ValueError) as error:
            raise no_answer(error, self._calls.target) from error

    def _failure(self, group: str) -> LaunchFailure | None:
        activities = self._calls.activities(group)
        try:
            launches = [launch for launch in map(_launch, activities) if launch]
        except (KeyError, TypeError, ValueError) as error:
            raise no_answer(error, self._calls.target) from error
        return standing_failure(launches)

    def _protect(self, binding: PoolBinding, instance_ids: list[str], *, protected: bool) -> None:
        """ESS refuses the whole call for one instance that is gone: leave those out and try once more."""
        try:
            self._calls.protect(binding.scaling_group, instance_ids, protected=protected)
        except CloudRefused as refused:
            if not refused.what.startswith(_UNKNOWN_INSTANCE):
                raise
            standing = {item.instance_id for item in self._instances(binding.scaling_group) if not item.is_leaving}
            rest = [name for name in instance_ids if name in standing]
            if rest == instance_ids:
                raise
            if rest:
                self._calls.protect(binding.scaling_group, rest, protected=protected)


def _instance(item: Json) -> CloudInstance:
    state: str = item["LifecycleState"]
    return CloudInstance(
        instance_id=item["InstanceId"],
        launched_at=datetime.fromisoformat(item.get("CreatedTime") or item["CreationTime"]),
        is_protected=state == "Protected",
        is_leaving=state.startswith("Removing"),
    )


def _launch(activity: Json) -> Launch | None:
    """An ended scale-out; None for what is under way or takes instances away."""
    status, at = activity["StatusCode"], _end_of(activity["StartTime"])
    if activity.get("Description", "").strip().startswith("Remove"):
        return None
    if status in _FAILED:
        return Launch(at, _failure_of(activity, status, at))
    return Launch(at) if status == "Successful" else None


def _failure_of(activity: Json, status: str, at: datetime) -> LaunchFailure:
    details = activity.get("ErrorMessages") or [{}]
    code = details[0].get("Code") or activity.get("ErrorCode") or status
    message = details[0].get("Message") or activity.get("ErrorMessage") or activity.get("StatusMessage") or ""
    return LaunchFailure(code=code, message=message, at=at)


def _end_of(stamp: str) -> datetime:
    """ESS gives minutes: taken as their beginning, a failure would seem older than the order that it refused."""
    at = datetime.fromisoformat(stamp)
    return at + timedelta(seconds=59) if len(stamp) == _TO_THE_MINUTE else at
