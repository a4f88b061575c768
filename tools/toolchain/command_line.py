"""The command line of set-up: do everything, say what is there, or print the environment."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from types import FrameType
from typing import Any

from tools.toolchain import assembly, environment, places, progress, pulumi_cli, stamps
from tools.toolchain.commands import Commands
from tools.toolchain.failures import SetupFailed, no_toolchain
from tools.toolchain.pulumi_cli import Cli, Surroundings

ROOT = Path(__file__).resolve().parents[2]
INTERRUPTED = 130


def run(argv: Sequence[str]) -> int:
    """Parse, work, and turn every end into an exit code: 0, 1, or 130 after Ctrl-C."""
    arguments = _parser().parse_args(argv)
    around = Surroundings(places.find(ROOT, os.environ), os.environ)
    commands = Commands(os.environ)
    for signum in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, _interrupt)
    try:
        if arguments.print_env:
            return print_environment(around)
        if arguments.check:
            return check(around)
        return set_up(around, commands)
    except SetupFailed as failure:
        print(failure.render(), file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("interrupted; run it again to go on from here", file=sys.stderr)
        return INTERRUPTED
    finally:
        commands.stop()


def set_up(around: Surroundings, commands: Commands) -> int:
    """The environment and the CLI at the same time, then the two put together."""
    out = progress.for_terminal(around.environment)
    found = pulumi_cli.existing(around, out)
    if found is None and around.offline and around.which("go") is None:
        raise no_toolchain(str(around.sdk), offline=True)

    def bring_cli() -> Cli:
        return found or pulumi_cli.obtain(around, commands, out)

    def bring_environment() -> None:
        environment.ensure(around.places, commands, out)

    cli = _both(bring_cli, bring_environment, commands)
    chain = assembly.assemble(around, cli, commands, out)
    out.say("pulumi", f"{chain.version} from {cli.source.value}: {chain.pulumi}")
    if not cli.has_host:
        took = assembly.prove_host(around.places)
        out.say("toolchain", f"our language host answers in {took:.2f} s")
    out.say("toolchain", "ready")
    return 0


def _both(bring_cli: Callable[[], Cli], bring_environment: Callable[[], None], commands: Commands) -> Cli:
    """Run two steps at once; the first failure or Ctrl-C ends the other."""
    with ThreadPoolExecutor(2) as pool:
        cli = pool.submit(bring_cli)
        pending: list[Future[Any]] = [cli, pool.submit(bring_environment)]
        try:
            wait(pending, return_when=FIRST_EXCEPTION)
            for future in pending:
                if future.done():
                    future.result()
        except BaseException:
            commands.stop()
            raise
        return cli.result()


def check(around: Surroundings) -> int:
    """Say what is there; exit code 1 when something is missing."""
    out = progress.for_terminal(around.environment)
    complete = True

    def report(topic: str, present: str, missing: str) -> None:
        nonlocal complete
        complete = complete and bool(present)
        out.say(topic, present or f"missing: {missing}")

    spot = around.places
    ready = environment.is_ready(spot)
    report(
        "python",
        f"environment {spot.venv}" if ready else "",
        ".venv, or it is not up to date; make setup",
    )
    cli = pulumi_cli.existing(around, out)
    found = f"{cli.version} from {cli.source.value}: {cli.pulumi}" if cli else ""
    report("pulumi", found, "a CLI on PATH or in the cache; make setup")
    out.say("go", str(around.which("go") or "not on PATH (needed only to build the CLI)"))
    recorded = stamps.read_facts(spot.toolchain_file)
    host = str(recorded.get("language_host", ""))
    report("toolchain", f"{spot.toolchain_file}, language host: {host}" if host else "", "make setup")
    out.say("cache", str(spot.cache))
    return 0 if complete else 1


def print_environment(around: Surroundings) -> int:
    """Shell lines for `eval "$(python3 tools/setup.py --print-env)"`."""
    cli = pulumi_cli.existing(around, progress.Progress(sys.stderr, colour=False))
    if cli is None or not around.places.toolchain_file.exists():
        raise SetupFailed("the toolchain is not set up", why="no CLI was found", fix="run: make setup")
    chain = assembly.describe(around.places, cli, str(around.sdk))
    print("\n".join(chain.shell_lines()))
    return 0


def _interrupt(_signum: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="setup.py",
        description="Sets up the Python environment and the Pulumi toolchain; safe to run again.",
        epilog="Environment: SPILLWAY_CACHE (folder for the built CLI), SPILLWAY_OFFLINE=1 (skip "
        "the official installer), NO_COLOR.",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--check", action="store_true", help="say what is there, change nothing")
    group.add_argument("--print-env", action="store_true", help="print exports for a shell")
    return parser
