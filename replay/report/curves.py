"""Demand, owned use and rented capacity over time, from a run of either world, thinned out for a picture.

Thinning keeps the peaks: of each stretch of time the step of least and of most demand, of most rented, and the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import inf

from replay.charts import Curves, Step
from replay.contest import Arena
from replay.instant.jobs import Outcome
from replay.site.run import Replay

MOST_POINTS = 1500
_A_STRETCH = 4


def curves(arena: Arena, outcome: Outcome | Replay, most: int = MOST_POINTS) -> Curves:
    """At most `most` steps."""
    if isinstance(outcome, Replay):
        steps: Sequence[Step] = outcome.steps
        end = max((story.ended_s for story in outcome.stories if story.ended_s < inf), default=0.0)
    else:
        steps = instant_steps(outcome)
        end = 0.0
    end_s = max(end, steps[-1][0] if steps else 0.0)
    return Curves(
        steps=thinned(steps, most),
        owned=arena.owned_nodes * arena.per_node,
        starts_at=arena.trace.starts_at,
        end_s=end_s,
    )


def instant_steps(outcome: Outcome) -> list[Step]:
    """Steps of a run in a cloud without boots: what is rented is what runs there."""
    steps: list[Step] = []
    demand = rented = busy = 0
    for at, events in groupby(sorted(_events(outcome)), key=lambda event: event[0]):
        for _, wanted, away, here in events:
            demand, rented, busy = demand + wanted, rented + away, busy + here
        if not steps or steps[-1][1:] != (demand, rented, busy):
            steps.append((at, demand, rented, busy))
    return steps


def thinned(steps: Sequence[Step], most: int = MOST_POINTS) -> Sequence[Step]:
    """At most `most` of the steps, the first and the last among them."""
    if len(steps) <= most:
        return steps
    stretches = (most - 2) // _A_STRETCH
    start, span = steps[0][0], (steps[-1][0] - steps[0][0]) or 1.0
    kept = {0, len(steps) - 1}
    numbered = groupby(
        range(len(steps)), key=lambda n: min(int((steps[n][0] - start) / span * stretches), stretches - 1)
    )
    for _, members in numbered:
        stretch = list(members)
        kept |= {min(stretch, key=lambda n: steps[n][1]), max(stretch, key=lambda n: steps[n][1])}
        kept |= {max(stretch, key=lambda n: steps[n][2]), stretch[-1]}
    return [steps[number] for number in sorted(kept)]


def _events(outcome: Outcome) -> Iterator[Step]:
    """(second, more demand, more rented, more owned in use); jobs want GPUs from arrival to end."""
    columns = outcome.columns
    rows = zip(columns.arrival_h, columns.runtime_h, columns.gpus, outcome.start_h, outcome.in_cloud, strict=True)
    for arrival, runtime, gpus, start, away in rows:
        if start == inf:
            yield arrival * 3600, gpus, 0, 0
            continue
        rented, here = (gpus, 0) if away else (0, gpus)
        yield arrival * 3600, gpus, 0, 0
        yield start * 3600, 0, rented, here
        yield (start + runtime) * 3600, -gpus, -rented, -here
