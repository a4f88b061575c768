"""`spillway run`, `tick` and `status`: the agent as a service, once, or only looking."""

from __future__ import annotations

import json
import logging
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.markup import escape

from agent.bootstrap import Wired, only_agent
from agent.core.costing import rented_cost
from agent.core.decision import Action, Decision, ReasonCode
from agent.core.explain import headline, sentences
from agent.core.policies.floors import show_order
from agent.core.snapshot import PoolState, Snapshot, Unknown
from agent.errors import BadSettings, ExitCode
from agent.loop import TickReport
from agent.schedule import Job, run_tick, serve
from spillway.commands.history import money_data
from spillway.commands.order import what_is_ordered
from spillway.output import Format, OutputOption, console, plain, print_json, table
from spillway.wiring import TwinOption, wire

_LOG = logging.getLogger("spillway")
_ALARMING = (ReasonCode.SIGNAL_UNKNOWN, ReasonCode.NOTHING_FITS)
# Ticks after which a reason that lasts is said again: ten minutes of 30 s ticks.
_REMIND_EVERY = 20


def run(twin: TwinOption = False, output: OutputOption = Format.TEXT) -> None:
    """Run the agent until it is told to stop; one line a decision, as text or as JSON."""
    wired = wire(twin, _LOG.info)
    every = _tick_interval(wired)
    show = TickLog() if output is Format.TEXT else _print_tick_line
    job = Job(name="tick", every=every, run=lambda: run_tick(wired.agent.tick, show))
    with only_agent(wired):
        pools = len(wired.catalog.cloud_pools())
        _LOG.info("spillway watches %d pools every %g s; stop with Ctrl-C", pools, every.total_seconds())
        serve((job,), datetime.now(UTC))


def tick(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="decide and show; touch and record nothing")] = False,
    twin: TwinOption = False,
    output: OutputOption = Format.TEXT,
) -> int:
    """Run one tick: sense, decide, act, record."""
    wired = wire(twin, _LOG.info)
    if dry_run:
        report = wired.agent.dry_run()
    else:
        with only_agent(wired):
            report = wired.agent.tick()
    if output is Format.JSON:
        print_json(_tick_data(report))
    else:
        _print_tick(report, dry_run=dry_run)
    if report.error:
        return report.error.exit_code
    is_blind = report.decision is not None and report.decision.chosen.reason.code is ReasonCode.SIGNAL_UNKNOWN
    return ExitCode.STALE_INPUTS if is_blind else ExitCode.OK


def status(twin: TwinOption = False, output: OutputOption = Format.TEXT) -> int:
    """Show load, queue, pools and the hourly bill, as the agent sees them now."""
    wired = wire(twin)
    snapshot = wired.agent.look()
    is_blind = isinstance(snapshot.local_use, Unknown) or isinstance(snapshot.queue, Unknown)
    code = ExitCode.STALE_INPUTS if is_blind or snapshot.blind_stacks else ExitCode.OK
    if output is Format.JSON:
        print_json(_status_data(snapshot))
        return code
    out = console()
    cost = rented_cost(snapshot)
    use, queued = escape(_show(snapshot.local_use)), escape(_show(snapshot.queued_tasks()))
    out.print(f"[bold]local use {use}[/], {queued} tasks queued, {snapshot.cloud_nodes()} rented nodes, {cost} an hour")
    headings = ("pool", "configured", "applied", "ready", "coming", "busy", "last failure")
    rows = [_pool_cells(pool) for pool in snapshot.pools]
    out.print(table(headings, rows, numbers=("configured", "applied", "ready", "coming", "busy")))
    for order in snapshot.orders:
        if order.is_active(snapshot.taken_at):
            out.print(f"order: {what_is_ordered(order)}; {escape(show_order(order))}")
    for note in snapshot.notes:
        out.print(f"note: {escape(note)}")
    return code


def _tick_interval(wired: Wired) -> timedelta:
    """Seconds of this machine between ticks. Raises BadSettings for one under which no window ever fills."""
    every = wired.policy.sampling.every
    if wired.tick_seconds is None:
        return every
    interval = timedelta(seconds=wired.tick_seconds)
    if not wired.is_rehearsal and interval > every:
        hint = f"set it to {every.total_seconds():g} or less, or lengthen sampling.every in policy.yaml"
        raise BadSettings("leaves holes in every window", target="SPILLWAY_TICK_SECONDS", hint=hint)
    return interval


