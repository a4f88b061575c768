"""How good a forecast was: held-out weeks forecast from what came before each, and the errors beside each other.

The chosen model is the best of several on the same weeks, so its error is a little flattered; the
naive ones beside it are not chosen and stand as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from replay.forecast.demand import WEEK_HOURS, Demand, Numbers, Slots
from replay.forecast.models import HIGH, LOW, MEDIAN, MODELS, QUANTILES, Model

_JUDGED = (0.5, 0.8, 0.95)
# A surge is caught if so much of it was forecast.
_CAUGHT = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """Errors over the held-out weeks. Shares from 0 to 1; `pinball` in GPUs.

    `mape` leaves out hours in which nothing was wanted; none where all were. Shares of surges are
    none where there was nothing to catch, or no alarm.
    """

    model: str
    is_naive: bool
    wape: float
    mape: float | None
    pinball: float
    coverage_80: float
    surges: int
    surges_caught: float | None
    false_alarms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """All scores, the chosen model, and whether it beats both naive ones."""

    scores: tuple[Score, ...]
    chosen: Model
    weeks_held_out: int
    is_better: bool

    @property
    def best(self) -> Score:
        """The score of the chosen model."""
        return next(score for score in self.scores if score.model == self.chosen.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Surges:
    """What counts as a surge: more than so many GPUs; and the quantile that is planned for."""

    over_gpus: float
    plan_for: float = 0.8


def judge(demand: Demand, slots: Slots, weeks_held_out: int, surges: Surges) -> Verdict:
    """Score every model week by week, and choose by the pinball loss of p50, p80 and p95."""
    weeks = min(weeks_held_out, len(demand.gpus) // WEEK_HOURS - 1)
    first = len(demand.gpus) - weeks * WEEK_HOURS
    actual = demand.gpus[first:]
    scores = []
    for model in MODELS:
        parts = [_week(demand.gpus, slots, start, model) for start in range(first, len(demand.gpus), WEEK_HOURS)]
        scores.append(_score(model, np.concatenate(parts, axis=1), actual, surges))
    ours = min((score for score in scores if not score.is_naive), key=lambda score: score.pinball)
    naive = [score for score in scores if score.is_naive]
    return Verdict(
        scores=tuple(scores),
        chosen=next(model for model in MODELS if model.name == ours.model),
        weeks_held_out=weeks,
        is_better=all(ours.pinball < other.pinball and ours.wape < other.wape for other in naive),
    )


def _week(gpus: Numbers, slots: Slots, start: int, model: Model) -> Numbers:
    return model.predict(gpus[:start], slots.part(0, start), slots.part(start, start + WEEK_HOURS))


def _score(model: Model, made: Numbers, actual: Numbers, surges: Surges) -> Score:
    errors = np.abs(actual - made[MEDIAN])
    wanted = actual > 0
    real = runs(actual > surges.over_gpus)
    expected = made[QUANTILES.index(surges.plan_for)] > surges.over_gpus
    alarms = runs(expected)
    caught = sum(expected[first:last].mean() >= _CAUGHT for first, last in real)
    false = sum(not (actual[first:last] > surges.over_gpus).any() for first, last in alarms)
    return Score(
        model=model.name,
        is_naive=model.is_naive,
        wape=float(errors.sum() / actual.sum()) if wanted.any() else float("inf"),
        mape=float((errors[wanted] / actual[wanted]).mean()) if wanted.any() else None,
        pinball=float(np.mean([pinball(actual, made[QUANTILES.index(share)], share) for share in _JUDGED])),
        coverage_80=float(((actual >= made[LOW]) & (actual <= made[HIGH])).mean()),
        surges=len(real),
        surges_caught=float(caught / len(real)) if real else None,
        false_alarms=float(false / len(alarms)) if alarms else None,
    )


def pinball(actual: Numbers, made: Numbers, share: float) -> float:
    """What a quantile is judged by: too low costs `share` a GPU, too high the rest."""
    missed = actual - made
    return float(np.maximum(share * missed, (share - 1) * missed).mean())


def runs(marked: np.typing.NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and after-last of every run of marked hours."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], marked, [False]]).astype(np.int8)))
    return [(int(first), int(last)) for first, last in zip(edges[::2], edges[1::2], strict=True)]
