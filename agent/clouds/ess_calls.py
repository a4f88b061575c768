"""The calls of Alibaba's Auto Scaling (ESS) that the agent makes, by its SDK, with its errors turned into ours.

Importing this costs about 20 MiB and freezes the credentials that stand in the environment: the
SDK's credentials package reads them when imported. So alicloud.py imports it at first use.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from alibabacloud_credentials.client import Client as Credentials
from alibabacloud_credentials.exceptions import CredentialException
from alibabacloud_ess20220222 import models
from alibabacloud_ess20220222.client import Client
from alibabacloud_tea_openapi.exceptions import AlibabaCloudException
from alibabacloud_tea_openapi.utils_models import Config
from darabonba.exceptions import UnretryableException
from darabonba.policy.retry import RetryOptions

from agent.clouds.verdicts import CloudError, Refusal, Vocabulary, no_answer, verdict
from agent.errors import NotAuthorised

Json = Mapping[str, Any]

_PAGE = 50
_RETRIES = {
    "retryable": True,
    "retryCondition": [
        {
            "maxAttempts": 2,
            "exception": ["RetryError", "ServerException", "ThrottlingException"],
            "errorCode": ["Throttling", "Throttling.Api", "Throttling.User", "ServiceUnavailable"],
            "maxDelay": 1000,
            "backoff": {"policy": "EqualJitter", "period": 250, "cap": 1000},
        }
    ],
}
_WORDS = Vocabulary(
    unauthorised=(
        "Forbidden",
        "IncompleteSignature",
        "InvalidAccessKeyId",
        "InvalidCredentials",
        "InvalidSecurityToken",
        "MissingAccessKeyId",
        "MissingSecurityToken",
        "NoPermission",
        "SignatureDoesNotMatch",
    ),
    transient=("InternalError", "ScalingActivityInProgress", "ServiceUnavailable", "Throttling"),
    rights=(
        "renew the agent's Alibaba credentials; they need ess:DescribeScalingInstances,"
        " ess:DescribeScalingActivities and ess:SetInstancesProtection"
    ),
)


class EssCalls:
    """One region. Every method raises CloudUnavailable, CloudRefused, NotAuthorised."""

    def __init__(self, region: str, endpoint: str | None) -> None:
        self.target = f"alicloud {region}"
        self._region = region
        config = Config(
            credential=Credentials(),
            region_id=region,
            connect_timeout=5000,
            read_timeout=10_000,
            retry_options=RetryOptions(_RETRIES),
        )
        if endpoint:
            config.endpoint = endpoint.removeprefix("http://").rstrip("/")
            config.protocol = "HTTP"
        self._client = Client(config)

    def instances(self, group: str) -> Sequence[Json]:
        """All instances of a scaling group."""
        found: list[Json] = []
        page = 1
        while True:
            request = models.DescribeScalingInstancesRequest(
                region_id=self._region, scaling_group_id=group, page_number=page, page_size=_PAGE
            )
            with self._translated():
                body: Json = self._client.describe_scaling_instances(request).body.to_map()
            some = body.get("ScalingInstances") or []
            found += some
            if not some or len(found) >= body.get("TotalCount", 0):
                return found
            page += 1

    def activities(self, group: str) -> Sequence[Json]:
        """The newest scaling activities of a group."""
        request = models.DescribeScalingActivitiesRequest(
            region_id=self._region, scaling_group_id=group, page_size=_PAGE
        )
        with self._translated():
            body: Json = self._client.describe_scaling_activities(request).body.to_map()
        return body.get("ScalingActivities") or []

    def protect(self, group: str, instance_ids: Sequence[str], *, protected: bool) -> None:
        """Put 20 instances at most into the Protected state, or out of it; all or none."""
        request = models.SetInstancesProtectionRequest(
            scaling_group_id=group, instance_ids=list(instance_ids), protected_from_scale_in=protected
        )
        with self._translated():
            self._client.set_instances_protection(request)

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except AlibabaCloudException as error:
            raise self._verdict(error) from error
        except UnretryableException as error:
            inner = error.inner_exception
            if isinstance(inner, CredentialException):
                raise NotAuthorised(inner.message, target=self.target, hint=_WORDS.rights) from error
            raise no_answer(inner, self.target) from error

    def _verdict(self, error: AlibabaCloudException) -> CloudError:
        data = error.data or {}
        message = data.get("Message") or data.get("message") or error.message or ""
        refusal = Refusal(code=str(error.code), message=str(message), status=int(error.status_code or 0))
        return verdict(refusal, _WORDS, self.target)
