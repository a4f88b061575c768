"""Section `placement` (R6.1 to R6.4): how rented capacity for a task may be paid, and how pools are weighed.

The decision matrix stands here as data, so that a site changes a line of its policy file and no code.
What a list means is in eligibility.py, what a weight means in ranking.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta

from agent.core.rules.keys import (
    FLAG,
    PERCENT,
    POSITIVE_DURATION,
    TEXTS,
    Key,
    Kind,
    Schema,
    Section,
    read_keys,
    schema_of,
)
from contract.catalog import Billing
from contract.fields import Fields
from contract.units import Percent, show_duration
from contract.work import Tier, WorkKind

_RENTED = (Billing.RESERVED, Billing.ON_DEMAND, Billing.SPOT, Billing.OFF_PEAK)
_KINDS: Mapping[WorkKind, tuple[Billing, ...]] = {
    WorkKind.PRETRAINING: (Billing.RESERVED, Billing.ON_DEMAND),
    WorkKind.INFERENCE: (Billing.RESERVED, Billing.ON_DEMAND),
    WorkKind.FINETUNING: (Billing.RESERVED, Billing.OFF_PEAK, Billing.SPOT, Billing.ON_DEMAND),
    WorkKind.HPO: (Billing.RESERVED, Billing.OFF_PEAK, Billing.SPOT, Billing.ON_DEMAND),
    WorkKind.PREPROCESSING: (Billing.OFF_PEAK, Billing.SPOT, Billing.ON_DEMAND),
    WorkKind.OTHER: _RENTED,
}
_TIERS: Mapping[Tier, tuple[Billing, ...]] = {
    Tier.PRODUCTION_CORE: _RENTED,
    Tier.PRODUCTION: _RENTED,
    Tier.CUSTOMER_SERVICE: _RENTED,
    Tier.RESEARCH: _RENTED,
    Tier.EXPLORATION: (Billing.SPOT, Billing.OFF_PEAK),
}
_TENTH = Percent(10.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRules:
    """`kinds`, `tiers`: how rented nodes for such work may be paid; both must allow a pool.

    `link_only_sites`: where data that may be read over the link only may be read. `gang_may_exceed_step`: a gang
    larger than a step is rented whole when nothing was rented before it. `checkpoint_every` and `stock_penalty`
    weigh pools against each other: work lost to an interruption, and each failure in a row to deliver.
    """

    kinds: Mapping[WorkKind, tuple[Billing, ...]] = field(default_factory=lambda: dict(_KINDS))
    tiers: Mapping[Tier, tuple[Billing, ...]] = field(default_factory=lambda: dict(_TIERS))
    link_only_sites: tuple[str, ...] = ()
    gang_may_exceed_step: bool = True
    checkpoint_every: timedelta = timedelta(hours=1)
    stock_penalty: Percent = _TENTH


DEFAULT = PlacementRules()


def _ways(value: object) -> tuple[Billing, ...]:
    known = [way.value for way in _RENTED]
    if not isinstance(value, list) or not value or len(set(map(str, value))) != len(value):
        raise ValueError(f"{value!r} is not a list of some of: {', '.join(known)}, each once")
    if wrong := [item for item in value if item not in known]:
        raise ValueError(f"{wrong[0]!r} is not one of: {', '.join(known)}")
    return tuple(Billing(item) for item in value)


_WAYS = Kind(
    read=lambda fields, key, default: fields.take(key, _ways, _ways(default), required=False),
    schema={
        "type": "array",
        "items": {"type": "string", "enum": [way.value for way in _RENTED]},
        "minItems": 1,
        "uniqueItems": True,
    },
)
_KEYS = (
    Key(
        name="link_only_sites",
        kind=TEXTS,
        says="sites where data that may be read over the link only may be read; none when absent",
        optional=True,
    ),
    Key(
        name="gang_may_exceed_step",
        kind=FLAG,
        says="a gang larger than a step is rented whole when it comes first; else it can never start in a cloud",
        default=True,
    ),
    Key(
        name="checkpoint_every",
        kind=POSITIVE_DURATION,
        says="how often work saves itself: half of it is lost when a cloud takes a node back",
        default=DEFAULT.checkpoint_every,
    ),
    Key(
        name="stock_penalty",
        kind=PERCENT,
        says="so much dearer a pool counts for each failure in a row to deliver",
        default=DEFAULT.stock_penalty,
    ),
)


def _rows(lists: Mapping[WorkKind, tuple[Billing, ...]] | Mapping[Tier, tuple[Billing, ...]]) -> tuple[Key, ...]:
    return tuple(
        Key(
            name=name.value,
            kind=_WAYS,
            says=f"how rented nodes for {name} may be paid",
            default=[way.value for way in ways],
        )
        for name, ways in lists.items()
    )


_KIND_KEYS, _TIER_KEYS = _rows(_KINDS), _rows(_TIERS)


def read(fields: Fields) -> PlacementRules:
    """Read the section; problems go to its findings."""
    kinds = fields.fields("billing_by_kind", required=False)
    tiers = fields.fields("billing_by_tier", required=False)
    by_kind = {WorkKind(name): ways for name, ways in read_keys(kinds, _KIND_KEYS).items()}
    by_tier = {Tier(name): ways for name, ways in read_keys(tiers, _TIER_KEYS).items()}
    if Billing.SPOT in by_kind[WorkKind.PRETRAINING]:
        kinds.problem("pretraining", "pre-training never runs on spot (R6.3)", "take spot out of the list")
    kinds.done()
    tiers.done()
    settings = PlacementRules(kinds=by_kind, tiers=by_tier, **read_keys(fields, _KEYS))
    fields.done()
    return settings


def sentences(settings: PlacementRules) -> tuple[str, ...]:
    """What it means, for people."""
    said = [
        f"Of the rented pools that fit, reserved ones come first, then the cheapest per GPU-hour of useful work: with "
        f"checkpoints every {show_duration(settings.checkpoint_every)}, boot time, and {settings.stock_penalty} more "
        "for each failure in a row to deliver.",
    ]
    limited = [*_limited(settings.kinds), *_limited(settings.tiers)]
    said += [f"Rents for {name} only {_listed(ways)}." for name, ways in limited]
    link = f"is read over the link at {', '.join(settings.link_only_sites)}" if settings.link_only_sites else "stays"
    said.append(f"Sensitive data never leaves; data for the link only {link}.")
    if settings.gang_may_exceed_step:
        said.append("A gang larger than a step is rented whole when it comes first.")
    return tuple(said)


def _limited(
    lists: Mapping[WorkKind, tuple[Billing, ...]] | Mapping[Tier, tuple[Billing, ...]],
) -> list[tuple[str, tuple[Billing, ...]]]:
    return [(str(name), ways) for name, ways in lists.items() if set(ways) != set(_RENTED)]


def _listed(ways: Sequence[Billing]) -> str:
    return ", ".join(way.value for way in ways)


def schema() -> Schema:
    """What an editor may know of the section."""
    lists = {
        "billing_by_kind": schema_of(
            "How rented nodes may be paid, by kind of work; the tier must allow it too.", _KIND_KEYS
        ),
        "billing_by_tier": schema_of("How rented nodes may be paid, by tier; the kind must allow it too.", _TIER_KEYS),
    }
    return schema_of("Which rented pools may take which tasks, and which comes first.", _KEYS, lists)


SECTION = Section(name="placement", read=read, sentences=sentences, schema=schema, off=DEFAULT)
