"""The demo's voice: what the agent does, live. A status line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from datetime import datetime, timedelta, timezone

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from agent.core.decision import Action, Decision
from agent.core.explain import headline
from agent.core.phases import NodeEvent
from agent.core.snapshot import NodePhase, Snapshot, Unknown
from agent.loop import TickReport
from sim.client import Json
from spillway.output import is_interactive

_SITE = timezone(timedelta(hours=8))
_QUIET_LINE_EVERY_S = 5.0


class Narrator:
    """Prints decisions in full and keeps one line of state; nothing else."""

    def __init__(self, out: Console) -> None:
        self._out = out
        self._status: Status | None = out.status("starting") if is_interactive() else None
        self._last_line = time.monotonic()
        self._spent = ""

    def __enter__(self) -> Narrator:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._status:
            self._status.stop()

    def say(self, text: str) -> None:
        """One line about the build-out."""
        self._out.print(escape(text))

    def title(self, text: str) -> None:
        """The heading of a part."""
        self._out.print(f"\n[bold]{escape(text)}[/]")

    def tick(self, report: TickReport, status: Json | None) -> None:
        """One tick: the state line, and lines for what happened."""
        if status:
            self._spent = str(status["spent"])
        if report.snapshot:
            self._show_state(report.snapshot)
        at = report.snapshot.taken_at if report.snapshot else None
        if report.decision and report.decision.action is not Action.HOLD:
            self._show_decision(report.decision, report.withdrawn)
        for change in report.changes:
            self._line(at, f"  {change.stack}: {change.state}" + (f", {change.detail}" if change.error else ""))
        for line in (*_ready_lines(report.events), *report.notes):
            self._line(at, line)
        if report.error:
            self._line(at, f"held: {report.error}; next: {report.error.hint}")

    def _show_state(self, snapshot: Snapshot) -> None:
        use = "unknown" if isinstance(snapshot.local_use, Unknown) else f"{snapshot.local_use}"
        queued = "?" if isinstance(snapshot.queue, Unknown) else str(len(snapshot.queue))
        ready = sum(node.phase is NodePhase.GPU_READY for pool in snapshot.pools for node in pool.nodes())
        spent = f"  spent {_short(self._spent)}" if self._spent else ""
        rented = f"rented {snapshot.cloud_nodes()} ({ready} ready)"
        text = f"{_clock(snapshot.taken_at)}  local use {use}  queue {queued}  {rented}{spent}"
        if self._status:
            self._status.update(escape(text))
        elif time.monotonic() - self._last_line > _QUIET_LINE_EVERY_S:
            self._line(None, text)

    def _show_decision(self, decision: Decision, withdrawn: str | None) -> None:
        colour = "yellow" if decision.action is Action.GROW else "green"
        self._out.print(f"[bold {colour}]{_clock(decision.taken_at)}  {escape(headline(decision))}[/]")
        self._out.print(f"           why: {escape(decision.chosen.reason.text)}")
        for item in decision.chosen.evidence:
            self._out.print(f"           saw: {escape(item.name)} {escape(item.seen)}; wanted {escape(item.wanted)}")
        for other in decision.chosen.alternatives:
            why = escape(other.lost_because.text)
            text = f"           not: {escape(other.what)} at {other.cost_per_hour} an hour, {why}"
            self._out.print(text, style="dim")
        if withdrawn:
            self._out.print(f"           withdrawn: {escape(withdrawn)}")
        self._last_line = time.monotonic()

    def _line(self, at: datetime | None, text: str) -> None:
        stamp = f"{_clock(at)}  " if at else ""
        self._out.print(f"{stamp}{escape(text)}")
        self._last_line = time.monotonic()


def _ready_lines(events: tuple[NodeEvent, ...]) -> list[str]:
    """One line a pool for nodes that became usable or left in this tick."""
    lines: list[str] = []
    for phase, words in ((NodePhase.GPU_READY, "GPU-ready"), (NodePhase.GONE, "gone")):
        by_pool: dict[str, int] = {}
        for event in events:
            if event.after is phase:
                by_pool[event.pool] = by_pool.get(event.pool, 0) + 1
        lines.extend(f"  {count} node{'s' if count > 1 else ''} of {pool} {words}" for pool, count in by_pool.items())
    odd = (event for event in events if not event.is_legal)
    lines.extend(f"  unexpected: {event.node} went {event.before} -> {event.after}" for event in odd)
    return lines


def _clock(at: datetime) -> str:
    return f"{at.astimezone(_SITE):%H:%M:%S}"


def _short(money: str) -> str:
    amount, _, currency = money.partition(" ")
    return f"{float(amount):,.0f} {currency}"
