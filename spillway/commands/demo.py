"""`spillway demo`: the main job on the digital twin, from an empty state to an empty state."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from agent.bootstrap import Wired, build, only_agent
from agent.core.policy import Policy
from agent.errors import SpillwayError
from agent.settings import read_settings
from sim.client import TwinClient
from sim.world.results import Results
from sim.world.workload import read_workload
from spillway.build_out import build_out, count_updates, pulumi_cli
from spillway.demo.narrate import Narrator
from spillway.demo.play import play
from spillway.demo.rehearsal import burst_at_once, burst_exactly, rehearse
from spillway.demo.report import Story, headline_rows, write_report
from spillway.demo.scenario import Scenario
from spillway.demo.summary import Course, Summary, summarise
from spillway.output import Format, OutputOption, console, errors, print_json, table
from spillway.rehearsal_site import check_toolchain, enter, make_site, site_environment
from spillway.twin_process import TwinPlan, start_twin

_OUT = Path("out/demo")


class DemoWrong(SpillwayError):
    """The demo ran to its end and its books do not agree."""

    code = "demo_wrong"


def demo(
    out: Annotated[Path, typer.Option("--out", help="folder of the results; emptied first")] = _OUT,
    workload: Annotated[Path | None, typer.Option("--workload", help="another trace, as CSV")] = None,
    faults: Annotated[Path | None, typer.Option("--faults", help="a fault plan for the twin, as YAML")] = None,
    seed: Annotated[int, typer.Option("--seed", help="of all chance in the twin")] = Scenario().seed,
    output: OutputOption = Format.TEXT,
) -> None:
    """Build out, burst and drain with the real Pulumi engine on the digital twin; no cloud account needed."""
    check_toolchain()
    standard = Scenario()
    scenario = Scenario(workload=workload or standard.workload, faults=faults, seed=seed)
    _refuse_foreign_folder(out)
    started = time.monotonic()
    screen = console() if output is Format.TEXT else errors()
    with Narrator(screen) as narrator:
        summary = _run(out, scenario, narrator, started)
    if output is Format.JSON:
        print_json({name: getattr(summary, name) for name in Summary.__slots__})
        return
    screen.print("\n[bold]Headline results[/]")
    screen.print(table(("what", "measured", "against"), headline_rows(summary), numbers=("measured",)))
    screen.print(f"\nreport: {out / 'report.html'}   figures: {out / 'summary.json'}   why: spillway explain latest")


def _run(out: Path, scenario: Scenario, narrator: Narrator, started: float) -> Summary:
    read_workload(scenario.workload)
    site = make_site(out)
    plan = TwinPlan(
        home=site.home / "twin",
        stacks=site.stacks,
        workload=scenario.workload,
        start=scenario.start,
        speed="virtual",
        seed=scenario.seed,
        faults=scenario.faults,
    )
    twin = start_twin(plan, die_with_parent=True)
    try:
        own = site_environment(site, twin.address)
        environment = enter(own)
        cli = pulumi_cli(site, environment)
        narrator.title("Building the platform with pulumi up")
        build_out(cli, narrator.say)
        narrator.title(f"A surge: {scenario.workload.name}")
        wired = build(read_settings(environment))
        with TwinClient(twin.address.url) as client, only_agent(wired):
            begun = client.clock().now
            log = play(wired, client, scenario.longest, narrator.tick)
            course = Course(
                log=log,
                results=client.results(),
                at_once=_rehearsed(wired, scenario, burst_at_once(wired.policy)),
                exactly=_rehearsed(wired, scenario, burst_exactly(wired.policy)),
                updates=count_updates(cli),
                simulated=client.clock().now - begun,
                wall_seconds=time.monotonic() - started,
            )
            samples = client.timeline()
        wired.ledger.close()
        summary = summarise(course)
        _check_books(summary, course)
        summary.write(site.home / "summary.json")
        write_report(site.home, Story(start=scenario.start, samples=samples, acted=log.acted, summary=summary))
        return summary
    finally:
        twin.stop()


def _rehearsed(wired: Wired, scenario: Scenario, policy: Policy) -> Results:
    return rehearse(wired.catalog, read_workload(scenario.workload), policy, scenario.seed)


def _check_books(summary: Summary, course: Course) -> None:
    """Pulumi's own history must know every update of ours: one build-out a stack, and what the agent applied."""
    applied = sum(len({change.stack for change in acted.decision.changes}) for acted in course.log.acted)
    expected = applied + len(course.updates)
    if summary.pulumi_updates != expected and not course.log.failures:
        what = f"Pulumi's history holds {summary.pulumi_updates} updates, the agent made {expected}"
        raise DemoWrong(what, target="demo", hint="compare 'pulumi stack history' with 'spillway decisions'")


def _refuse_foreign_folder(out: Path) -> None:
    """The folder is emptied, so it must be ours, or empty, or absent."""
    if out.exists() and any(out.iterdir()) and not (out / "project" / "Pulumi.yaml").is_file():
        hint = "name an empty folder with --out"
        raise DemoWrong("is not empty and was not made by a demo", target=str(out), hint=hint)
