"""A clock that stands until it is moved."""

from __future__ import annotations

from datetime import datetime, timedelta

from tests.builders import NOON


class FakeClock:
    """Satisfies ports.Clock."""

    def __init__(self, at: datetime = NOON) -> None:
        self.at = at

    def now(self) -> datetime:
        return self.at

    def pass_by(self, span: timedelta) -> None:
        """Let time pass."""
        self.at += span
