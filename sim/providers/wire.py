"""Between protobuf structs and plain values: whole numbers, unknowns and secrets keep their meaning.

Signatures from Pulumi's public wire format (sdk/proto, "Property values").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import struct_pb2

# A value as JSON has it, with UNKNOWN anywhere in it.
Value = Any
Properties = dict[str, Value]

_SIGNATURE = "4dabf18193072939515e22adb298388d"
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - the wire format's mark, no secret
_OUTPUT = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_UNKNOWNS = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)


class Unknown:
    """A value that only the update itself will bring."""

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown()
_UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"


def read(struct: struct_pb2.Struct) -> tuple[Properties, frozenset[str]]:
    """The properties in clear, and the names of those that held a secret anywhere."""
    secret = frozenset(name for name, value in struct.fields.items() if _holds_secret(value))
    return {name: _plain(value) for name, value in struct.fields.items()}, secret


def write(properties: Mapping[str, Value], secret: frozenset[str] = frozenset()) -> struct_pb2.Struct:
    """Back to a struct; the named properties are marked secret as a whole."""
    struct = struct_pb2.Struct()
    for name, value in properties.items():
        wired = _wired(value)
        if name in secret:
            wrapped = struct_pb2.Struct()
            wrapped.fields[_SIGNATURE].string_value = _SECRET
            wrapped.fields["value"].CopyFrom(wired)
            wired = struct_pb2.Value(struct_value=wrapped)
        struct.fields[name].CopyFrom(wired)
    return struct


def is_known(value: Value) -> bool:
    """Whether no part of the value is unknown."""
    if isinstance(value, dict):
        return all(is_known(item) for item in value.values())
    if isinstance(value, list):
        return all(is_known(item) for item in value)
    return not isinstance(value, Unknown)


def _plain(value: struct_pb2.Value) -> Value:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _plain_struct(value.struct_value)
    if kind == "list_value":
        return [_plain(item) for item in value.list_value.values]
    if kind == "string_value":
        return UNKNOWN if value.string_value in _UNKNOWNS else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    return value.bool_value if kind == "bool_value" else None


def _plain_struct(struct: struct_pb2.Struct) -> Value:
    signature = _signature(struct)
    if signature == _SECRET:
        return _plain(struct.fields["value"])
    if signature == _OUTPUT:
        return _plain(struct.fields["value"]) if "value" in struct.fields else UNKNOWN
    return {name: _plain(value) for name, value in struct.fields.items()}


def _holds_secret(value: struct_pb2.Value) -> bool:
    kind = value.WhichOneof("kind")
    if kind == "list_value":
        return any(_holds_secret(item) for item in value.list_value.values)
    if kind != "struct_value":
        return False
    if _signature(value.struct_value) == _SECRET:
        return True
    return any(_holds_secret(item) for item in value.struct_value.fields.values())


def _signature(struct: struct_pb2.Struct) -> str:
    return struct.fields[_SIGNATURE].string_value if _SIGNATURE in struct.fields else ""


def _wired(value: Value) -> struct_pb2.Value:
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, (int, float)):
        return struct_pb2.Value(number_value=value)
    if isinstance(value, Unknown):
        return struct_pb2.Value(string_value=_UNKNOWN_TEXT)
    if isinstance(value, list):
        items = struct_pb2.ListValue(values=[_wired(item) for item in value])
        return struct_pb2.Value(list_value=items)
    if isinstance(value, dict):
        return struct_pb2.Value(struct_value=write(value))
    return struct_pb2.Value(string_value=str(value))
