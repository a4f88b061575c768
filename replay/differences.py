"""What another policy would have changed: hour by hour where the two rented differently, and what that cost.

Compares what happened; with the whole truth on only, for nothing is rented by the node elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise

from replay.contest import Result
from replay.site.run import Replay

_MOST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """From `since` to `until` the other policy had `gpus` more rented than the first (fewer when negative), on average.

    `gpu_h` is that over the span: what it costs or saves, in rented GPU-hours.
    """

    other: str
    since: datetime
    until: datetime
    gpus: float
    gpu_h: float


def differences(first: Result, others: Sequence[Result]) -> Iterator[Difference]:
    """The spans that weigh most, for each other policy in the order given; none where nothing was rented by nodes."""
    if not isinstance(first.outcome, Replay):
        return
    for other in others:
        if isinstance(other.outcome, Replay):
            yield from _between(first.outcome, other.outcome)


def _between(first: Replay, other: Replay) -> list[Difference]:
    start = first.ground.trace.starts_at
    spans = []
    since, gpu_s, sign = 0.0, 0.0, 0
    for at, until, delta in _deltas(first, other):
        now = (delta > 0) - (delta < 0)
        if now != sign:
            spans.append((since, at, gpu_s))
            since, gpu_s, sign = at, 0.0, now
        gpu_s += delta * (until - at)
    spans.append((since, max(first.end_s, other.end_s), gpu_s))
    heaviest = sorted((span for span in spans if span[2]), key=lambda span: -abs(span[2]))[:_MOST]
    return [
        Difference(
            other=other.name,
            since=start + timedelta(seconds=since),
            until=start + timedelta(seconds=until),
            gpus=gpu_s / (until - since) if until > since else 0.0,
            gpu_h=gpu_s / 3600,
        )
        for since, until, gpu_s in sorted(heaviest)
    ]


def _deltas(first: Replay, other: Replay) -> Iterator[tuple[float, float, int]]:
    """(from, to, GPUs of other less first) over the union of both step functions."""
    times = sorted({step[0] for step in first.steps} | {step[0] for step in other.steps})
    cursors = [0, 0]
    for at, until in pairwise(times):
        rented = []
        for number, steps in enumerate((first.steps, other.steps)):
            while cursors[number] + 1 < len(steps) and steps[cursors[number] + 1][0] <= at:
                cursors[number] += 1
            rented.append(steps[cursors[number]][2] if steps and steps[0][0] <= at else 0)
        yield at, until, rented[1] - rented[0]
