"""Section `limits`: caps over everything that is rented, whoever wants it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from agent.core.rules.keys import MONEY, POSITIVE_DURATION, SIZES, Key, Schema, Section, read_keys, schema_of, whole
from contract.fields import Fields
from contract.units import Money, Nodes, show_duration


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Caps that no policy may pass.

    `max_nodes_in`: by pool, below its quota. `commit_for`: what renting a node commits to at once, for
    the budget: the shortest time that is paid.
    """

    max_cloud_nodes: Nodes
    max_cost_per_hour: Money
    max_nodes_in: Mapping[str, Nodes] = field(default_factory=dict)
    commit_for: timedelta = timedelta(hours=1)


_KEYS = (
    Key(name="max_cloud_nodes", kind=whole(0), says="most rented nodes in all"),
    Key(name="max_cost_per_hour", kind=MONEY, says="most that all rented nodes may cost an hour"),
    Key(
        name="max_nodes_in",
        kind=SIZES,
        says="most nodes in one pool, where that is to be less than its quota",
        optional=True,
    ),
    Key(
        name="commit_for",
        kind=POSITIVE_DURATION,
        says="how long a new node is paid at least: so much must be left in the budget to rent it",
        default=timedelta(hours=1),
    ),
)


def read(fields: Fields) -> Limits:
    """Read the section; problems go to its findings."""
    settings = Limits(**read_keys(fields, _KEYS))
    fields.done()
    return settings


def sentences(settings: Limits) -> tuple[str, ...]:
    """What it means, for people."""
    said = [f"Never rents more than {settings.max_cloud_nodes} nodes or {settings.max_cost_per_hour} an hour in all."]
    said += [f"Never rents more than {nodes} nodes of {pool}." for pool, nodes in settings.max_nodes_in.items()]
    said.append(f"Rents a node only when {show_duration(settings.commit_for)} of it fits in what the budget has left.")
    return tuple(said)


def schema() -> Schema:
    """What an editor may know of the section."""
    return schema_of("Caps over everything that is rented.", _KEYS)


SECTION = Section(name="limits", read=read, sentences=sentences, schema=schema)
