"""`spillway forecast`: what history says about the weeks to come, and windows to approve (R4.4).

Shows and proposes; nothing acts on it until a person puts a name to a window in the policy file.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from zoneinfo import ZoneInfo

import typer

from agent.errors import BadCall
from contract.units import BadUnit, parse_duration, show_duration
from replay.forecast.chart import as_html, heat_map
from replay.forecast.read_demand import read_demand
from replay.forecast.report import Report, Wish, as_data
from replay.forecast.report import forecast as forecast_demand
from replay.forecast.scores import Score
from spillway.output import Format, OutputOption, console, print_json, table, write_file

_HEADINGS = ("model", "WAPE", "MAPE", "pinball", "in 80 % band", "surges caught", "false alarms")


class PlanFor(StrEnum):
    """The quantile that windows are made for."""

    P50 = "p50"
    P80 = "p80"
    P95 = "p95"


FileArgument = Annotated[
    Path, typer.Argument(metavar="TRACE_OR_SERIES", help="a trace of jobs, or a series time,gpus_wanted")
]
HeldOutOption = Annotated[int, typer.Option("--weeks-held-out", min=1, help="weeks that the models are judged by")]
ZoneOption = Annotated[str, typer.Option("--zone", help="the zone whose clocks people work by")]
OnPremOption = Annotated[
    int, typer.Option("--on-prem", min=0, metavar="GPUS", help="owned GPUs; windows are proposed for demand above")
]
NodeOption = Annotated[int, typer.Option("--gpus-per-node", min=1, help="GPUs of a rented node")]
LeadOption = Annotated[str, typer.Option("--lead", help="how long before a window nodes are rented")]
PlanOption = Annotated[PlanFor, typer.Option("--plan-for", help="the quantile of demand that windows are made for")]
HtmlOption = Annotated[Path | None, typer.Option("--html", help="write a page with a chart of the week")]
SkipOption = Annotated[bool, typer.Option("--skip-bad", help="leave bad rows of a trace out")]


def forecast(  # noqa: PLR0913 - options are parameters to Typer
    file: FileArgument,
    weeks_held_out: HeldOutOption = 2,
    zone: ZoneOption = "Asia/Shanghai",
    on_prem: OnPremOption = 0,
    gpus_per_node: NodeOption = 8,
    lead: LeadOption = "20m",
    plan_for: PlanOption = PlanFor.P80,
    html: HtmlOption = None,
    skip_bad: SkipOption = False,
    output: OutputOption = Format.TEXT,
) -> None:
    """Forecast demand from history, and propose windows to approve; nothing acts on them before that."""
    wish = Wish(
        zone=_zone(zone),
        weeks_held_out=weeks_held_out,
        on_prem_gpus=on_prem,
        gpus_per_node=gpus_per_node,
        lead=_lead(lead),
        plan_for=int(plan_for[1:]) / 100,
    )
    report = forecast_demand(read_demand(file, wish.zone, skip_bad=skip_bad), wish)
    if html:
        write_file(html, as_html(report))
    if output is Format.JSON:
        print_json(as_data(report))
        return
    for line in _as_text(report):
        console().print(line, markup=False)
    rows = [_row(score, report) for score in report.verdict.scores]
    console().print(table(_HEADINGS, rows, numbers=_HEADINGS[1:]))
    for line in _proposals(report):
        console().print(line, markup=False)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, LookupError) as error:
        raise BadCall(f"{name!r} is not a time zone", target="--zone", hint="write it such as Asia/Shanghai") from error


def _lead(text: str) -> str:
    try:
        return show_duration(parse_duration(text))
    except BadUnit as error:
        raise BadCall(str(error), target="--lead", hint="write it such as 20m") from error


def _as_text(report: Report) -> Iterator[str]:
    demand, zone = report.demand, report.wish.zone
    first, last = demand.starts_at.astimezone(zone), demand.ends_at.astimezone(zone)
    yield f"{demand.name}: {len(demand.gpus)} hours, {first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} {zone.key}"
    yield f"wanted: {demand.gpus.mean():.0f} GPUs on average, {demand.gpus.max():.0f} at most"
    yield ""
    yield f"usual week ({report.verdict.chosen.name}), peak {report.usual_week.max():.0f} GPUs"
    yield from heat_map(report.usual_week, report.wish.on_prem_gpus)
    yield ""
    held = report.verdict.weeks_held_out
    weeks = f"{held} held-out week{'s' if held > 1 else ''}"
    yield f"errors over {weeks}; a surge is more than {report.surge_over:.0f} GPUs"


def _row(score: Score, report: Report) -> tuple[str, ...]:
    mark = " (naive)" if score.is_naive else " (chosen)" if score.model == report.verdict.chosen.name else ""
    caught = "-" if score.surges_caught is None else f"{score.surges_caught:.0%} of {score.surges}"
    return (
        score.model + mark,
        f"{score.wape:.1%}",
        "-" if score.mape is None else f"{score.mape:.1%}",
        f"{score.pinball:.2f}",
        f"{score.coverage_80:.0%}",
        caught,
        "-" if score.false_alarms is None else f"{score.false_alarms:.0%}",
    )


def _proposals(report: Report) -> Iterator[str]:
    better = "better than both naive ones" if report.verdict.is_better else "no better than naive"
    yield ""
    yield f"verdict: {report.verdict.chosen.name} is {better}"
    yield f"end of month: {report.month_end.says}"
    if report.lull:
        yield (
            f"night: from {report.lull.from_hour:02d}:00 for {report.lull.hours} h four nights of five stay below "
            f"{report.lull.share:.0%} of the mean; to give idle nodes back then, add to calendar.windows:"
        )
        yield report.calendar_row.rstrip()
    yield from (f"note: {note}" for note in report.notes)
    if report.prewarm:
        yield ""
        yield "proposed, for policy.yaml; nothing acts on it until approved_by and approved_on are filled in:"
        yield report.prewarm.rstrip()
