"""Section `idle_reclaim` (R4.2, R4.6): in when local use stays low and a rented node has been idle."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from agent.core.rules.keys import (
    DURATION,
    FLAG,
    OPTIONAL_DURATION,
    PERCENT,
    Key,
    Schema,
    Section,
    read_keys,
    schema_of,
    whole,
)
from contract.fields import Fields
from contract.units import Nodes, Percent, show_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class IdleReclaim:
    """R4.2: in when local use stays low and a rented node has been idle.

    `keep_at_least`: a node younger than this is paid for anyway and stays. `weigh_boot`: a node must
    have idled for as long as its pool's slowest boot, the point from which buying again is no dearer.
    `spare_after`: a node idle for so long goes back however busy the owned cluster is; None: never.
    """

    local_use_at_most: Percent
    hold_for: timedelta
    node_idle_for: timedelta
    max_step: Nodes
    keep_at_least: timedelta = timedelta(0)
    weigh_boot: bool = False
    spare_after: timedelta | None = None


_KEYS = (
    Key(name="local_use_at_most", kind=PERCENT, says="local GPU use that counts as quiet"),
    Key(name="for", setting="hold_for", kind=DURATION, says="for how long it must have been so"),
    Key(name="node_idle_for", kind=DURATION, says="how long a rented node must have had no work"),
    Key(
        name="max_step_nodes",
        setting="max_step",
        kind=whole(1),
        says="most nodes given back at once; fewer than are rented at once, for too few hurt more than too many",
        default=Nodes(5),
    ),
    Key(
        name="keep_at_least",
        kind=DURATION,
        says="a node is not given back before this age: the shortest time that its cloud bills",
        default=timedelta(0),
    ),
    Key(
        name="weigh_boot",
        kind=FLAG,
        says="a node must have idled for at least as long as its pool takes to boot",
        default=False,
    ),
    Key(
        name="spare_after",
        kind=OPTIONAL_DURATION,
        says="a rented node idle for so long goes back, however busy the owned cluster is",
        optional=True,
    ),
)


def read(fields: Fields) -> IdleReclaim:
    """Read the section; problems go to its findings."""
    settings = IdleReclaim(**read_keys(fields, _KEYS))
    fields.done()
    return settings


def sentences(settings: IdleReclaim) -> tuple[str, ...]:
    """What it means, for people."""
    said = [
        f"Gives back at most {settings.max_step} nodes a step, reserved ones last, then the oldest first, when local "
        f"GPU use was at or below {settings.local_use_at_most} for {show_duration(settings.hold_for)} "
        f"and a node has been idle for {show_duration(settings.node_idle_for)}."
    ]
    if settings.spare_after is None:
        said.append(f"A node that idles while local use is above {settings.local_use_at_most} stays, and is paid.")
    else:
        span = show_duration(settings.spare_after)
        said.append(f"A node that has been idle for {span} goes back however busy the owned cluster is.")
    if settings.keep_at_least:
        said.append(f"No node is given back before it is {show_duration(settings.keep_at_least)} old.")
    if settings.weigh_boot:
        said.append("No node is given back before it has idled for as long as its pool takes to boot.")
    return tuple(said)


def schema() -> Schema:
    """What an editor may know of the section."""
    return schema_of("In: the owned cluster is quiet and rented nodes stand idle.", _KEYS)


SECTION = Section(name="idle_reclaim", read=read, sentences=sentences, schema=schema)
