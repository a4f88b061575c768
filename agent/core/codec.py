"""Core values to plain JSON values and back, driven by their types, so that a stored decision reruns.

Every dataclass of the core goes through here; floats keep their bits, Decimals their digits,
datetimes their offset. A value that cannot come back exactly is an error at once, not a loss later.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]

KIND = "is"


class CodecError(ValueError):
    """A stored value does not fit the type it is read as."""


def to_json(value: object) -> Json:
    """Plain values only. Dataclasses carry their class name, so that unions can be told apart."""
    if value is None or (isinstance(value, (bool, str, int, float)) and not isinstance(value, Enum)):
        return value
    simple: tuple[tuple[type, Callable[[Any], Json]], ...] = (
        (Enum, lambda item: cast(Json, item.value)),
        (Decimal, str),
        (datetime, _datetime_text),
        (date, lambda item: item.isoformat()),
        (timedelta, lambda item: item // timedelta(microseconds=1)),
        (tuple, lambda item: [to_json(part) for part in item]),
        (Mapping, lambda item: {str(key): to_json(part) for key, part in item.items()}),
    )
    for kind, encode in simple:
        if isinstance(value, kind):
            return encode(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {KIND: type(value).__name__} | {
            field.name: to_json(getattr(value, field.name)) for field in fields(value)
        }
    raise CodecError(f"{type(value).__name__} cannot be stored")


def from_json(kind: type[T], stored: object) -> T:
    """Read back what `to_json` gave for a value of type `kind`. Raises CodecError."""
    try:
        return cast(T, _decode(kind, stored))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CodecError(f"not a stored {kind.__name__}: {error}") from error


def left_out(stored: object, read: Json, where: str = "") -> tuple[str, ...]:
    """The places of `stored` that the value read from it does not have: its reader knows less than its writer did."""
    if isinstance(stored, dict) and isinstance(read, dict):
        parts = [(f"{where}.{key}".lstrip("."), part, read.get(key)) for key, part in stored.items() if key in read]
        missing = tuple(f"{where}.{key}".lstrip(".") for key in stored if key not in read)
    elif isinstance(stored, list) and isinstance(read, list):
        parts = [(f"{where}[{number}]", *pair) for number, pair in enumerate(zip(stored, read, strict=True))]
        missing = ()
    else:
        return ()
    return (*missing, *(place for name, old, new in parts for place in left_out(old, new, name)))


def _datetime_text(value: datetime) -> str:
    if value.tzinfo is None:
        raise CodecError("a time without a zone cannot be stored")
    return value.isoformat()


def _decode(kind: Any, stored: Any) -> Any:
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        return _decode_union(get_args(kind), stored)
    if origin is tuple:
        return _decode_tuple(get_args(kind), stored)
    if origin is not None and issubclass(origin, Mapping):
        _, item = get_args(kind)
        return {key: _decode(item, part) for key, part in stored.items()}
    kind = getattr(kind, "__supertype__", kind)
    if is_dataclass(kind):
        return _decode_dataclass(kind, stored)
    return _decode_scalar(kind, stored)


def _decode_union(options: tuple[Any, ...], stored: Any) -> Any:
    if stored is None:
        return None
    name = stored.get(KIND) if isinstance(stored, dict) else None
    for option in options:
        bare = getattr(option, "__supertype__", option)
        if name is not None and getattr(bare, "__name__", "") == name:
            return _decode(option, stored)
        if name is None and bare is not type(None) and not is_dataclass(bare):
            return _decode(option, stored)
    raise CodecError(f"{stored!r} fits none of {options}")


def _decode_tuple(items: tuple[Any, ...], stored: Any) -> Any:
    if len(items) == 2 and items[1] is Ellipsis:
        return tuple(_decode(items[0], part) for part in stored)
    if len(items) != len(stored):
        raise CodecError(f"expected {len(items)} parts, found {len(stored)}")
    return tuple(_decode(item, part) for item, part in zip(items, stored, strict=True))


@cache
def _hints(kind: type) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode_dataclass(kind: Any, stored: Any) -> Any:
    if stored[KIND] != kind.__name__:
        raise CodecError(f"found a {stored[KIND]}, expected a {kind.__name__}")
    hints = _hints(kind)
    # What an older version did not store takes its default; without one the KeyError tells.
    present = [field for field in fields(kind) if field.name in stored or not _has_default(field)]
    return kind(**{field.name: _decode(hints[field.name], stored[field.name]) for field in present})


def _has_default(field: Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _decode_scalar(kind: Any, stored: Any) -> Any:
    if issubclass(kind, Enum) or kind is Decimal:
        return kind(stored)
    if kind is datetime:
        return datetime.fromisoformat(stored)
    if kind is date:
        return date.fromisoformat(stored)
    if kind is timedelta:
        return timedelta(microseconds=stored)
    if kind is float and isinstance(stored, int) and not isinstance(stored, bool):
        return float(stored)
    if type(stored) is not kind:
        raise CodecError(f"{stored!r} is not a {kind.__name__}")
    return stored
