"""Which failed launch of a scaling group still counts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from agent.core.snapshot import LaunchFailure


@dataclass(frozen=True, slots=True)
class Launch:
    """One ended try to launch machines; `failure` None: it went well."""

    at: datetime
    failure: LaunchFailure | None = None


def standing_failure(launches: Sequence[Launch]) -> LaunchFailure | None:
    """The newest failure, unless a later launch went well: then the cloud delivers again.

    Of one order some machines may come and some not, at the same time: that counts as failed.
    """
    went_well = [launch.at for launch in launches if launch.failure is None]
    failures = [launch.failure for launch in launches if launch.failure is not None]
    newest = max(failures, key=lambda failure: failure.at, default=None)
    if newest is None or (went_well and max(went_well) > newest.at):
        return None
    return newest
