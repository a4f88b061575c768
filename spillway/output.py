"""How commands speak: text for people, JSON for machines, errors with the next step. One renderer for all."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from agent.core.codec import KIND, to_json
from agent.errors import BadCall, ExitCode, RetryClass, SpillwayError
from contract.problems import InvalidInput

# Into a pipe or a file nothing is cut or folded: whoever reads it decides about width.
_PIPE_WIDTH = 400


class Format(StrEnum):
    """What a command prints."""

    TEXT = "text"
    JSON = "json"


OutputOption = Annotated[Format, typer.Option("--output", "-o", help="text for people, json for machines")]


def console() -> Console:
    """Standard output; colour and weight only on a terminal, never under NO_COLOR."""
    return _console(is_error=False, is_terminal=sys.stdout.isatty())


def errors() -> Console:
    """Standard error: everything that is not the answer, so that JSON stays clean."""
    return _console(is_error=True, is_terminal=sys.stderr.isatty())


def _console(*, is_error: bool, is_terminal: bool) -> Console:
    """Without emoji codes: `catalog.yaml:100:5` is a place in a file and no picture."""
    made = Console(stderr=is_error, highlight=False, emoji=False, width=None if is_terminal else _PIPE_WIDTH)
    if made.no_color:
        # rich leaves bold and dim as they are: whoever wants no colour gets no codes at all.
        made = Console(stderr=is_error, highlight=False, emoji=False, width=made.width, color_system=None)
    return made


def plain(value: object) -> object:
    """A core value for machine readers: plain JSON without the codec's marks of type."""
    return _unmarked(to_json(value))


def _unmarked(value: object) -> object:
    if isinstance(value, dict):
        return {key: _unmarked(item) for key, item in value.items() if key != KIND}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value


def print_json(value: object) -> None:
    """One JSON document on standard output."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def write_file(path: Path, text: str) -> None:
    """Write a report. Raises BadCall when it cannot be."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BadCall(
            f"cannot be written: {error.strerror}", target=str(path), hint="name a file in a folder that exists"
        ) from error


def must_be_writable(path: Path | None) -> None:
    """Refuse a report's path before the work is done that it is to tell of. Raises BadCall."""
    if path is None:
        return
    if path.is_dir() or not path.parent.is_dir():
        what = "is a folder" if path.is_dir() else f"there is no folder {path.parent}"
        raise BadCall(what, target=str(path), hint="name a file in a folder that exists")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadCall("may not be written", target=str(path), hint="name a file that you may write")


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: Sequence[str] = ()) -> Table:
    """A plain table; the columns named in `numbers` stand to the right."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings:
        made.add_column(heading, justify="right" if heading in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*(escape(cell) for cell in row))
    return made


def show_error(error: Exception, output: Format) -> ExitCode:
    """Say what went wrong and what to do next; gives the exit code."""
    described = describe_error(error)
    if output is Format.JSON:
        print_json({"error": described})
    else:
        out = errors()
        out.print(f"[bold red]error[/] {escape(str(described['code']))}: {escape(str(described['message']))}")
        if described["hint"]:
            out.print(f"[bold]next:[/] {escape(str(described['hint']))}")
    return ExitCode(int(str(described["exit_code"])))


def describe_error(error: Exception) -> Mapping[str, object]:
    """An error as data: code, object, message, hint, exit code."""
    if isinstance(error, SpillwayError):
        return {
            "code": error.code,
            "object": error.target,
            "message": str(error),
            "hint": error.hint,
            "retry": error.retry.value,
            "exit_code": int(error.exit_code),
        }
    if isinstance(error, InvalidInput):
        problems = "\n".join(str(problem) for problem in error.problems)
        return {
            "code": "invalid_input",
            "object": error.problems[0].file,
            "message": f"{len(error.problems)} problem{'s' if len(error.problems) > 1 else ''}\n{problems}",
            "hint": error.problems[0].fix,
            "retry": RetryClass.PERMANENT.value,
            "exit_code": int(ExitCode.BAD_CALL),
        }
    return {
        "code": "internal",
        "object": type(error).__name__,
        "message": str(error),
        "hint": "this is a defect: please report it with the lines above",
        "retry": RetryClass.PERMANENT.value,
        "exit_code": int(ExitCode.INTERNAL),
    }


def wanted_format(arguments: Sequence[str]) -> Format:
    """The format asked for in raw arguments: errors may come before they are parsed."""
    for number, argument in enumerate(arguments):
        if argument in ("--output=json", "-ojson"):
            return Format.JSON
        if argument in ("--output", "-o") and arguments[number + 1 : number + 2] == ["json"]:
            return Format.JSON
    return Format.TEXT


def is_interactive() -> bool:
    """Whether a live view makes sense: a terminal, and not a CI log."""
    return sys.stdout.isatty() and not os.environ.get("CI")
