"""XML bodies of AWS' query protocols. Must not know any service."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

Value = str | int | bool | None | Mapping[str, "Value"] | list["Value"]


def element(name: str, value: Value, item: str) -> str:
    """One element; `item` is what the members of a list are called (`member`, EC2: `item`). None: left out."""
    if value is None:
        return ""
    if isinstance(value, Mapping):
        inner = "".join(element(key, part, item) for key, part in value.items())
    elif isinstance(value, list):
        inner = "".join(element(item, part, item) for part in value)
    elif isinstance(value, bool):
        inner = "true" if value else "false"
    else:
        inner = escape(str(value))
    return f"<{name}>{inner}</{name}>"


def document(name: str, namespace: str, parts: Mapping[str, Value], item: str = "member") -> str:
    """A whole body."""
    inner = "".join(element(key, part, item) for key, part in parts.items())
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<{name} xmlns="{namespace}">{inner}</{name}>'
