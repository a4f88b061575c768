"""What EC2 Auto Scaling says of a launch, read out of its activity: the code stands in a text for people. Pure."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from agent.clouds.launches import Launch
from agent.core.snapshot import LaunchFailure

if TYPE_CHECKING:
    from mypy_boto3_autoscaling.type_defs import ActivityTypeDef

_FAILED = ("Failed", "Cancelled")
# EKS gives its groups a mixed-instances policy; only those put the code of EC2 into the text.
_WITH_CODE = re.compile(r"Could not launch (?:On-Demand|Spot) Instances\. ([\w.]+) - (.+)", re.DOTALL)
_WITHOUT_CODE = (
    ("do not have sufficient", "InsufficientInstanceCapacity"),
    ("no Spot capacity", "InsufficientInstanceCapacity"),
    ("vCPU limit", "VcpuLimitExceeded"),
    ("running instance(s)", "InstanceLimitExceeded"),
    ("already running", "InstanceLimitExceeded"),
    ("spot instance count exceeded", "MaxSpotInstanceCountExceeded"),
    ("minimum required Spot request fulfillment price", "SpotMaxPriceTooLow"),
    ("not supported in your requested Availability Zone", "Unsupported"),
)
_ENDING = " Launching EC2 instance failed."


def launch_of(activity: ActivityTypeDef) -> Launch | None:
    """An ended launch; None for what is under way or takes instances away."""
    status, at = activity["StatusCode"], activity["StartTime"].astimezone(UTC)
    if not activity.get("Description", "").startswith("Launching"):
        return None
    if status in _FAILED:
        return Launch(at, failure_in(activity.get("StatusMessage", status), at))
    return Launch(at) if status == "Successful" else None


def failure_in(text: str, at: datetime) -> LaunchFailure:
    """EC2's own code out of the text of an activity."""
    said = text.removesuffix(_ENDING)
    if match := _WITH_CODE.match(said):
        return LaunchFailure(code=match[1], message=match[2], at=at)
    code = next((code for words, code in _WITHOUT_CODE if words in said), "LaunchFailed")
    return LaunchFailure(code=code, message=said, at=at)
