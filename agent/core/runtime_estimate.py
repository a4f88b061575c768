"""How long will a task run? Learned from tasks that ended, for the wait-or-pay rule (R6.5).

Run times have heavy tails, so everything is a quantile: of the last 50 of the nearest kin, drawn
towards wider kin while there are few. Whoever submitted it and of what kind and size says most, then
department and kind, then size, then everything. The one mutable value of the core: a frozen history
would be copied for each of a million tasks. The same calls in the same order give the same answers.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections import deque
from dataclasses import dataclass, field
from datetime import datetime

from contract.work import WorkKind

KEPT = 50
# The live agent believes no kin of which fewer ended: two or three tasks are an anecdote.
LEAST = 5
# So many observations of wider kin every quantile starts with.
WEIGHT_OF_KIN = 4
# Fewer that ran so long say nothing about how long one more will go on.
ENOUGH_SURVIVORS = 3
_LOW, _MEDIAN, _HIGH = 0.1, 0.5, 0.9

Kin = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeKey:
    """What is known of a task when it arrives. Without a user the department stands for one."""

    department: str
    kind: WorkKind
    gpus: int
    user: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Seconds: half of such tasks ran no longer than `median_s`, 8 of 10 between low and high; `mean_s` is for costs.

    The next task is less like them than they are like each other: on recorded traces 5 to 7 of 10 fell in between.
    `from_what` names the nearest kin with anything seen, `seen` how many of it are kept; 0: a guess. `kin`: that kin,
    of which the oldest that is kept ended at `since`.
    """

    median_s: float
    low_s: float
    high_s: float
    mean_s: float
    from_what: str
    seen: int
    kin: str = ""
    since: datetime | None = None


NOTHING_SEEN = Estimate(
    median_s=3600.0, low_s=60.0, high_s=86_400.0, mean_s=7200.0, from_what="nothing has ended yet", seen=0
)


@dataclass(slots=True)
class _Kept:
    """The last run times of one kin, by age and by length."""

    by_age: deque[tuple[float, datetime | None]] = field(default_factory=deque)
    by_length: list[float] = field(default_factory=list)

    def add(self, runtime_s: float, ended_at: datetime | None) -> None:
        if len(self.by_age) == KEPT:
            del self.by_length[bisect_left(self.by_length, self.by_age.popleft()[0])]
        self.by_age.append((runtime_s, ended_at))
        insort(self.by_length, runtime_s)

    def beyond(self, ran_s: float) -> list[float]:
        """What longer ones ran on after that time, the shortest first."""
        return [runtime_s - ran_s for runtime_s in self.by_length[bisect_right(self.by_length, ran_s) :]]


class RuntimeBook:
    """What was learned so far. Both calls cost the same however much was learned: four kin, 50 run times each."""

    def __init__(self) -> None:
        self._kept: dict[Kin, _Kept] = {}

    def learn(self, key: RuntimeKey, runtime_s: float, ended_at: datetime | None = None) -> None:
        """A task ended after so long. What is no run time (NaN, endless, nothing or less) teaches nothing."""
        if not (math.isfinite(runtime_s) and runtime_s > 0):
            return
        for kin, _ in _kin(key):
            self._kept.setdefault(kin, _Kept()).add(runtime_s, ended_at)

    def estimate(self, key: RuntimeKey, least: int = 1) -> Estimate:
        """The run time of a task that arrives, from kin of which at least so many ended."""
        known = self._known(key, least)
        if not known:
            return NOTHING_SEEN
        low_s, median_s, high_s = (_drawn(known, share) for share in (_LOW, _MEDIAN, _HIGH))
        kept, from_what = known[0]
        return Estimate(
            median_s=median_s,
            low_s=low_s,
            high_s=high_s,
            mean_s=math.fsum(kept.by_length) / len(kept.by_length),
            from_what=from_what,
            seen=len(kept.by_length),
            kin=from_what,
            since=kept.by_age[0][1],
        )

    def remaining(self, key: RuntimeKey, ran_s: float, least: int = 1) -> Estimate:
        """How much longer a task will run that has run for `ran_s`: what those ran on that ran longer.

        Where hardly any did, as long again: of a heavy tail, the longer it ran the longer it will.
        """
        if ran_s <= 0:
            return self.estimate(key, least)
        for kept, from_what in self._known(key, least):
            left = kept.beyond(ran_s)
            if len(left) >= ENOUGH_SURVIVORS:
                return Estimate(
                    median_s=_quantile(left, _MEDIAN),
                    low_s=_quantile(left, _LOW),
                    high_s=_quantile(left, _HIGH),
                    mean_s=math.fsum(left) / len(left),
                    from_what=f"{from_what} that ran longer",
                    seen=len(left),
                    kin=from_what,
                    since=kept.by_age[0][1],
                )
        return Estimate(
            median_s=ran_s,
            low_s=ran_s / 9,
            high_s=ran_s * 9,
            mean_s=ran_s,
            from_what="hardly any ran so long",
            seen=0,
        )

    def _known(self, key: RuntimeKey, least: int) -> list[tuple[_Kept, str]]:
        """What is kept of the task's kin, the nearest first; kin of which fewer ended are passed over."""
        found = ((self._kept.get(kin), says) for kin, says in _kin(key))
        return [(kept, says) for kept, says in found if kept is not None and len(kept.by_length) >= least]


def kin_names(key: RuntimeKey) -> tuple[str, ...]:
    """All kin in words, the nearest first: tasks with the same words are kept together."""
    return tuple(says for _, says in _kin(key))


def _kin(key: RuntimeKey) -> tuple[tuple[Kin, str], ...]:
    """The nearest first."""
    size = gpus_class(key.gpus)
    who = ("user", key.user) if key.user else ("department", key.department)
    return (
        ((*who, key.kind, size), f"{key.kind} of {who[0]} {who[1]} on {size} GPUs"),
        ((key.department, key.kind), f"{key.kind} of department {key.department}"),
        ((size,), f"tasks on {size} GPUs"),
        ((), "all tasks"),
    )


def gpus_class(gpus: int) -> str:
    """Sizes that are alike: 1, 2, 3-4, 5-8, 9-16 and so on."""
    most = 1 << max(gpus - 1, 0).bit_length()
    return str(most) if most <= 2 else f"{most // 2 + 1}-{most}"


def _drawn(known: list[tuple[_Kept, str]], share: float) -> float:
    """A quantile of the nearest kin, drawn on the scale of logarithms towards that of wider kin while few are kept."""
    drawn = math.log(_quantile(known[-1][0].by_length, share))
    for kept, _ in reversed(known[:-1]):
        own, seen = math.log(_quantile(kept.by_length, share)), len(kept.by_length)
        drawn = (seen * own + WEIGHT_OF_KIN * drawn) / (seen + WEIGHT_OF_KIN)
    return math.exp(drawn)


def _quantile(lengths: list[float], share: float) -> float:
    """Between neighbours by their ratio, since lengths spread by factors."""
    place = share * (len(lengths) - 1)
    below = math.floor(place)
    low, high = lengths[below], lengths[math.ceil(place)]
    return float(low * (high / low) ** (place - below))
