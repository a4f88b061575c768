"""The calls of EC2 Auto Scaling and EC2 that the agent makes, by boto3, with its errors turned into ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

import boto3
from botocore import exceptions
from botocore.config import Config
from botocore.parsers import ResponseParserError

from agent.clouds.verdicts import Refusal, Vocabulary, no_answer, verdict
from agent.errors import CloudRefused, NotAuthorised

if TYPE_CHECKING:
    from mypy_boto3_autoscaling import AutoScalingClient
    from mypy_boto3_autoscaling.type_defs import ActivityTypeDef, AutoScalingGroupTypeDef
    from mypy_boto3_ec2 import EC2Client

_GROUPS_A_CALL = 100
_ACTIVITIES = 50
_FILTER_VALUES = 200
_CONFIG = Config(connect_timeout=5, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 2})
_WORDS = Vocabulary(
    unauthorised=(
        "AccessDenied",
        "AuthFailure",
        "ExpiredToken",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidToken",
        "MissingAuthenticationToken",
        "NotAuthorized",
        "OptInRequired",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnauthorizedOperation",
        "UnrecognizedClient",
    ),
    transient=(
        "InternalError",
        "InternalFailure",
        "RequestLimitExceeded",
        "RequestThrottled",
        "ResourceContention",
        "ScalingActivityInProgress",
        "ServiceUnavailable",
        "Throttl",
        "Unavailable",
    ),
    rights=(
        "renew the agent's AWS credentials; they need autoscaling:Describe*, autoscaling:SetInstanceProtection,"
        " autoscaling:SuspendProcesses and ec2:DescribeInstances"
    ),
)
_NO_CREDENTIALS = (
    exceptions.CredentialRetrievalError,
    exceptions.NoAuthTokenError,
    exceptions.NoCredentialsError,
    exceptions.PartialCredentialsError,
    exceptions.ProfileNotFound,
    exceptions.SSOError,
    exceptions.TokenRetrievalError,
)


class AwsCalls:
    """One region. Every method raises CloudUnavailable, CloudRefused, NotAuthorised."""

    def __init__(self, region: str, endpoint: str | None) -> None:
        self.target = f"aws {region}"
        self._region = region
        self._endpoint = endpoint
        self._session = boto3.session.Session()

    def groups(self, names: Sequence[str]) -> Mapping[str, AutoScalingGroupTypeDef]:
        """Scaling groups by name; one that is not there is left out, as AWS does."""
        found: dict[str, AutoScalingGroupTypeDef] = {}
        with self._translated():
            pages = self._autoscaling.get_paginator("describe_auto_scaling_groups").paginate(
                AutoScalingGroupNames=list(names), PaginationConfig={"PageSize": _GROUPS_A_CALL}
            )
            for page in pages:
                found |= {group["AutoScalingGroupName"]: group for group in page["AutoScalingGroups"]}
        return found

    def activities(self, group: str) -> Sequence[ActivityTypeDef]:
        """The newest scaling activities of one group, newest first."""
        with self._translated():
            answer = self._autoscaling.describe_scaling_activities(AutoScalingGroupName=group, MaxRecords=_ACTIVITIES)
            return answer["Activities"]

    def launch_times(self, instance_ids: Sequence[str]) -> Mapping[str, datetime]:
        """When EC2 launched each instance; one that EC2 does not know (yet) is left out."""
        times: dict[str, datetime] = {}
        with self._translated():
            paginator = self._ec2.get_paginator("describe_instances")
            for start in range(0, len(instance_ids), _FILTER_VALUES):
                # A filter, not a list of ids: EC2 refuses a whole list for one id that it does not know yet.
                some = list(instance_ids[start : start + _FILTER_VALUES])
                for page in paginator.paginate(Filters=[{"Name": "instance-id", "Values": some}]):
                    for reservation in page["Reservations"]:
                        times |= {
                            item["InstanceId"]: item["LaunchTime"].astimezone(UTC) for item in reservation["Instances"]
                        }
        return times

    def lifecycle_states(self, group: str, instance_ids: Sequence[str]) -> Mapping[str, str]:
        """Lifecycle state of those of the instances (50 at most) that belong to the group."""
        with self._translated():
            answer = self._autoscaling.describe_auto_scaling_instances(InstanceIds=list(instance_ids))
            items = answer["AutoScalingInstances"]
            return {
                item["InstanceId"]: item["LifecycleState"] for item in items if item["AutoScalingGroupName"] == group
            }

    def protect(self, group: str, instance_ids: Sequence[str], *, protected: bool) -> None:
        """Set scale-in protection of 50 instances at most; all or none."""
        with self._translated():
            self._autoscaling.set_instance_protection(
                AutoScalingGroupName=group, InstanceIds=list(instance_ids), ProtectedFromScaleIn=protected
            )

    def suspend_rebalancing(self, group: str) -> None:
        """AZRebalance ends healthy instances to even out zones, busy or not; the agent alone may choose."""
        with self._translated():
            self._autoscaling.suspend_processes(AutoScalingGroupName=group, ScalingProcesses=["AZRebalance"])

    @cached_property
    def _autoscaling(self) -> AutoScalingClient:
        return self._session.client(
            "autoscaling", region_name=self._region, endpoint_url=self._endpoint, config=_CONFIG
        )

    @cached_property
    def _ec2(self) -> EC2Client:
        return self._session.client("ec2", region_name=self._region, endpoint_url=self._endpoint, config=_CONFIG)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except exceptions.ClientError as error:
            said, metadata = error.response["Error"], error.response["ResponseMetadata"]
            refusal = Refusal(
                code=said.get("Code", "Unknown"),
                message=said.get("Message", ""),
                status=metadata.get("HTTPStatusCode", 0),
            )
            raise verdict(refusal, _WORDS, self.target) from error
        except _NO_CREDENTIALS as error:
            raise NotAuthorised(str(error), target=self.target, hint=_WORDS.rights) from error
        except (exceptions.ParamValidationError, ValueError) as error:
            hint = "check the region, the endpoint and the stack's outputs"
            raise CloudRefused(str(error), target=self.target, hint=hint) from error
        except (exceptions.BotoCoreError, ResponseParserError, KeyError) as error:
            raise no_answer(error, self.target) from error
