"""The service's clockwork: APScheduler runs the tick; what, how often, what if one was missed.

The edge of the tick: an exception of unknown kind becomes one failed tick with its trace in the log,
and the next tick comes as if nothing had been. Ticks never overlap; missed ones are run once, late.
"""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from apscheduler.schedulers.background import BackgroundScheduler
from apscheduler.triggers.interval import IntervalTrigger

from agent.errors import SpillwayError
from agent.loop import TickReport
from contract.problems import InvalidInput

_LOG = logging.getLogger("spillway")


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One row of the job table."""

    name: str
    every: timedelta
    run: Callable[[], None]


def run_tick(tick: Callable[[], TickReport], show: Callable[[TickReport], None]) -> None:
    """One tick at the edge: nothing gets past here."""
    try:
        show(tick())
    except SpillwayError as error:
        _LOG.error("tick held: %s (%s); next: %s", error, error.code, error.hint)
    except InvalidInput as error:
        _LOG.error("tick held, because a file cannot be used: %s", error)
    except Exception:
        _LOG.exception("tick failed; nothing was decided")


def serve(jobs: tuple[Job, ...], started: datetime, until: threading.Event | None = None) -> None:
    """Run the jobs until SIGTERM, SIGINT or `until`; a running tick is let finish.

    `started` is the machine's own time now (not a rehearsal's), with its zone.
    """
    stop = until or threading.Event()
    scheduler = BackgroundScheduler(timezone=UTC)
    for job in jobs:
        scheduler.add_job(
            job.run,
            IntervalTrigger(seconds=job.every.total_seconds(), timezone=UTC),
            id=job.name,
            # The first run comes at start: a restarted agent must not wait to look.
            next_run_time=started,
            coalesce=True,
            max_instances=1,
            misfire_grace_time=None,
        )

    def request_stop(*_: object) -> None:
        stop.set()

    previous = {number: signal.signal(number, request_stop) for number in (signal.SIGTERM, signal.SIGINT)}
    scheduler.start()
    try:
        stop.wait()
    finally:
        scheduler.shutdown(wait=True)
        for number, handler in previous.items():
            signal.signal(number, handler)
