"""`spillway twin start|stop|status|env`: a digital twin that runs beside you, faster than time."""

from __future__ import annotations

import json
import os
import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from agent.errors import BadSettings
from sim.client import TwinClient
from spillway.build_out import build_out, pulumi_cli
from spillway.demo.scenario import Scenario
from spillway.output import Format, OutputOption, console, errors, print_json, table
from spillway.rehearsal_site import check_toolchain, enter, make_site, site_environment
from spillway.twin_process import TwinPlan, end_process, running_twin, start_twin
from spillway.wiring import TWIN_HOME, twin_environment

app = typer.Typer(help="The digital twin: clouds, clusters and metrics to rehearse on.", no_args_is_help=True)
_SERVER_HOME = TWIN_HOME / "twin"
_TICK_S = 30.0


@app.command("start")
def start(
    speed: Annotated[float, typer.Option("--speed", min=1.0, max=120.0, help="virtual seconds a real second")] = 60.0,
    workload: Annotated[Path | None, typer.Option("--workload", help="another trace, as CSV")] = None,
    faults: Annotated[Path | None, typer.Option("--faults", help="a fault plan, as YAML")] = None,
    seed: Annotated[int, typer.Option("--seed", help="of all chance in the twin")] = Scenario().seed,
    output: OutputOption = Format.TEXT,
) -> None:
    """Start a fresh twin, build the platform on it, and leave it running."""
    check_toolchain()
    if running_twin(_SERVER_HOME):
        raise BadSettings("is running already", target="twin", hint="end it with 'spillway twin stop'")
    site = make_site(TWIN_HOME)
    screen = errors()
    plan = TwinPlan(
        home=site.home / "twin",
        stacks=site.stacks,
        workload=workload or Scenario().workload,
        start=datetime.now(UTC).replace(microsecond=0),
        speed=str(speed),
        seed=seed,
        faults=faults,
    )
    twin = start_twin(plan, die_with_parent=False)
    try:
        own = site_environment(site, twin.address) | {"SPILLWAY_TICK_SECONDS": str(max(0.5, _TICK_S / speed))}
        build_out(pulumi_cli(site, enter(own)), lambda line: screen.print(escape(line)))
        _write_environment(own)
    except BaseException:
        # Nothing half-built stays behind, whatever went wrong.
        twin.stop()
        raise
    if output is Format.JSON:
        print_json({"url": twin.address.url, "pid": twin.address.pid, "home": str(site.home), "speed": speed})
        return
    console().print(f"the twin runs at {twin.address.url}, {speed:g} times as fast as time\n")
    console().print("  spillway run --twin       let the agent work on it\n  spillway status --twin    look at it")
    console().print("  spillway twin stop        end it")


@app.command("stop")
def stop(output: OutputOption = Format.TEXT) -> None:
    """End the twin; its folder stays for reading."""
    address = running_twin(_SERVER_HOME)
    if address:
        end_process(address.pid)
    (TWIN_HOME / "environment.json").unlink(missing_ok=True)
    if output is Format.JSON:
        print_json({"stopped": address is not None})
    else:
        console().print("the twin has ended" if address else "no twin is running")


@app.command("status")
def status(output: OutputOption = Format.TEXT) -> None:
    """Show the twin's clock, jobs, nodes and money, as the twin itself knows them."""
    address = running_twin(_SERVER_HOME)
    if address is None:
        raise BadSettings("is not running", target="twin", hint="start it with 'spillway twin start'")
    with TwinClient(address.url) as client:
        state = client.status()
    if output is Format.JSON:
        print_json(state)
        return
    jobs, gpus = state["jobs"], state["gpus"]
    out = console()
    out.print(f"{state['clock']['now']}, {state['clock']['speed']:g} times as fast as time; spent {state['spent']}")
    out.print(f"jobs: {jobs['queued']} queued, {jobs['running']} running, {jobs['finished']} finished")
    out.print(f"GPUs: {gpus['demand']} asked for, {gpus['local_held']} of {gpus['local_ready']} local in use")
    rows = [
        (pool, ", ".join(f"{count} {phase}" for phase, count in counts.items() if count) or "none")
        for pool, counts in state["pools"].items()
    ]
    out.print(table(("pool", "nodes"), rows))


@app.command("env")
def env() -> None:
    """Print the twin's environment for a shell: eval "$(spillway twin env)", then use pulumi by hand."""
    for name, value in twin_environment(TWIN_HOME).items():
        typer.echo(f"export {name}={shlex.quote(value)}")


def _write_environment(own: dict[str, str]) -> None:
    path = TWIN_HOME / "environment.json"
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with open(handle, "w", encoding="utf-8") as file:
        json.dump(own, file, indent=2)
