"""Reading launch failures out of the clouds' activities: which one counts, and the code in AWS' texts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import pytest

from agent.clouds.aws_activities import failure_in, launch_of
from agent.clouds.launches import Launch, standing_failure
from agent.core.snapshot import LaunchFailure

if TYPE_CHECKING:
    from mypy_boto3_autoscaling.literals import ScalingActivityStatusCodeType
    from mypy_boto3_autoscaling.type_defs import ActivityTypeDef

NOON = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def failed(minutes: int, code: str = "NoStock") -> Launch:
    """A launch that failed some minutes after noon."""
    at = NOON + timedelta(minutes=minutes)
    return Launch(at, LaunchFailure(code=code, message="", at=at))


def came(minutes: int) -> Launch:
    """A launch that went well some minutes after noon."""
    return Launch(NOON + timedelta(minutes=minutes))


@pytest.mark.parametrize(
    ("launches", "code"),
    [
        ([], None),
        ([came(1)], None),
        ([failed(1)], "NoStock"),
        ([failed(1, "Old"), failed(2, "New")], "New"),
        ([failed(2, "New"), failed(1, "Old")], "New"),
        ([failed(1), came(2)], None),
        ([came(2), failed(1)], None),
        ([came(1), failed(2)], "NoStock"),
        ([came(1), failed(1), came(1)], "NoStock"),
    ],
)
def test_the_newest_failure_counts_unless_a_later_launch_went_well(launches: list[Launch], code: str | None) -> None:
    failure = standing_failure(launches)
    assert (failure.code if failure else None) == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "Could not launch On-Demand Instances. InsufficientInstanceCapacity - We currently do not have"
            " sufficient p4d.24xlarge capacity in the Availability Zone you requested (us-east-1a)."
            " Launching EC2 instance failed.",
            "InsufficientInstanceCapacity",
        ),
        (
            "Could not launch Spot Instances. UnfulfillableCapacity - Unable to fulfill capacity due to your request"
            " configuration. Launching EC2 instance failed.",
            "UnfulfillableCapacity",
        ),
        (
            "Could not launch On-Demand Instances. VcpuLimitExceeded - You have requested more vCPU capacity than your"
            " current vCPU limit of 0 allows. Launching EC2 instance failed.",
            "VcpuLimitExceeded",
        ),
        (
            "We currently do not have sufficient g4dn.xlarge capacity in the Availability Zone you requested"
            " (us-west-2a). Launching EC2 instance failed.",
            "InsufficientInstanceCapacity",
        ),
        (
            "You have requested more vCPU capacity than your current vCPU limit of 32 allows for the instance bucket."
            " Launching EC2 instance failed.",
            "VcpuLimitExceeded",
        ),
        ("32 instance(s) are already running. Launching EC2 instance failed.", "InstanceLimitExceeded"),
        ("Max spot instance count exceeded. Launching EC2 instance failed.", "MaxSpotInstanceCountExceeded"),
        ("The key pair 'k' does not exist. Launching EC2 instance failed.", "LaunchFailed"),
        ("", "LaunchFailed"),
    ],
)
def test_the_code_is_found_in_the_text(text: str, code: str) -> None:
    failure = failure_in(text, NOON)
    assert failure.code == code
    assert "Launching EC2" not in failure.message
    assert failure.at == NOON


@pytest.mark.parametrize(
    ("description", "status", "ended"),
    [
        ("Launching a new EC2 instance: i-0123456789abcdef0", "Successful", True),
        ("Launching a new EC2 instance.  Status Reason: none left", "Failed", True),
        ("Launching a new EC2 instance", "Cancelled", True),
        ("Launching a new EC2 instance: i-0123456789abcdef0", "PreInService", False),
        ("Launching a new EC2 instance", "InProgress", False),
        ("Terminating EC2 instance: i-0123456789abcdef0", "Failed", False),
    ],
)
def test_only_ended_launches_count(description: str, status: ScalingActivityStatusCodeType, ended: bool) -> None:
    at = datetime(2026, 11, 30, 20, 0, tzinfo=timezone(timedelta(hours=8)))
    activity: ActivityTypeDef = {
        "ActivityId": "1",
        "AutoScalingGroupName": "g",
        "Cause": "",
        "Description": description,
        "StartTime": at,
        "StatusCode": status,
    }
    launch = launch_of(activity)
    assert (launch is not None) == ended
    if launch:
        assert launch.at.isoformat() == "2026-11-30T12:00:00+00:00"
        assert (launch.failure is None) == (status == "Successful")
