"""What a plugin does for one resource, on plain values: check, compare, create, read, change, delete.

Knows the provider's schema and rules and the line to the cloud; knows no protobuf.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from sim.providers import alicloud_rules, aws_rules
from sim.providers.checking import Failure, check_object
from sim.providers.cloud_client import CloudClient, CloudRefused
from sim.providers.diffing import Change, Difference, Differences, compare
from sim.providers.provider_config import ProviderConfig
from sim.providers.replaces import NAMED_BY
from sim.providers.rules import Rule
from sim.providers.schema import ObjectType, Schema
from sim.providers.wire import UNKNOWN, Properties, Value

RULES: dict[str, Mapping[str, tuple[Rule, ...]]] = {
    "aws": aws_rules.RULES,
    "alicloud": alicloud_rules.RULES,
}
_ALL_TAGS = "__allTags"
_POLL_S = 0.5
_DELETE_TIMEOUT_S = 900.0


class UnknownType(Exception):
    """The twin does not act out this type."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One resource of a program."""

    urn: str
    type: str

    @property
    def name(self) -> str:
        """Its name in the program."""
        return self.urn.rpartition("::")[2]


@dataclass(slots=True)
class Resources:
    """The calls of one configured provider."""

    provider: str
    schema: Schema
    config: ProviderConfig = field(default_factory=ProviderConfig)
    # Seeds of the checks of this run: a create repeated within it is the same call to the cloud.
    _seeds: dict[str, bytes] = field(default_factory=dict)

    def check(
        self, target: Target, olds: Properties, news: Properties, seed: bytes
    ) -> tuple[Properties, list[Failure]]:
        """Complete the inputs with a name where none is given, the old one if there is one; judge them."""
        kind = self._kind(target.type)
        inputs = dict(news)
        named_by = NAMED_BY.get(target.type)
        if named_by and inputs.get(named_by) is None and not inputs.get(f"{named_by}Prefix"):
            inputs[named_by] = olds.get(named_by) or f"{target.name}-{hashlib.sha256(seed).hexdigest()[:7]}"
        failures = list(check_object(self.schema, kind, inputs))
        for rule in RULES[self.provider].get(target.type, ()):
            failures += rule(inputs)
        self._seeds[target.urn] = seed
        return inputs, failures

    def compare(
        self, target: Target, olds: Properties, states: Properties, news: Properties, ignored: frozenset[str]
    ) -> Differences:
        """What an update would change; `states` are the outputs in the state."""
        kind = self._kind(target.type)
        found = compare(target.type, olds, news, ignored)
        tags = self._tags(kind, news)
        if tags is not None and "tagsAll" in states and states["tagsAll"] != tags and not found.items:
            extra = Difference("tagsAll", Change.UPDATE, is_replacing=False)
            return Differences((*found.items, extra), found.delete_first)
        return found

    def foresee(self, target: Target, inputs: Properties, states: Properties | None) -> Properties:
        """The outputs in a preview: of a new resource unknown, of an old one as they are."""
        kind = self._kind(target.type)
        computed: Properties = {
            name: UNKNOWN if states is None else states[name]
            for name in kind.outputs
            if name not in inputs and (states is None or name in states)
        }
        tags = self._tags(kind, inputs)
        return {**computed, **({} if tags is None else {"tagsAll": tags}), **inputs}

    def create(self, target: Target, inputs: Properties) -> tuple[str, Properties]:
        """Make it. Gives its id and its outputs."""
        kind = self._kind(target.type)
        seed = self._seeds.get(target.urn)
        answer = CloudClient.from_environment().call(
            "create",
            {
                "type": target.type,
                "region": self._region(inputs),
                "inputs": self._for_cloud(kind, inputs),
                "token": hashlib.sha256(target.urn.encode() + seed).hexdigest() if seed else "",
            },
        )
        return str(answer["id"]), self._outputs(kind, inputs, answer["outputs"])

    def read(self, target: Target, own_id: str, inputs: Properties) -> tuple[Properties, Properties] | None:
        """Inputs and outputs as they are in the cloud; None when it is gone."""
        kind = self._kind(target.type)
        try:
            answer = CloudClient.from_environment().call("read", {"type": target.type, "id": own_id})
        except CloudRefused as refused:
            if refused.is_missing:
                return None
            raise
        live = {name: value for name, value in answer["inputs"].items() if not name.startswith("__")}
        seen = _overlay(inputs, live) if inputs else live
        return seen, self._outputs(kind, seen, answer["outputs"])

    def update(self, target: Target, own_id: str, inputs: Properties) -> Properties:
        """Change it in place. Gives its outputs."""
        kind = self._kind(target.type)
        body = {"type": target.type, "id": own_id, "inputs": self._for_cloud(kind, inputs)}
        answer = CloudClient.from_environment().call("update", body)
        return self._outputs(kind, inputs, answer["outputs"])

    def delete(self, target: Target, own_id: str, timeout_s: float) -> None:
        """Delete it and wait until it is gone, as the real providers do."""
        client = CloudClient.from_environment()
        deadline = time.monotonic() + (timeout_s or _DELETE_TIMEOUT_S)
        while not client.call("delete", {"type": target.type, "id": own_id})["gone"]:
            if time.monotonic() > deadline:
                raise CloudRefused("Timeout", f"{own_id} was not gone in time", 408)
            time.sleep(_POLL_S)

    def _kind(self, token: str) -> ObjectType:
        kind = self.schema.resource(token)
        if kind is None:
            raise UnknownType(f"the twin does not act out {token}; it knows {', '.join(self.schema.tokens)}")
        return kind

    def _region(self, inputs: Properties) -> str:
        return str(inputs.get("region") or self.config.region)

    def _tags(self, kind: ObjectType, inputs: Properties) -> dict[str, Value] | None:
        if "tagsAll" not in kind.outputs:
            return None
        own = inputs.get("tags")
        return {**self.config.default_tags, **(own if isinstance(own, dict) else {})}

    def _for_cloud(self, kind: ObjectType, inputs: Properties) -> Properties:
        tags = self._tags(kind, inputs)
        return dict(inputs) if tags is None else {**inputs, _ALL_TAGS: tags}

    def _outputs(self, kind: ObjectType, inputs: Properties, made: Properties) -> Properties:
        outputs = {**inputs, **made}
        tags = self._tags(kind, inputs)
        if tags is not None:
            outputs["tagsAll"] = tags
        if self.provider == "aws" and "region" in kind.outputs:
            outputs["region"] = self._region(inputs)
        return outputs


def _overlay(wanted: Value, live: Value) -> Value:
    """The live values of what the program set: what it left out is no drift."""
    if isinstance(wanted, dict) and isinstance(live, dict):
        return {name: _overlay(value, live.get(name)) for name, value in wanted.items()}
    return live
