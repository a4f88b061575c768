"""How commands are called: help, wrong calls, and errors that a script can read."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
import typer

from agent.errors import BadSettings, CloudRefused, ExitCode, SpillwayError
from contract.problems import InvalidInput, Problem
from spillway.main import _run, app
from spillway.output import Format, console, describe_error, errors, show_error, wanted_format

CATALOG = Path(__file__).resolve().parents[2] / "stacks" / "catalog.yaml"
EXPECTED = {
    *("demo", "run", "tick", "status", "decisions", "explain", "doctor"),
    *("twin", "twin start", "twin stop", "twin status", "twin env"),
    *("catalog", "catalog show", "catalog check"),
}


def all_commands() -> list[str]:
    """Every command and group of the table, as one would type it."""

    def walk(group: object, path: tuple[str, ...]) -> Iterator[str]:
        for name, command in getattr(group, "commands", {}).items():
            yield " ".join((*path, name))
            yield from walk(command, (*path, name))

    return sorted(walk(typer.main.get_command(app), ()))


def test_the_table_holds_every_promised_command() -> None:
    assert set(all_commands()) >= EXPECTED


@pytest.mark.parametrize("command", ["", *all_commands()])
def test_every_command_has_a_help_that_says_what_it_does(
    command: str, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run([*command.split(), "--help"]) == ExitCode.OK
    shown = capsys.readouterr()
    assert shown.err == ""
    assert shown.out.startswith(f"Usage: spillway {command}".rstrip())
    assert len(shown.out.strip().splitlines()) > 3
    assert "Traceback" not in shown.out
    assert list(nowhere.iterdir()) == [], "help touches nothing"


def test_the_exit_codes_stand_in_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    _run(["--help"])
    shown = " ".join(capsys.readouterr().out.split())
    for code in ExitCode:
        assert f"{code.value} " in shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["bogus"],
        ["tick", "--bogus"],
        ["tick", "extra"],
        ["decisions", "--limit", "0"],
        ["decisions", "--limit", "many"],
        ["twin", "start", "--speed", "0"],
        ["twin", "bogus"],
        ["status", "--output", "xml"],
        ["catalog", "check", "--file"],
    ],
    ids=" ".join,
)
def test_a_wrong_call_is_two_with_one_line_and_a_next_step(
    arguments: Sequence[str], nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(list(arguments)) == ExitCode.BAD_CALL
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith("error bad_call: ")
    assert "next: see 'spillway --help'" in shown.err
    assert list(nowhere.iterdir()) == []


@pytest.mark.parametrize("command", ["", "twin", "catalog"])
def test_a_group_without_a_command_shows_its_help_and_is_a_wrong_call(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(command.split()) == ExitCode.BAD_CALL
    assert "Usage: spillway" in capsys.readouterr().err


# ---- nothing there ----

WITHOUT_A_PROJECT = ["status", "tick", "tick --dry-run", "run"]
WITHOUT_A_LEDGER = ["decisions", "explain", "explain 3"]
WITHOUT_A_TWIN = ["tick --twin", "status --twin", "doctor --twin", "twin status", "twin env"]


@pytest.mark.parametrize(
    ("command", "code", "target"),
    [
        *((command, "bad_settings", "SPILLWAY_PROJECT_DIR") for command in WITHOUT_A_PROJECT),
        *((command, "nothing_recorded", "out/ledger.db") for command in WITHOUT_A_LEDGER),
        *((command, "bad_settings", "twin") for command in WITHOUT_A_TWIN),
        ("catalog show", "invalid_input", "catalog.yaml"),
        ("catalog check", "invalid_input", "catalog.yaml"),
        ("explain --ledger /nowhere/ledger.db", "nothing_recorded", "/nowhere/ledger.db"),
        ("demo --workload /nowhere.csv", "invalid_input", "nowhere.csv"),
    ],
)
def test_what_is_not_there_is_named_and_nothing_is_made(
    command: str, code: str, target: str, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(command.split()) == ExitCode.BAD_CALL
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"error {code}: ")
    assert target in shown.err
    assert "next: " in shown.err
    assert list(nowhere.iterdir()) == []


def test_doctor_without_a_project_is_a_finding_and_one(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["doctor"]) == ExitCode.ERROR
    assert "SPILLWAY_PROJECT_DIR" in capsys.readouterr().out


# ---- a catalogue that cannot be used ----


def test_a_sound_catalogue_is_good(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run(["catalog", "check", "--file", str(CATALOG)]) == ExitCode.OK
    assert "8 pools are good" in capsys.readouterr().out
    assert _run(["catalog", "check", "--file", str(CATALOG), "--output", "json"]) == ExitCode.OK
    assert json.loads(capsys.readouterr().out) == {"file": str(CATALOG), "pools": 8, "problems": []}


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("price_per_node_hour: 277.933 CNY", "price_per_node_hour: 0 CNY", "not a price"),
        ("price_per_node_hour: 277.933 CNY", "price_per_node_hour: 277.933", "not money"),
        ("quota_nodes: 20", "quota_nodes: 20.5", "whole number"),
        ("gpu_model: H20", "gpu_model: H2O", "not one of"),
        ("quota_nodes: 20", "quota: 20", "unknown key"),
        ("site: ali-shanghai", "site: ''", "expected a text"),
    ],
)
def test_a_bad_row_is_two_with_file_row_column_and_fix(
    old: str, new: str, says: str, nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = CATALOG.read_text(encoding="utf-8").replace(old, new, 1)
    file = nowhere / "catalog.yaml"
    file.write_text(text, encoding="utf-8")
    row = next(number for number, line in enumerate(text.splitlines(), 1) if line.strip().removeprefix("- ") == new)
    for command in ("check", "show"):
        assert _run(["catalog", command, "--file", str(file)]) == ExitCode.BAD_CALL
        shown = capsys.readouterr().err
        assert f"catalog.yaml:{row}:5: pools[" in shown
        assert says in shown
        assert "fix: " in shown
        assert "next: " in shown


def test_a_pool_that_stands_twice_is_named_at_its_second_row(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = CATALOG.read_text(encoding="utf-8").replace("pool: ack-h20-od", "pool: ack-a100-od")
    (nowhere / "catalog.yaml").write_text(text, encoding="utf-8")
    rows = [number for number, line in enumerate(text.splitlines(), 1) if line == "  - pool: ack-a100-od"]
    assert _run(["catalog", "check", "--file", "catalog.yaml"]) == ExitCode.BAD_CALL
    assert f"catalog.yaml:{rows[1]}:5: pools[4].pool: pool 'ack-a100-od' stands twice" in capsys.readouterr().err


@pytest.mark.parametrize("day", ["2024-13-01", "2024-02-30", "soon", "20241201"])
def test_a_day_that_is_none_is_told_with_its_place(day: str, nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = CATALOG.read_text(encoding="utf-8").replace("price_date: 2024-12-01", f"price_date: {day}", 1)
    (nowhere / "catalog.yaml").write_text(text, encoding="utf-8")
    assert _run(["catalog", "check", "--file", "catalog.yaml"]) == ExitCode.BAD_CALL
    shown = capsys.readouterr().err
    assert "price_date" in shown
    assert "catalog.yaml:" in shown


def test_bad_rows_are_data_for_machines(nowhere: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (nowhere / "catalog.yaml").write_text("pools: 3\n")
    assert _run(["catalog", "check", "--file", "catalog.yaml", "-o", "json"]) == ExitCode.BAD_CALL
    shown = capsys.readouterr()
    assert shown.err == ""
    error = json.loads(shown.out)["error"]
    assert error["code"] == "invalid_input"
    assert error["object"] == "catalog.yaml"
    assert "pools: expected a list of rows" in error["message"]
    assert error["hint"]


# ---- errors as data ----


@pytest.mark.parametrize("asked", [["--output", "json"], ["-o", "json"], ["--output=json"], ["-ojson"]], ids=" ".join)
@pytest.mark.parametrize(
    "command", ["status", "tick", "explain 7", "catalog check", "twin status", "decisions --limit 0"]
)
def test_an_error_is_one_document_on_standard_output(
    command: str, asked: Sequence[str], nowhere: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run([*command.split(), *asked]) == ExitCode.BAD_CALL
    shown = capsys.readouterr()
    assert shown.err == ""
    error = json.loads(shown.out)["error"]
    assert set(error) == {"code", "object", "message", "hint", "exit_code", "retry"}
    assert all(error.values())
    assert error["exit_code"] == ExitCode.BAD_CALL


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ([], Format.TEXT),
        (["--output", "text"], Format.TEXT),
        (["--output"], Format.TEXT),
        (["explain", "--ledger", "json"], Format.TEXT),
        (["x", "-o", "json"], Format.JSON),
        (["x", "--output=json"], Format.JSON),
    ],
)
def test_the_wish_for_json_is_seen_before_the_call_is_understood(arguments: list[str], wanted: Format) -> None:
    assert wanted_format(arguments) is wanted


def own_errors(kind: type[SpillwayError] = SpillwayError) -> Iterator[type[SpillwayError]]:
    for child in kind.__subclasses__():
        yield child
        yield from own_errors(child)


OWN = sorted(own_errors(), key=lambda kind: kind.code)


@pytest.mark.parametrize("kind", OWN, ids=[kind.code for kind in OWN])
def test_every_error_of_ours_leaves_with_its_own_exit_code(
    kind: type[SpillwayError], capsys: pytest.CaptureFixture[str]
) -> None:
    error = kind("it broke", target="the thing", hint="mend it")
    assert show_error(error, Format.TEXT) is kind.exit_code
    assert kind.exit_code not in (ExitCode.OK, ExitCode.INTERNAL)
    assert capsys.readouterr().err == f"error {kind.code}: the thing: it broke\nnext: mend it\n"


def test_codes_of_errors_are_all_different() -> None:
    codes = [kind.code for kind in own_errors()]
    assert sorted(codes) == sorted(set(codes))


def test_an_error_with_brackets_is_shown_as_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """`[red]` in a cloud's message is no markup."""
    show_error(CloudRefused("[bold]no[/] such [pool]", target="[t]", hint="[/red]"), Format.TEXT)
    assert "error cloud_refused: [t]: [bold]no[/] such [pool]" in capsys.readouterr().err


def test_an_error_of_unknown_kind_is_internal_and_asks_for_a_report(capsys: pytest.CaptureFixture[str]) -> None:
    assert show_error(ZeroDivisionError("at the ratio"), Format.TEXT) is ExitCode.INTERNAL
    assert "please report it" in capsys.readouterr().err
    assert describe_error(KeyError("pool"))["code"] == "internal"


def test_many_problems_are_counted() -> None:
    problem = Problem(file="f.yaml", where="a", message="is missing", fix="add it")
    assert str(describe_error(InvalidInput([problem]))["message"]).startswith("1 problem\n")
    assert str(describe_error(InvalidInput([problem, problem]))["message"]).startswith("2 problems\n")
    assert describe_error(BadSettings("x", target="t", hint="h"))["exit_code"] == 2


def test_a_place_in_a_file_is_never_shown_as_a_picture(capsys: pytest.CaptureFixture[str]) -> None:
    """rich knows `:100:` as a picture; a file has a hundredth line."""
    errors().print("catalog.yaml:100:5: bad")
    console().print("row :100: of :x:")
    shown = capsys.readouterr()
    assert shown.err == "catalog.yaml:100:5: bad\n"
    assert shown.out == "row :100: of :x:\n"