@dataclass(slots=True)
class TickLog:
    """One line for each tick in which something happened or the reason to hold changed.

    A reason that lasts is said again now and then: silence must not look like health.
    """

    _said: str = ""
    _since: int = 0

    def __call__(self, report: TickReport) -> None:
        """Log one tick."""
        for note in report.notes:
            _LOG.info("%s", note)
        for event in report.events:
            if not event.is_legal:
                _LOG.warning(
                    "unexpected: %s of %s went from %s to %s", event.node, event.pool, event.before, event.after
                )
        if report.error:
            _LOG.error("%s; next: %s", report.error, report.error.hint)
        if report.decision is None:
            return
        if report.decision.action is not Action.HOLD:
            withdrawn = f" Withdrawn: {report.withdrawn}." if report.withdrawn else ""
            _LOG.info("decision %s: %s%s", report.decision_id, headline(report.decision), withdrawn)
        self._log_hold(report.decision)

    def _log_hold(self, decision: Decision) -> None:
        reason = decision.chosen.reason
        code = reason.code.value if decision.action is Action.HOLD else ""
        self._since += 1
        if code == self._said and self._since < _REMIND_EVERY:
            return
        if code and (code != self._said or reason.code is not ReasonCode.NOTHING_TO_DO):
            level = logging.WARNING if reason.code in _ALARMING else logging.INFO
            _LOG.log(level, "hold (%s): %s", code, reason.text)
        self._said, self._since = code, 0


def _print_tick_line(report: TickReport) -> None:
    """A JSON line for each tick that decided something, did something or was held by an error."""
    if report.error or report.notes or (report.decision and report.decision.action is not Action.HOLD):
        sys.stdout.write(json.dumps(_tick_data(report), ensure_ascii=False) + "\n")
        sys.stdout.flush()


def _print_tick(report: TickReport, *, dry_run: bool) -> None:
    out = console()
    if dry_run:
        out.print("Dry run: nothing is touched, nothing is recorded.")
    for line in sentences(report.decision) if report.decision else ():
        out.print(escape(line))
    for line in (*report.notes, *(f"{change.stack}: {change.state}: {change.detail}" for change in report.changes)):
        out.print(escape(line))
    if report.withdrawn:
        out.print(f"Withdrawn before anything was touched: {escape(report.withdrawn)}.")
    if report.error:
        out.print(f"[bold red]held[/] {escape(str(report.error))}\n[bold]next:[/] {escape(report.error.hint)}")


def _tick_data(report: TickReport) -> dict[str, object]:
    return {
        "decision_id": report.decision_id,
        "decision": plain(report.decision),
        "headline": headline(report.decision) if report.decision else None,
        "changes": [
            {"stack": change.stack, "state": change.state.value, "detail": change.detail} for change in report.changes
        ],
        "notes": list(report.notes),
        "withdrawn": report.withdrawn,
        "error": None if report.error is None else {"code": report.error.code, "message": str(report.error)},
    }


def _status_data(snapshot: Snapshot) -> dict[str, object]:
    cost = rented_cost(snapshot)
    return {
        "taken_at": snapshot.taken_at.isoformat(),
        "local_use": plain(snapshot.local_use),
        "queued_tasks": plain(snapshot.queued_tasks()),
        "cost_per_hour": money_data(cost),
        "pools": [plain(pool) for pool in snapshot.pools],
        "orders": [plain(order) for order in snapshot.orders if order.is_active(snapshot.taken_at)],
        "notes": list(snapshot.notes),
    }


def _pool_cells(pool: PoolState) -> tuple[str, ...]:
    failure = f"{pool.failure.code} at {pool.failure.at:%H:%M}" if pool.failure else ""
    if isinstance(pool.observed, Unknown):
        return (pool.pool, str(pool.configured), _show(pool.applied), "unknown", "", "", pool.observed.why)
    ready = sum(node.gpus > 0 for node in pool.observed)
    busy = sum(node.gpus_used > 0 for node in pool.observed)
    coming = max(0, pool.configured - ready)
    return (pool.pool, str(pool.configured), _show(pool.applied), str(ready), str(coming), str(busy), failure)


def _show(value: object) -> str:
    return f"unknown ({value.why})" if isinstance(value, Unknown) else str(value)
