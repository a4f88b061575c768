"""Checks inputs against the SDK's types: unknown and missing properties, wrong kinds of value.

Pure. Rules that the types do not say (spelling, limits) stand in rules.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sim.providers.schema import ObjectType, Schema, Shape
from sim.providers.wire import Properties, Unknown, Value


@dataclass(frozen=True, slots=True)
class Failure:
    """One thing wrong with one property."""

    property: str
    reason: str


_SCALARS: dict[str, tuple[str, Callable[[Value], bool]]] = {
    "string": ("a text", lambda value: isinstance(value, str)),
    "integer": (
        "a whole number",
        lambda value: isinstance(value, int) and not isinstance(value, bool),
    ),
    "number": (
        "a number",
        lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    ),
    "boolean": ("true or false", lambda value: isinstance(value, bool)),
}


def check_object(schema: Schema, kind: ObjectType, inputs: Properties, path: str = "") -> Iterator[Failure]:
    """All that the types have against these inputs."""
    for name in kind.required:
        if inputs.get(name) is None:
            yield Failure(f"{path}{name}", "Missing required property")
    for name, value in inputs.items():
        if name.startswith("__"):
            continue
        if name not in kind.inputs:
            near = difflib.get_close_matches(name, kind.inputs, n=1)
            hint = f"; did you mean '{near[0]}'?" if near else ""
            yield Failure(f"{path}{name}", f"Unknown property '{name}'{hint}")
        elif value is not None:
            yield from _check_value(schema, kind.inputs[name], value, f"{path}{name}")


def _check_value(schema: Schema, shape: Shape, value: Value, path: str) -> Iterator[Failure]:
    if isinstance(value, Unknown) or shape == "any":
        return
    if isinstance(shape, str):
        wanted, fits = _SCALARS[shape]
        if not fits(value):
            yield Failure(path, f"expected {wanted}, found {_describe(value)}")
    elif "array" in shape:
        yield from _check_list(schema, shape["array"], value, path)
    elif not isinstance(value, dict):
        yield Failure(path, f"expected an object, found {_describe(value)}")
    elif "map" in shape:
        for name, item in value.items():
            yield from _check_value(schema, shape["map"], item, f'{path}["{name}"]')
    else:
        yield from check_object(schema, schema.nested(shape["ref"]), value, f"{path}.")


def _check_list(schema: Schema, shape: Shape, value: Value, path: str) -> Iterator[Failure]:
    if not isinstance(value, list):
        yield Failure(path, f"expected a list, found {_describe(value)}")
        return
    for number, item in enumerate(value):
        yield from _check_value(schema, shape, item, f"{path}[{number}]")


def _describe(value: Value) -> str:
    if isinstance(value, dict):
        return "an object"
    return "a list" if isinstance(value, list) else f"{type(value).__name__} {value!r}"
