"""Reads the input and output types of resources out of the installed Python SDK, as JSON.

The SDK's schema file is not shipped; its classes say the same: types of inputs, which are required,
and names of outputs. Run as `python -m sim.providers.extract PROVIDER FILE TYPE...` in a process of
its own: it imports the SDK, which takes seconds and much memory.
"""

from __future__ import annotations

import importlib
import inspect
import json
import os
import sys
import types
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pulumi import _types as sdk_types

Json = dict[str, Any]
_SCALARS = {str: "string", int: "integer", float: "number", bool: "boolean"}


class Extractor:
    """Collects the types that the asked resources use."""

    def __init__(self, package: str) -> None:
        self._package = package
        self.types: dict[str, Json] = {}

    def resource(self, token: str) -> Json:
        """Inputs, required inputs and outputs of one resource type."""
        module_name, class_name = _place(token)
        module = importlib.import_module(f"{self._package}.{module_name}")
        resource = getattr(module, class_name)
        shape = self._object(getattr(module, f"{class_name}Args"))
        outputs = sorted(name for _, name, _ in sdk_types._py_properties(resource))
        return {**shape, "outputs": outputs}

    def provider(self) -> Json:
        """The provider's own configuration."""
        module = importlib.import_module(self._package)
        return self._object(module.ProviderArgs)

    def _object(self, cls: type) -> Json:
        names = sdk_types.input_type_py_to_pulumi_names(cls)
        parameters = inspect.signature(cls).parameters
        required = [
            names.get(name, name)
            for name, parameter in parameters.items()
            if parameter.default is inspect.Parameter.empty
        ]
        found = sdk_types.input_type_types(cls)
        return {
            "inputs": {name: self._type(hint) for name, hint in found.items()},
            "required": required,
        }

    def _type(self, hint: Any) -> Any:
        if hint in _SCALARS:
            return _SCALARS[hint]
        origin = typing.get_origin(hint)
        arguments = typing.get_args(hint)
        if origin in (typing.Union, types.UnionType):
            return self._union(arguments)
        if origin is not None and issubclass(origin, Mapping):
            return {"map": self._type(arguments[1])}
        if origin is not None and issubclass(origin, Sequence):
            return {"array": self._type(arguments[0])}
        if isinstance(hint, type) and sdk_types.is_input_type(hint):
            return self._reference(hint)
        return "any"

    def _union(self, arguments: tuple[Any, ...]) -> Any:
        """An input is a value, an awaitable or an output of it; the value's type is what counts."""
        kept = [self._type(item) for item in arguments if _is_value(item)]
        return kept[0] if len(kept) == 1 else "any"

    def _reference(self, cls: type) -> Json:
        name = f"{cls.__module__}.{cls.__name__}"
        if name not in self.types:
            self.types[name] = {}
            self.types[name] = self._object(cls)
        return {"ref": name}


def _is_value(hint: Any) -> bool:
    origin = typing.get_origin(hint) or hint
    return origin is not type(None) and getattr(origin, "__name__", "") not in ("Awaitable", "Output")


def _place(token: str) -> tuple[str, str]:
    """`aws:eks/nodeGroup:NodeGroup` is NodeGroup in the sub-package eks."""
    _, middle, class_name = token.split(":")
    return middle.partition("/")[0], class_name


def main(provider: str, target: str, tokens: Sequence[str]) -> None:
    """Write the file; readers see either the old one or the whole new one."""
    extractor = Extractor(f"pulumi_{provider}")
    resources = {token: extractor.resource(token) for token in tokens}
    content = {
        "provider": extractor.provider(),
        "resources": resources,
        "types": extractor.types,
    }
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(content, separators=(",", ":")), encoding="utf-8")
    draft.replace(path)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
