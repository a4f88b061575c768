"""What a cloud says when it says no, with the codes that the real ones use.

Codes: AWS from botocore's service models and public error reports; Alibaba from the error tables of
the ECS, ESS and CS API pages and of the public Terraform provider. Must not decide when to refuse.
"""

from __future__ import annotations

from contract.catalog import Provider


class CloudRefusal(Exception):
    """A cloud refuses a call. `code` and `http_status` are what its wire protocol carries."""

    def __init__(self, code: str, message: str, http_status: int = 400) -> None:
        self.code = code
        self.message = message
        self.http_status = http_status
        super().__init__(f"{code}: {message}")


def no_stock(provider: Provider, instance_type: str, zone: str) -> CloudRefusal:
    """The cloud has no machine of this type in this zone."""
    if provider is Provider.AWS:
        return CloudRefusal(
            "InsufficientInstanceCapacity",
            f"We currently do not have sufficient {instance_type} capacity in the Availability"
            f" Zone you requested ({zone}). Our system will be working on provisioning additional"
            " capacity.",
            500,
        )
    return CloudRefusal(
        "OperationDenied.NoStock",
        f"The requested resource is sold out in the specified zone; instance type {instance_type}"
        f" in zone {zone}. Try other types of resources or other regions and zones.",
        403,
    )


def no_quota(provider: Provider, instance_type: str, quota: int) -> CloudRefusal:
    """The account may not run one more."""
    if provider is Provider.AWS:
        return CloudRefusal(
            "VcpuLimitExceeded",
            "You have requested more vCPU capacity than your current vCPU limit allows for the"
            f" instance bucket that the specified instance type belongs to ({instance_type};"
            f" {quota} instances). Please visit http://aws.amazon.com/contact-us/ec2-request to"
            " request an adjustment to this limit.",
        )
    return CloudRefusal(
        "QuotaExceed.ElasticQuota",
        f"The number of the specified ECS instances has exceeded the quota of the specified"
        f" instance type ({instance_type}; {quota} instances).",
        403,
    )


def throttled(provider: Provider) -> CloudRefusal:
    """Too many calls."""
    if provider is Provider.AWS:
        return CloudRefusal("Throttling", "Rate exceeded")
    return CloudRefusal("Throttling.User", "Request was denied due to user flow control.", 429)


def group_exists(provider: Provider, cluster: str, name: str) -> CloudRefusal:
    """A group of that name stands in that cluster already."""
    if provider is Provider.AWS:
        return CloudRefusal(
            "ResourceInUseException",
            f"NodeGroup already exists with name {name} and cluster name {cluster}",
            409,
        )
    # Code and words from aliyun/terraform-provider-alicloud#6502.
    return CloudRefusal("InvalidParameter.Name", f"nodepool name {name} is already exist in cluster {cluster}.")


def being_deleted(provider: Provider, name: str) -> CloudRefusal:
    """The group is on its way out and takes no orders."""
    if provider is Provider.AWS:
        return CloudRefusal("ResourceInUseException", f"Nodegroup {name} is currently in DELETING state", 409)
    return CloudRefusal("ErrorNodePoolState", f"nodepool {name} is in state deleting")


def no_such_group(provider: Provider | None, name: str) -> CloudRefusal:
    """No such node group, pool or scaling group."""
    if provider is Provider.ALICLOUD:
        return CloudRefusal("ErrorNodePoolNotFound", f"nodepool {name} not found", 404)
    return CloudRefusal("ResourceNotFoundException", f"No node group found for name: {name}.", 404)


def no_such_instance(provider: Provider | None, instance_id: str) -> CloudRefusal:
    """The instance is not (or no longer) part of the group."""
    if provider is Provider.ALICLOUD:
        return CloudRefusal(
            "InvalidInstanceId.NotFound",
            f'Instance "{instance_id}" does not exist in the scaling group.',
            404,
        )
    return CloudRefusal("ValidationError", f"Instance Id not found - No managed instance found for {instance_id}")


def outside_bounds(provider: Provider, desired: int, minimum: int, maximum: int) -> CloudRefusal:
    """The size asked for is outside the group's own bounds."""
    is_above = desired > maximum
    if provider is Provider.AWS:
        word, bound = ("greater than max", maximum) if is_above else ("less than min", minimum)
        return CloudRefusal(
            "InvalidParameterException",
            f"desired capacity {desired} can't be {word} size {bound}",
        )
    if is_above:
        return CloudRefusal(
            "IncorrectCapacity.MaxSize",
            f"To attach the instances, the total capacity {desired} will be greater than the MaxSize {maximum}.",
        )
    return CloudRefusal(
        "IncorrectCapacity.MinSize",
        f"To remove the instances, the total capacity {desired} will be lesser than the MinSize {minimum}.",
    )


def below_minimum(provider: Provider, minimum: int) -> CloudRefusal:
    """An exact removal would leave fewer machines than the group's minimum."""
    if provider is Provider.AWS:
        return CloudRefusal(
            "ValidationError",
            f"Currently, desiredSize equals minSize ({minimum}). Terminating instance without replacement will"
            " violate group's min size constraint. Either set shouldDecrementDesiredCapacity flag to false or"
            " lower group's min size.",
        )
    return outside_bounds(provider, minimum - 1, minimum, minimum)


def unknown_type(provider: Provider, instance_type: str) -> CloudRefusal:
    """The cloud sells no such machine."""
    if provider is Provider.AWS:
        return CloudRefusal(
            "InvalidParameterException",
            f"The following supplied instance types do not exist: [{instance_type}]",
        )
    return CloudRefusal(
        "InvalidInstanceType.NotFound",
        f"The specified InstanceType {instance_type} does not exist.",
        404,
    )


def unpriced(name: str) -> CloudRefusal:
    """The twin's own refusal: without a catalogue row it could only invent a price."""
    return CloudRefusal(
        "TwinUnpricedPool",
        f"no catalogue row prices group {name}: give its nodes the label spillway.dev/pool with"
        " the name of a row of the same provider",
    )
