"""The only reader of stack config and of the catalogue: both come out typed, or one clear error."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pulumi
from pulumi.runtime import config as raw

from contract.catalog import Catalog, Provider, read_catalog
from contract.fields import Findings
from contract.stack_config import CATALOG, NAMESPACE, StackConfig, parse_stack_config

_DEFAULT_CATALOG = "stacks/catalog.yaml"
_ENCRYPTED = {"secure": "[secret]"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Inputs:
    """All that the program depends on besides its code. `bgp_keys` are secret, by cloud."""

    stack: str
    config: StackConfig
    catalog: Catalog
    bgp_keys: Mapping[Provider, pulumi.Output[str]]


def read_inputs() -> Inputs:
    """Read the stack's config and the catalogue. Raises InvalidInput with all problems."""
    stack = pulumi.get_stack()
    values = _values()
    keys = _hide_bgp_keys(values)
    catalog = read_catalog(_catalog_path(values))
    findings = Findings(f"Pulumi.{stack}.yaml")
    config = parse_stack_config(values, findings, catalog)
    return Inputs(stack=stack, config=config, catalog=catalog, bgp_keys=keys)


def _values() -> dict[str, object]:
    given = {**raw.get_config_env(), **raw.CONFIG.get()}
    own = pulumi.Config(NAMESPACE)
    names = [key.partition(":")[2] for key in given if key.startswith(f"{NAMESPACE}:")]
    return {f"{NAMESPACE}:{name}": _value(own.require(name)) for name in names}


def _value(text: str) -> object:
    """Pulumi hands objects and lists over as JSON and every other value as text."""
    return json.loads(text) if text.startswith(("{", "[")) else text


def _hide_bgp_keys(values: Mapping[str, object]) -> dict[Provider, pulumi.Output[str]]:
    """Take the clear BGP keys out and leave the mark that the stack file holds in their place."""
    keys = {}
    for provider in (Provider.ALICLOUD, Provider.AWS):
        cloud = values.get(f"{NAMESPACE}:{provider}")
        link = cloud.get("link") if isinstance(cloud, dict) else None
        key = link.get("bgp_key") if isinstance(link, dict) else None
        if isinstance(link, dict) and isinstance(key, str) and _is_secret(provider):
            keys[provider] = pulumi.Output.secret(key)
            link["bgp_key"] = dict(_ENCRYPTED)
    return keys


def _is_secret(provider: Provider) -> bool:
    name = f"{NAMESPACE}:{provider}"
    return raw.is_config_secret(name) or name in raw.get_config_secret_keys_env()


def _catalog_path(values: Mapping[str, object]) -> Path:
    given = values.get(CATALOG)
    relative = given if isinstance(given, str) else _DEFAULT_CATALOG
    return Path(pulumi.runtime.settings.get_root_directory() or ".") / relative
