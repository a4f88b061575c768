"""Section `wait_or_pay` (R6.5): how long a waiting task is worth its cloud GPU-hours, and how that joins R4.1."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum

from agent.core.rules.keys import (
    OPTIONAL_DURATION,
    POSITIVE_DURATION,
    Key,
    Schema,
    Section,
    choice,
    read_keys,
    schema_of,
    whole,
)
from contract.fields import Fields
from contract.units import show_duration
from contract.work import Tier


class Join(StrEnum):
    """Who says when to rent, and for whom. THRESHOLDS: R4.1 says both. PATIENCE: wait-or-pay says both.

    BOTH: the thresholds say when, patience says which tasks leave and with that how many nodes.
    """

    THRESHOLDS = "thresholds"
    BOTH = "both"
    PATIENCE = "patience"


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitOrPay:
    """`patience`: the wait of one task that one GPU-hour of cloud is worth. `longest`: no task waits longer, by tier.

    `assumed_runtime` stands in for a task whose runtime nobody can estimate. `look_at`: so many waiting tasks are
    planned, in the order of their patience; those behind them wait for their turn. `weary_after`: after this wait a
    further hour counts twice, so that very long waits become rarer, at a price; None: every hour counts alike.
    """

    join: Join
    patience: timedelta
    longest: Mapping[Tier, timedelta]
    assumed_runtime: timedelta
    look_at: int
    weary_after: timedelta | None = None


_LONGEST = {
    Tier.PRODUCTION_CORE: timedelta(minutes=5),
    Tier.PRODUCTION: timedelta(hours=2),
    Tier.CUSTOMER_SERVICE: timedelta(minutes=30),
    Tier.RESEARCH: timedelta(hours=24),
    Tier.EXPLORATION: timedelta(days=3),
}
OFF = WaitOrPay(
    join=Join.THRESHOLDS,
    patience=timedelta(minutes=6),
    longest=_LONGEST,
    assumed_runtime=timedelta(hours=1),
    look_at=64,
)
_KEYS = (
    Key(
        name="join",
        kind=choice(Join),
        says="thresholds: R4.1 alone; both: R4.1 says when, patience says who leaves; patience: patience alone",
        default=Join.BOTH,
    ),
    Key(
        name="patience",
        kind=POSITIVE_DURATION,
        says="the wait of one task that one GPU-hour of cloud is worth: longer is cheaper and slower",
        default=OFF.patience,
    ),
    Key(
        name="assumed_runtime",
        kind=POSITIVE_DURATION,
        says="for tasks whose runtime nobody can estimate",
        default=OFF.assumed_runtime,
    ),
    Key(
        name="weary_after",
        kind=OPTIONAL_DURATION,
        says="after this wait a further hour of one task's wait counts twice: rarer long waits, a higher bill",
        optional=True,
    ),
    Key(name="look_at", kind=whole(1), says="how many waiting tasks are planned at once", default=OFF.look_at),
)
_TIER_KEYS = tuple(
    Key(
        name=tier.value,
        kind=POSITIVE_DURATION,
        says=f"the longest that a task of {tier} waits for an owned GPU",
        default=longest,
    )
    for tier, longest in _LONGEST.items()
)


def read(fields: Fields) -> WaitOrPay:
    """Read the section; problems go to its findings."""
    tiers = fields.fields("longest", required=False)
    longest = {Tier(name): span for name, span in read_keys(tiers, _TIER_KEYS).items()}
    tiers.done()
    settings = WaitOrPay(longest=longest, **read_keys(fields, _KEYS))
    fields.done()
    return settings


def sentences(settings: WaitOrPay) -> tuple[str, ...]:
    """What it means, for people."""
    if settings.join is Join.THRESHOLDS:
        return ()
    when = {
        Join.BOTH: "When the thresholds of queue_pressure are met, a task leaves for the cloud",
        Join.PATIENCE: "Whatever the thresholds of queue_pressure, a task leaves for the cloud",
    }[settings.join]
    spans = ", ".join(f"{tier} {show_duration(span)}" for tier, span in settings.longest.items())
    return (
        f"{when} as soon as the waiting that this saves is worth its GPU-hours, at {show_duration(settings.patience)} "
        "of one task's wait to the GPU-hour; else it waits for an owned GPU.",
        f"A task that has waited for as long as its tier allows is rented for, thresholds or not: {spans}.",
    )


def schema() -> Schema:
    """What an editor may know of the section."""
    tiers = schema_of("The longest wait for an owned GPU, by tier.", _TIER_KEYS)
    return schema_of("Which tasks leave for the cloud, and which wait.", _KEYS, {"longest": tiers})


SECTION = Section(name="wait_or_pay", read=read, sentences=sentences, schema=schema, off=OFF)
