"""`spillway runtimes`: what the agent has learned of run times, and how wrong it was on later tasks."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer
from rich.markup import escape

from agent.core.runtime_estimate import LEAST
from agent.core.runtime_report import HeldOut, RuntimeLine, RuntimeReport, runtime_report
from contract.units import show_duration
from spillway.commands.history import LedgerOption, find_ledger
from spillway.output import Format, OutputOption, console, plain, print_json, table

_EMPTY = (
    "No run time was learned yet: no task that holds GPUs has ended well while the agent looked.\n"
    "The agent learns at each tick from pods that are still shown; with 'ttlSecondsAfterFinished' on a Job, let it be "
    "two ticks or more."
)


def runtimes(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="how many kinds of work, the most frequent")] = 50,
    ledger: LedgerOption = None,
    output: OutputOption = Format.TEXT,
) -> None:
    """Show the run times that were learned, by user, kind and size, with their error on later tasks.

    The next task of such work is told the median, if nobody states its run time.
    """
    report = runtime_report(find_ledger(ledger).ended_tasks())
    if output is Format.JSON:
        print_json({"quantile": 0.5, "least": LEAST, **_data(report, limit)})
        return
    if not report.lines:
        console().print(_EMPTY)
    else:
        _show(report, limit)
    if report.untaught:
        said = ", ".join(f"{count} {outcome}" for outcome, count in sorted(report.untaught.items()))
        console().print(f"Ended otherwise, and taught nothing: {said}.")


def _show(report: RuntimeReport, limit: int) -> None:
    headings = ("work", "ended", "10 %", "told (median)", "90 %", "from", "later tasks", "typical error", "in range")
    rows = [_cells(line) for line in report.lines[:limit]]
    numbers = ("ended", "10 %", "told (median)", "90 %", "later tasks", "typical error", "in range")
    out = console()
    out.print(table(headings, rows, numbers=numbers))
    if len(report.lines) > limit:
        out.print(f"{len(report.lines) - limit} other kinds of work; show more with --limit.")
    tasks, error, within = _held_out_cells(report.held_out)
    tail = f"; {tasks} later tasks were told wrong by {error} typically, {within} lay in range" if tasks else ""
    out.print(
        escape(f"{report.learned} tasks are learned from{tail}. Work of which fewer than {LEAST} ended is unknown.")
    )


def _cells(line: RuntimeLine) -> tuple[str, ...]:
    told, held_out = line.told, _held_out_cells(line.held_out)
    if told is None:
        return (line.work, str(line.ended), "", "unknown", "", "", *held_out)
    low, middle, high = (_span(seconds) for seconds in (told.low_s, told.median_s, told.high_s))
    source = "itself" if told.from_what == line.work else told.from_what
    return (line.work, str(line.ended), low, middle, high, source, *held_out)


def _held_out_cells(found: HeldOut | None) -> tuple[str, str, str]:
    if found is None:
        return ("", "", "")
    return (str(found.tasks), f"x {found.factor:.2f}", f"{found.within:.0%}")


def _span(seconds: float) -> str:
    return show_duration(timedelta(seconds=max(1, round(seconds))))


def _data(report: RuntimeReport, limit: int) -> dict[str, object]:
    return {
        "learned_from": report.learned,
        "held_out": plain(report.held_out),
        "ended_otherwise": dict(report.untaught),
        "work": [plain(line) for line in report.lines[:limit]],
    }
