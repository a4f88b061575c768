"""The agenda: what is due when, run in exact time order, first come first served at equal times.

Deterministic by construction. Must not know what its actions do, and never asks the machine's clock.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

Action = Callable[[], object]


@dataclass(slots=True)
class Event:
    """One due action; cancelling it is final."""

    when_s: float
    action: Action
    is_cancelled: bool = False

    def cancel(self) -> None:
        """The action will not run."""
        self.is_cancelled = True


class Agenda:
    """Events ahead of `now_s`; running them moves `now_s`, never backwards."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self._heap: list[tuple[float, int, Event]] = []
        self._count = 0

    def at(self, when_s: float, action: Action) -> Event:
        """Run `action` at `when_s`. A time that has passed is an error of the caller."""
        if not when_s >= self.now_s:
            raise ValueError(f"{when_s} s has passed; it is {self.now_s} s")
        event = Event(when_s, action)
        heapq.heappush(self._heap, (when_s, self._count, event))
        self._count += 1
        return event

    def after(self, delay_s: float, action: Action) -> Event:
        """Run `action` in `delay_s` seconds."""
        return self.at(self.now_s + delay_s, action)

    def run_until(self, end_s: float) -> None:
        """Run all that is due up to and including `end_s`, then stand at `end_s`."""
        if not end_s >= self.now_s:
            raise ValueError(f"time runs forward only: {end_s} s lies before {self.now_s} s")
        while self._heap and self._heap[0][0] <= end_s:
            self.now_s, _, event = heapq.heappop(self._heap)
            if not event.is_cancelled:
                event.action()
        self.now_s = end_s
