"""Virtual time: an origin, real elapsed time times a speed, and jumps.

The only place of the twin that asks the machine for the time. Speed 1 with jumps is the demo's
virtual clock, on which a real `pulumi up` costs the real seconds that it took; speed 60 is a live
twin. Must not know what happens at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

VIRTUAL_SPEED = 1.0


class Clock:
    """Virtual seconds since `origin`; they never run backwards."""

    def __init__(
        self,
        origin: datetime,
        speed: float = VIRTUAL_SPEED,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        if origin.tzinfo is None:
            raise ValueError("the origin needs a time zone, such as 2026-11-30T08:00:00+00:00")
        if not 0 <= speed <= 100_000:
            raise ValueError(f"a speed of {speed} is outside 0 to 100000")
        self.origin = origin.astimezone(UTC)
        self.speed = speed
        self._monotonic = monotonic
        self._started = monotonic()
        self._jumped_s = 0.0

    def seconds(self) -> float:
        """Virtual seconds since the origin."""
        return (self._monotonic() - self._started) * self.speed + self._jumped_s

    def now(self) -> datetime:
        """The virtual time as an aware datetime in UTC."""
        return self.origin + timedelta(seconds=self.seconds())

    def jump(self, seconds: float) -> float:
        """Move the time forward; gives the new virtual seconds."""
        if not 0 <= seconds < float("inf"):
            raise ValueError(f"cannot jump by {seconds} seconds; time only runs forward")
        self._jumped_s += seconds
        return self.seconds()
