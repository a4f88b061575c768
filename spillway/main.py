"""`spillway`: the command table, and the one place where errors become exit codes.

Commands raise; only `main` renders. Exit codes: agent.errors.ExitCode, the Pulumi CLI's contract up
to 9 and ours from 20.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
import sys
import traceback

import typer

from agent.errors import BadCall, ExitCode, SpillwayError
from contract.problems import InvalidInput
from spillway.commands import (
    catalog,
    demo,
    doctor,
    forecast,
    history,
    order,
    policy,
    replay,
    runtimes,
    service,
    sweep,
    twin,
)
from spillway.output import errors, show_error, wanted_format

_HELP = """Spillway rents GPU nodes from public clouds when the owned cluster is full, and gives them back.

Every change of capacity is a diff of a Pulumi stack. Try it without any cloud account: `spillway demo`.

Exit codes: 0 ok, 1 error, 2 bad config or call, 3 auth, 4 resource, 5 policy, 6 no such stack,
7 unexpected changes, 8 cancelled, 9 timeout, 20 budget refused, 21 stale inputs, 22 lock held,
23 approval needed, 24 frozen, 255 internal.
"""

_INTERRUPTED = 130

app = typer.Typer(
    help=_HELP, no_args_is_help=True, rich_markup_mode=None, pretty_exceptions_enable=False, add_completion=True
)
app.command("demo")(demo.demo)
app.add_typer(twin.app, name="twin")
app.command("run")(service.run)
app.command("tick")(service.tick)
app.command("status")(service.status)
app.command("decisions")(history.decisions)
app.command("explain")(history.explain)
app.command("runtimes")(runtimes.runtimes)
app.add_typer(order.app, name="order")
app.add_typer(catalog.app, name="catalog")
app.add_typer(policy.app, name="policy")
app.command("replay")(replay.replay)
app.command("sweep")(sweep.sweep)
app.command("forecast")(forecast.forecast)
app.command("doctor")(doctor.doctor)


def main() -> None:
    """Run one command and leave with its exit code."""
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("spillway").setLevel(logging.INFO)
    # A tick that runs over the next one is by design; its scheduler would warn of each.
    logging.getLogger("apscheduler").setLevel(logging.ERROR)
    # What a service manager sends first: end as on Ctrl-C, with everything that was started.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(int(_run(sys.argv[1:])))


def _run(arguments: list[str]) -> int:
    output = wanted_format(arguments)
    try:
        code = app(args=arguments, prog_name="spillway", standalone_mode=False)
        # Typer turns Ctrl-C into the shell's 130; our table has a number of its own for it.
        return ExitCode.CANCELLED if code == _INTERRUPTED else code if isinstance(code, int) else ExitCode.OK
    except (typer.Abort, KeyboardInterrupt):
        return ExitCode.CANCELLED
    except typer.TyperException as error:
        return show_error(BadCall(error.format_message(), target="spillway", hint="see 'spillway --help'"), output)
    except (SpillwayError, InvalidInput) as error:
        return show_error(error, output)
    except SystemExit as stop:
        # What typer and rich make of a reader that went away (`spillway decisions | head`): no error of ours.
        if not isinstance(stop.__context__, BrokenPipeError):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            return _full(error)
        traceback.print_exc()
        return show_error(error, output)


def _full(error: OSError) -> int:
    """Nothing more can be written, perhaps not even the error where it was asked for."""
    errors().print(f"error: {error.strerror}: the answer is not whole; make room and run it again", markup=False)
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.ERROR


if __name__ == "__main__":
    main()
