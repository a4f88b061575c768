"""Playing the scenario: tick, let 30 virtual seconds pass, tick again, until all work and all nodes are gone.

A tick costs the real seconds that it takes, a `pulumi up` included; only the waiting in between is skipped.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from agent.bootstrap import Wired
from agent.errors import SpillwayError
from agent.loop import TickReport
from sim.client import Json, TwinClient
from spillway.demo.observe import Log

OnTick = Callable[[TickReport, Json | None], None]
# How often the twin's own status is asked for, for the display alone.
_STATUS_EVERY = timedelta(minutes=10)


class DemoStuck(SpillwayError):
    """The scenario did not come to rest in its time."""

    code = "demo_stuck"


def play(wired: Wired, twin: TwinClient, longest: timedelta, on_tick: OnTick) -> Log:
    """Run ticks to the end. Raises DemoStuck and what a tick raises."""
    log = Log()
    every = wired.policy.sampling.every
    begun = due = twin.clock().now
    status_due = begun
    while due - begun < longest:
        report = wired.agent.tick()
        clock = twin.clock()
        log.note(report, clock.now)
        status = None
        if clock.now >= status_due or report.changes:
            status, status_due = twin.status(), clock.now + _STATUS_EVERY
        on_tick(report, status)
        if _is_over(report, twin):
            return log
        due = _next_due(due, clock.now, every)
        twin.jump((due - clock.now).total_seconds())
    hint = "see the decisions with 'spillway decisions --all' and the twin with 'spillway twin status'"
    raise DemoStuck(f"work or nodes are left after {longest}", target="demo", hint=hint)


def _next_due(due: datetime, now: datetime, every: timedelta) -> datetime:
    """The next beat; beats that a long apply ran over are left out, as the service's scheduler does."""
    while due <= now:
        due += every
    return due


def _is_over(report: TickReport, twin: TwinClient) -> bool:
    """All jobs done, nothing configured, nothing left standing."""
    if report.snapshot is None or report.snapshot.queue or report.snapshot.cloud_nodes():
        return False
    if any(pool.nodes() for pool in report.snapshot.pools):
        return False
    return bool(twin.status()["is_done"])
