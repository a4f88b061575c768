"""Section `warm_pool` (R4.6): a few ready and idle nodes, so that the first tasks of a surge do not wait for a boot."""

from __future__ import annotations

from dataclasses import dataclass

from agent.core.rules.keys import OPTIONAL_TEXT, Key, Schema, Section, read_keys, schema_of, whole
from contract.fields import Fields
from contract.units import Nodes

_NONE = Nodes(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmPool:
    """So many nodes stand ready and idle in `pool`, or in any; they count against every limit. 0: off."""

    nodes: Nodes = _NONE
    pool: str | None = None


OFF = WarmPool()
_KEYS = (
    Key(name="nodes", kind=whole(0), says="ready nodes without work that are always kept; 0 switches it off"),
    Key(
        name="pool",
        kind=OPTIONAL_TEXT,
        says="where; without it the cheapest pool that is not spot is rented, and idle nodes anywhere count",
        optional=True,
    ),
)


def read(fields: Fields) -> WarmPool:
    """Read the section; problems go to its findings."""
    settings = WarmPool(**read_keys(fields, _KEYS))
    fields.done()
    return settings


def sentences(settings: WarmPool) -> tuple[str, ...]:
    """What it means, for people."""
    if not settings.nodes:
        return ()
    where = f"in {settings.pool}" if settings.pool else "in the cheapest pool that is not spot"
    return (
        f"Keeps {settings.nodes} idle nodes ready {where}, within all limits, "
        "but not while a window gives idle nodes back.",
    )


def schema() -> Schema:
    """What an editor may know of the section."""
    return schema_of("A few ready and idle nodes for the first tasks of a surge.", _KEYS)


SECTION = Section(name="warm_pool", read=read, sentences=sentences, schema=schema, off=OFF)
