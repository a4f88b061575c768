"""Who is beaten by nobody: the Pareto front of cost and wait, for reports and sweeps. Arithmetic alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Two figures of which less is better. `unfinished` jobs make both figures look better than they are."""

    cost: float
    wait: float
    unfinished: float = 0.0


def front(standings: Sequence[Standing]) -> list[bool]:
    """For each: whether no other is as good in both and better in one, among those with the fewest unfinished jobs."""
    fewest = min((one.unfinished for one in standings), default=0.0)
    field = [one for one in standings if one.unfinished <= fewest]
    return [one.unfinished <= fewest and not any(_beats(other, one) for other in field) for one in standings]


def _beats(one: Standing, other: Standing) -> bool:
    no_worse = one.cost <= other.cost and one.wait <= other.wait
    return no_worse and (one.cost < other.cost or one.wait < other.wait)
