"""A trace that was played: every entrant's result, the best possible, what another policy would have changed."""

from __future__ import annotations

from dataclasses import dataclass

from replay.bounds import Best
from replay.contest import Arena, Result
from replay.differences import Difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """`results` in the order asked for; the first is the policy that is judged."""

    arena: Arena
    results: tuple[Result, ...]
    best: Best | None
    differences: tuple[Difference, ...]
