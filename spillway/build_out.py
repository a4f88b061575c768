"""The first build-out, as a person does it: `pulumi stack init` and `pulumi up`, stack by stack.

Plain CLI on purpose: the agent has no part in it. Output is kept in a log and shown when it fails.
"""

from __future__ import annotations

import json
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from agent.errors import ApplyFailed
from agent.settings import read_settings
from spillway.rehearsal_site import BURST_STACKS, Site

Say = Callable[[str], None]
# Without them the CLI shows the newest ten updates and says nothing of the others.
_WHOLE_HISTORY = ("--page", "1", "--page-size", "100000")


@dataclass(frozen=True, slots=True)
class PulumiCli:
    """The CLI on one site."""

    site: Site
    binary: Path
    environment: Mapping[str, str]

    def run(self, *arguments: str) -> str:
        """Run a command to its end and give its standard output. Raises ApplyFailed with its last words."""
        done = subprocess.run(
            [str(self.binary), *arguments, "--non-interactive"],
            cwd=self.site.project,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        with (self.site.home / "pulumi.log").open("a", encoding="utf-8") as log:
            log.write(f"$ pulumi {' '.join(arguments)}\n{done.stdout}{done.stderr}\n")
        if done.returncode:
            last = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
            hint = f"the whole output is in {self.site.home / 'pulumi.log'}"
            raise ApplyFailed(f"ended with {done.returncode}:\n{last}", target=f"pulumi {arguments[0]}", hint=hint)
        return done.stdout


def pulumi_cli(site: Site, environment: Mapping[str, str]) -> PulumiCli:
    """The CLI that set-up found, in the site's environment."""
    settings = read_settings(environment)
    return PulumiCli(site, settings.pulumi, {**settings.environment, "PULUMI_SKIP_UPDATE_CHECK": "true"})


def build_out(cli: PulumiCli, say: Say) -> None:
    """Bring up the foundation, then both burst stacks side by side."""
    _bring_up(cli, "foundation", say)
    for stack in BURST_STACKS:
        # One after the other: init writes into the shared state folder's index.
        cli.run("stack", "init", stack, "--no-select")
    with ThreadPoolExecutor(max_workers=len(BURST_STACKS)) as pool:
        list(pool.map(lambda stack: _up(cli, stack, say), BURST_STACKS))


def count_updates(cli: PulumiCli, stacks: Sequence[str] = BURST_STACKS) -> dict[str, int]:
    """Updates in Pulumi's own history, by stack."""

    counts = {}
    for stack in stacks:
        history = json.loads(cli.run("stack", "history", "--stack", stack, "--json", "--full-dates", *_WHOLE_HISTORY))
        counts[stack] = sum(entry["kind"] == "update" for entry in history)
    return counts


def _bring_up(cli: PulumiCli, stack: str, say: Say) -> None:
    cli.run("stack", "init", stack, "--no-select")
    _up(cli, stack, say)


def _up(cli: PulumiCli, stack: str, say: Say) -> None:
    started = time.monotonic()
    output = cli.run("up", "--stack", stack, "--yes", "--skip-preview", "--color", "never")
    created = re.search(r"^ *\+ (\d+) created", output, re.MULTILINE)
    count = f"{created[1]} resources created" if created else "no change"
    say(f"pulumi up {stack}: {count} in {time.monotonic() - started:.1f} s")
