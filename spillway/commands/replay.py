"""`spillway replay TRACE…`: the shipped decision on recorded work, beside other policies, before a yuan is spent.

Reads files, runs the contest, shows it; what a run is stands in replay/. Text for people, JSON for machines, HTML to
pass on.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from agent.bootstrap import read_policy
from agent.core.policy import Policy
from agent.errors import BadCall
from contract.catalog import Catalog, read_catalog
from replay.bounds import best_possible
from replay.contest import Arena, Entrant, NoSuchEntrant, Result, World, compete, enter
from replay.differences import differences
from replay.fitting import fitting
from replay.html_report import report
from replay.played import Played
from replay.recorded import recorded
from replay.site.truth import Estimates, Truth
from replay.traces.reader import TraceFormat
from spillway.commands.arena_options import owned_nodes, spot_markets
from spillway.commands.replay_view import as_data, show
from spillway.output import errors, must_be_writable, print_json, write_file

STACKS = Path("stacks")
_DEFAULT_AGAINST = {
    World.REAL: ("queue-only", "burst-at-once", "cluster-autoscaler", "karpenter"),
    World.INSTANT: ("queue-only", "burst-at-once", "constant-wait", "compute-wait", "star-wait"),
}


class ReplayFormat(StrEnum):
    """What the command prints."""

    TEXT = "text"
    JSON = "json"
    HTML = "html"


TracesArgument = Annotated[
    list[Path], typer.Argument(help="recorded jobs (formats: docs/traces.md), or company-month, a made-up one")
]
PolicyOption = Annotated[Path, typer.Option("--policy", help="the policy file to judge")]
CatalogOption = Annotated[Path, typer.Option("--catalog", help="pools, prices, boot times, quotas")]
AgainstOption = Annotated[
    list[str],
    typer.Option(
        "--against",
        help="another policy file, or a baseline: queue-only, burst-at-once, constant-wait[:H], compute-wait[:F], "
        "cluster-autoscaler, karpenter, fixed-extra[:NODES]; with --world instant also capacity-wait, star-wait",
    ),
]
OnPremOption = Annotated[int, typer.Option("--on-prem", min=0, help="owned GPUs, a multiple of 8; 0: the catalogue's")]
WorldOption = Annotated[
    World, typer.Option("--world", help="real: nodes, boots, stock, money; instant: Starburst's cloud without limit")
]
EstimatesOption = Annotated[Estimates, typer.Option("--estimates", help="what the policy is told of runtimes")]
OutputOption = Annotated[ReplayFormat, typer.Option("--output", "-o", help="text, json or html")]


def replay(  # noqa: PLR0913 - the options of a command are its interface
    traces: TracesArgument,
    policy: PolicyOption = STACKS / "policy.yaml",
    against: AgainstOption = [],  # noqa: B006 - typer's way to say "may be given many times"
    on_prem: OnPremOption = 0,
    world: WorldOption = World.REAL,
    estimates: EstimatesOption = Estimates.KNOWN,
    seed: Annotated[int, typer.Option("--seed", help="of boot times, failures and stock")] = 0,
    days: Annotated[float, typer.Option("--first-days", min=0.0, help="only the first days; 0: all")] = 0.0,
    trace_format: Annotated[TraceFormat | None, typer.Option("--format", help="when the columns do not tell")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="leave bad rows out, counted")] = False,
    bound: Annotated[bool, typer.Option("--bound/--no-bound", help="prove how good any policy could be")] = True,
    catalog: CatalogOption = STACKS / "catalog.yaml",
    output: OutputOption = ReplayFormat.TEXT,
    html: Annotated[Path | None, typer.Option("--html", help="write the HTML report here as well")] = None,
) -> None:
    """Run a policy on recorded jobs and compare: waits, cost, use, and how far from the best possible."""
    must_be_writable(html)
    rows = read_catalog(catalog)
    first = Entrant(name=policy.stem, policy=read_policy(policy, rows))
    entrants = (first, *(_entrant(text, first.policy, rows, world) for text in against or _DEFAULT_AGAINST[world]))
    truth = Truth(seed=seed, estimates=estimates, spot=spot_markets(rows))
    played = []
    for path in traces:
        trace = recorded(path, trace_format, days, skip_bad=skip_bad)
        arena = Arena(trace=trace, catalog=rows, owned_nodes=owned_nodes(on_prem, rows), world=world, truth=truth)
        arena = replace(arena, trace=fitting(arena, first.policy, skip_bad=skip_bad))
        played.append(_play(arena, entrants, bound=bound))
    _answer(played, output, html)


def _entrant(text: str, policy: Policy, rows: Catalog, world: World) -> Entrant:
    path = Path(text)
    if path.suffix in (".yaml", ".yml"):
        return Entrant(name=path.stem, policy=read_policy(path, rows))
    try:
        return enter(text, policy, world)
    except NoSuchEntrant as error:
        raise BadCall(str(error), target=text, hint="name a policy file (.yaml) or one of the baselines") from error


def _play(arena: Arena, entrants: Sequence[Entrant], *, bound: bool) -> Played:
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    results: list[Result] = []
    with Progress(*columns, console=errors(), transient=True, disable=not sys.stderr.isatty()) as progress:
        for number, entrant in enumerate(entrants):
            task = progress.add_task(
                f"{arena.trace.name}: {entrant.name} ({number + 1} of {len(entrants)})", total=None
            )
            results.append(compete(arena, entrant))
            progress.remove_task(task)
        best = None
        if bound:
            progress.add_task(f"{arena.trace.name}: the best possible", total=None)
            best = best_possible(arena, results)
    return Played(
        arena=arena, results=tuple(results), best=best, differences=tuple(differences(results[0], results[1:]))
    )


def _answer(played: Sequence[Played], output: ReplayFormat, html: Path | None) -> None:
    if output is ReplayFormat.JSON:
        print_json({"traces": [as_data(one) for one in played]})
    elif output is ReplayFormat.HTML:
        sys.stdout.write(report(played))
    else:
        for one in played:
            show(one)
    if html is not None:
        write_file(html, report(played))
        errors().print(f"report: {html}")
