"""Size budgets of style.md, measured over every room: files, functions, docstrings, names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import median

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("contract", "infra", "agent", "replay", "sim", "spillway", "tools", "bench")
BANNED = {"utils", "helpers", "common", "misc", "manager", "base"}
FILE_MAX, FILE_P90, FILE_MEDIAN = 500, 350, 150
FUNCTION_MAX, CONSTRUCTOR_MAX, FUNCTION_P90, FUNCTION_MEDIAN = 60, 80, 35, 12
PARAMETERS_MAX = 5


@cache
def sources() -> tuple[Path, ...]:
    """Every Python file of the product; tests have no budget but the largest file."""
    return tuple(path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for path in sources():
        for node in ast.walk(tree(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {node.name}", node


def length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def p90(values: list[int]) -> int:
    return sorted(values)[int(len(values) * 0.9)]


def test_there_is_something_to_measure() -> None:
    assert len(sources()) > 80


def test_no_file_is_too_long_and_most_are_short() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines()) for path in sources()}
    assert {name: lines for name, lines in lengths.items() if lines > FILE_MAX} == {}
    assert p90(list(lengths.values())) <= FILE_P90
    assert median(lengths.values()) <= FILE_MEDIAN


def test_no_test_file_is_too_long() -> None:
    lengths = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "tests").rglob("*.py")}
    assert {name: lines for name, lines in lengths.items() if lines > FILE_MAX} == {}


def test_no_function_is_too_long_and_most_are_short() -> None:
    lengths = {name: length(node) for name, node in functions()}
    limits = {name: CONSTRUCTOR_MAX if name.endswith(" __init__") else FUNCTION_MAX for name in lengths}
    assert {name: lines for name, lines in lengths.items() if lines > limits[name]} == {}
    assert p90(list(lengths.values())) <= FUNCTION_P90
    assert median(lengths.values()) <= FUNCTION_MEDIAN


# A command's options are its parameters: Typer reads them from the signature.
COMMANDS = "spillway/commands/"
# Signatures that a library calls or that mirror one of its methods.
FOREIGN = {"run"}


def test_no_function_takes_more_than_five_parameters() -> None:
    found = {}
    for name, node in functions():
        own = [argument.arg for argument in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
        count = len([argument for argument in own if argument not in ("self", "cls")])
        if count > PARAMETERS_MAX and not name.startswith(COMMANDS) and node.name not in FOREIGN:
            found[name] = count
    assert found == {}


@pytest.mark.parametrize("room", ROOMS)
def test_every_file_says_why_it_exists(room: str) -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in sources()
        if path.parts[len(ROOT.parts)] == room and not ast.get_docstring(tree(path))
    ]
    assert silent == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [str(path) for path in sources() if path.stem in BANNED or path.parent.name in BANNED] == []


def test_no_except_swallows_everything_in_silence() -> None:
    """`except: pass` and friends: a swallowed error is a defect."""
    found = []
    for path in sources():
        for node in ast.walk(tree(path)):
            if isinstance(node, ast.ExceptHandler) and len(node.body) == 1 and isinstance(node.body[0], ast.Pass):
                found.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert found == []
