"""A provider's own configuration: region, default tags, the account it may act in.

Engines hand every value but texts over as JSON in a text. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from sim.providers.checking import Failure, check_object
from sim.providers.schema import Schema
from sim.providers.wire import UNKNOWN, Properties, Value

_ACCOUNT = re.compile(r"\d{12}")
_INTERNAL = ("version", "pluginDownloadURL")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderConfig:
    """What the calls need to know."""

    region: str = ""
    default_tags: dict[str, str] = field(default_factory=dict)
    accounts: tuple[str, ...] = ()


def decode(schema: Schema, given: Properties) -> Properties:
    """Values as their types want them."""
    decoded = {}
    for name, value in given.items():
        if name in _INTERNAL or name.startswith("__"):
            continue
        shape = schema.provider.inputs.get(name)
        decoded[name] = value if shape in ("string", None) else _from_json(value)
    return decoded


def check(schema: Schema, given: Properties) -> Iterator[Failure]:
    """All that is wrong with a provider's configuration."""
    values = decode(schema, given)
    yield from check_object(schema, schema.provider, values)
    if not values.get("region"):
        yield Failure("region", "Missing region; give the provider one")
    accounts = values.get("allowedAccountIds")
    for number, account in enumerate(accounts if isinstance(accounts, list) else ()):
        if isinstance(account, str) and not _ACCOUNT.fullmatch(account):
            yield Failure(f"allowedAccountIds[{number}]", f"'{account}' is not an account id of 12 digits")


def parse(schema: Schema, given: Properties) -> ProviderConfig:
    """The configuration, checked before."""
    values = decode(schema, given)
    tags = values.get("defaultTags")
    region = values.get("region")
    accounts = values.get("allowedAccountIds")
    return ProviderConfig(
        region=region if isinstance(region, str) else "",
        default_tags=dict(tags.get("tags") or {}) if isinstance(tags, dict) else {},
        accounts=tuple(item for item in accounts if isinstance(item, str)) if isinstance(accounts, list) else (),
    )


def _from_json(value: Value) -> Value:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value, parse_constant=lambda _: UNKNOWN)
    except ValueError:
        return value
