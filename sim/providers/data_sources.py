"""The few data sources that the twin answers: who am I, and where."""

from __future__ import annotations

from sim.providers.cloud_client import CloudClient
from sim.providers.provider_config import ProviderConfig
from sim.providers.wire import Properties


class UnknownDataSource(Exception):
    """The twin has no answer to this one."""


def answer(name: str, config: ProviderConfig) -> Properties:
    """The result of one invoke."""
    if name == "aws:index/getRegion:getRegion":
        return {"id": config.region, "name": config.region, "region": config.region}
    if name == "aws:index/getCallerIdentity:getCallerIdentity":
        account = _account("aws")
        user = f"arn:aws:iam::{account}:user/twin"
        return {"id": account, "accountId": account, "arn": user, "userId": "AIDATWIN"}
    if name == "alicloud:index/getAccount:getAccount":
        return {"id": _account("alicloud")}
    raise UnknownDataSource(f"the twin does not answer the data source {name}")


def _account(provider: str) -> str:
    return str(CloudClient.from_environment().call("account", {})[provider])
