"""Answers of the query API from the history: instant vectors and ranges, sound or spoilt by a fault.

Sample values are texts and times are seconds of virtual time, as on the wire. Must not know HTTP.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from sim.prometheus.history import History, Series
from sim.prometheus.selector import Selector
from sim.world.faults import Fault

ABSURD = "218322032"
SENTINEL = "9223372036854775794"
# Prometheus looks back five minutes for the last sample of a series.
LOOKBACK_S = 300.0
_SPOILT = {"nan": "NaN", "inf": "+Inf"}
_ONE_SPOILT = {"absurd": ABSURD, "sentinel": SENTINEL}


@dataclass(frozen=True, slots=True)
class Span:
    """A range of evaluation times, in virtual seconds since the origin."""

    start_s: float
    end_s: float
    step_s: float

    def times(self) -> Iterator[float]:
        """Each evaluation time."""
        count = int((self.end_s - self.start_s) / self.step_s + 1e-9)
        return (self.start_s + number * self.step_s for number in range(count + 1))


class Answers:
    """Evaluates selectors. `epoch` is the origin in Unix seconds."""

    def __init__(self, history: History, epoch: float, now: Callable[[], float]) -> None:
        self._history = history
        self._epoch = epoch
        self._now = now

    def vector(self, selector: Selector, at_s: float, fault: Fault | None) -> str:
        """The JSON of an instant query's result."""
        if fault is not None and fault.mode == "empty":
            return "[]"
        shown_s = fault.from_s if fault is not None and fault.mode == "stale" else at_s
        stamp = self._stamp(shown_s)
        rows = []
        for series in self._wanted(selector, at_s, fault):
            value = self._value(series, at_s, fault)
            if value is not None:
                rows.append((series.shown, value))
        texts = self._spoil([value for _, value in rows], fault)
        parts = (f'{{"metric":{row[0]},"value":[{stamp},"{text}"]}}' for row, text in zip(rows, texts, strict=True))
        return f"[{','.join(parts)}]"

    def matrix(self, selector: Selector, span: Span, fault: Fault | None) -> str:
        """The JSON of a range query's result."""
        if fault is not None and fault.mode == "empty":
            return "[]"
        parts = []
        for series in self._wanted(selector, span.start_s, fault):
            points = [
                (self._stamp(at_s), value)
                for at_s in span.times()
                if (value := self._value(series, at_s, fault)) is not None
            ]
            if points:
                texts = self._spoil([value for _, value in points], fault)
                values = ",".join(f'[{stamp},"{text}"]' for (stamp, _), text in zip(points, texts, strict=True))
                parts.append(f'{{"metric":{series.shown},"values":[{values}]}}')
        return f"[{','.join(parts)}]"

    def _wanted(self, selector: Selector, from_s: float, fault: Fault | None) -> Iterator[Series]:
        if fault is not None:
            from_s = min(from_s, fault.from_s)
        return (series for series in self._history.of(selector.metric, from_s) if selector.wants(series.labels))

    def _value(self, series: Series, at_s: float, fault: Fault | None) -> float | None:
        now_s = self._now()
        if at_s > now_s + LOOKBACK_S:
            return None
        seen_s = min(at_s, now_s)
        if fault is not None and fault.mode in ("stale", "gap") and seen_s > fault.from_s:
            if fault.mode == "gap" and seen_s > fault.from_s + LOOKBACK_S:
                return None
            seen_s = fault.from_s
        return series.at(seen_s)

    def _spoil(self, values: list[float], fault: Fault | None) -> list[str]:
        texts = [f"{value:g}" for value in values]
        mode = fault.mode if fault is not None else ""
        if mode in _SPOILT:
            return [_SPOILT[mode]] * len(texts)
        if mode in _ONE_SPOILT and texts:
            texts[len(texts) // 2] = _ONE_SPOILT[mode]
        return texts

    def _stamp(self, at_s: float) -> str:
        return f"{self._epoch + at_s:.3f}".rstrip("0").rstrip(".")
