"""A section of the policy file as one table: reading, default and JSON schema come from the same row.

Written twice, the schema that editors use and the reader that decides would drift apart. Must not
know any particular section.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from typing import Any, Generic, TypeVar

from contract.fields import Fields
from contract.hours import CLOCK_TIME_PATTERN, parse_clock_time, parse_zone
from contract.units import Nodes, Percent, currencies, parse_duration, show_duration

S = TypeVar("S")
Schema = dict[str, Any]

_DURATION = {"type": "string", "pattern": r"^([0-9]+(\.[0-9]+)?[smhd])+$", "examples": ["30s", "5m", "1h30m", "7d"]}
_NO_MEMBERS: tuple[StrEnum, ...] = ()
_NO_SPAN: timedelta | None = None
_NO_DATES: tuple[date, ...] = ()
_NO_SIZES: Mapping[str, Nodes] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """How a value is read (fields, key, default; None means required) and what an editor may know of it.

    `absent` is what an optional key reads as when it is not there.
    """

    read: Callable[[Fields, str, Any], Any]
    schema: Mapping[str, Any]
    absent: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """One key of a section. `setting` is its name in the dataclass where it differs.

    Without `default` the key must be there; `optional` is for kinds whose absence is a value of its own.
    A default may be reckoned from the values read before it.
    """

    name: str
    kind: Kind
    says: str
    setting: str = ""
    default: Any = None
    optional: bool = False

    @property
    def is_required(self) -> bool:
        """Whether the key must stand in the file."""
        return self.default is None and not self.optional


@dataclass(frozen=True, slots=True, kw_only=True)
class Section(Generic[S]):
    """One section of the file. `off` is what an absent one reads as; None: it must be there."""

    name: str
    read: Callable[[Fields], S]
    sentences: Callable[[S], tuple[str, ...]]
    schema: Callable[[], Schema]
    off: S | None = None


def read_keys(fields: Fields, keys: Iterable[Key]) -> dict[str, Any]:
    """The values of all keys, by setting. Does not close the mapping: a section may read more."""
    values: dict[str, Any] = {}
    for key in keys:
        default = key.default(values) if callable(key.default) else key.default
        if key.optional and default is None:
            default = key.kind.absent
        values[key.setting or key.name] = key.kind.read(fields, key.name, default)
    return values


def schema_of(says: str, keys: Sequence[Key], more: Mapping[str, Schema] | None = None) -> Schema:
    """The JSON schema of one mapping; a key that it does not name is refused."""
    return {
        "type": "object",
        "description": says,
        "additionalProperties": False,
        "required": [key.name for key in keys if key.is_required],
        "properties": {key.name: _property(key) for key in keys} | dict(more or {}),
    }


def rows_schema(says: str, row: Schema) -> Schema:
    """The JSON schema of a list of mappings."""
    return {"type": "array", "description": says, "items": row}


def whole(at_least: int = 0, at_most: int | None = None) -> Kind:
    """A whole number within bounds."""
    upper = {} if at_most is None else {"maximum": at_most}
    return Kind(
        read=lambda fields, key, default: fields.integer(key, at_least=at_least, at_most=at_most, default=default),
        schema={"type": "integer", "minimum": at_least} | upper,
        absent=0,
    )


def choice(kind: type[StrEnum]) -> Kind:
    """One value of an enum."""
    return Kind(
        read=lambda fields, key, default: fields.choice(key, kind, default),
        schema={"type": "string", "enum": [member.value for member in kind]},
    )


def choices(kind: type[StrEnum]) -> Kind:
    """Some values of an enum; none when absent."""

    def parse(value: object) -> tuple[StrEnum, ...]:
        known = ", ".join(member.value for member in kind)
        if not isinstance(value, list) or not value or len(set(map(str, value))) != len(value):
            raise ValueError(f"{value!r} is not a list of some of: {known}, each once")
        if wrong := [item for item in value if item not in list(kind)]:
            raise ValueError(f"{wrong[0]!r} is not one of: {known}")
        return tuple(kind(item) for item in value)

    return Kind(
        read=lambda fields, key, _default: fields.take(key, parse, _NO_MEMBERS, required=False),
        schema={
            "type": "array",
            "items": {"type": "string", "enum": [member.value for member in kind]},
            "minItems": 1,
            "uniqueItems": True,
        },
    )


def _above_zero(value: object) -> timedelta:
    duration = parse_duration(value)
    if duration <= timedelta(0):
        raise ValueError(f"{value!r} must be above 0")
    return duration


def _dates(value: object) -> tuple[date, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError(f"{value!r} is not a list of dates; write it such as [2026-10-01, 2026-10-02]")
    return tuple(sorted({item if isinstance(item, date) else date.fromisoformat(str(item)) for item in value}))


def _sizes(value: object) -> Mapping[str, Nodes]:
    if not isinstance(value, Mapping):
        raise ValueError(f"{value!r} is not a list of 'pool: nodes'")
    for pool, nodes in value.items():
        if isinstance(nodes, bool) or not isinstance(nodes, int) or nodes < 0:
            raise ValueError(f"{nodes!r} of {pool} is not a number of nodes")
    return {str(pool): Nodes(nodes) for pool, nodes in value.items()}


def _property(key: Key) -> Schema:
    default = {} if key.default is None or callable(key.default) else {"default": _shown(key.default)}
    return dict(key.kind.schema) | {"description": key.says} | default


def _shown(default: Any) -> Any:
    if isinstance(default, timedelta):
        return show_duration(default)
    return f"{default.value:g}%" if isinstance(default, Percent) else default


_DATE = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
_PERCENT_TEXT = {"type": "string", "pattern": r"^([0-9]+|[0-9]+(\.[0-9]+)? ?%)$"}

DURATION = Kind(read=lambda fields, key, default: fields.duration(key, default), schema=_DURATION)
POSITIVE_DURATION = Kind(
    read=lambda fields, key, default: fields.take(
        key, _above_zero, default or timedelta(minutes=1), required=default is None
    ),
    schema=_DURATION,
)
OPTIONAL_DURATION = Kind(
    read=lambda fields, key, _default: fields.take(key, _above_zero, _NO_SPAN, required=False), schema=_DURATION
)
PERCENT = Kind(
    read=lambda fields, key, default: fields.percent(key, default),
    schema={"anyOf": [_PERCENT_TEXT, {"type": "integer", "minimum": 0, "maximum": 100}]},
)
OPTIONAL_PERCENT = Kind(
    read=lambda fields, key, _default: fields.percent(key) if key in fields else None, schema=PERCENT.schema
)
MONEY = Kind(
    read=lambda fields, key, _default: fields.money(key),
    schema={"type": "string", "pattern": rf"^[0-9][0-9,]*(\.[0-9]+)? ({'|'.join(currencies())})$"},
)
FLAG = Kind(read=lambda fields, key, default: fields.flag(key, default=default), schema={"type": "boolean"})
TEXT = Kind(read=lambda fields, key, default: fields.text(key, default), schema={"type": "string", "minLength": 1})
OPTIONAL_TEXT = Kind(read=lambda fields, key, _default: fields.optional_text(key), schema=TEXT.schema)
TEXTS = Kind(
    read=lambda fields, key, _default: fields.texts(key, ()),
    schema={"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1, "uniqueItems": True},
)
DATE = Kind(read=lambda fields, key, _default: fields.date(key), schema=_DATE)
DATES = Kind(
    read=lambda fields, key, _default: fields.take(key, _dates, _NO_DATES, required=False),
    schema={"type": "array", "items": _DATE, "minItems": 1},
)
CLOCK_TIME = Kind(
    read=lambda fields, key, default: fields.take(
        key, parse_clock_time, default or timedelta(0), required=default is None
    ),
    schema={"type": "string", "pattern": CLOCK_TIME_PATTERN, "examples": ["02:00"]},
)
ZONE = Kind(
    read=lambda fields, key, default: fields.take(key, parse_zone, default or "UTC", required=default is None),
    schema={"type": "string", "examples": ["Asia/Shanghai", "Europe/Berlin", "UTC"]},
)
OWN_ZONE = Kind(read=lambda fields, key, _default: fields.take(key, parse_zone, "", required=False), schema=ZONE.schema)
SIZES = Kind(
    read=lambda fields, key, _default: fields.take(key, _sizes, _NO_SIZES, required=False),
    schema={"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}},
)
