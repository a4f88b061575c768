"""Which world a command works on: the real one by environment variables, or the running twin with --twin."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from agent.act.pulumi_stack import ignore
from agent.bootstrap import Wired, build
from agent.errors import BadSettings
from agent.settings import read_settings
from spillway.rehearsal_site import enter

TWIN_HOME = Path("out/twin")
TwinOption = Annotated[bool, typer.Option("--twin", help="work on the running twin (spillway twin start)")]


def wire(twin: bool, on_progress: Callable[[str], object] = ignore) -> Wired:
    """An agent on the chosen world; `on_progress` gets a line for each step of a `pulumi up`."""
    return build(read_settings(environment(twin)), on_progress)


def environment(twin: bool) -> Mapping[str, str]:
    """The environment's variables, with the twin's over them when asked for."""
    return enter(twin_environment(TWIN_HOME)) if twin else dict(os.environ)


def twin_environment(home: Path) -> Mapping[str, str]:
    """What a running twin wants an agent to have set. Raises BadSettings when none was started."""
    file = home / "environment.json"
    try:
        found: Mapping[str, str] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        hint = "start it with 'spillway twin start'"
        raise BadSettings("no twin is running here", target=str(home), hint=hint) from error
    return found
