"""The one reader of YAML documents: strict, and it knows the row and column of every value.

Duplicate keys are refused (PyYAML would keep the last), so are aliases that could explode, and a
truncated document is an error with its place. Scalars are read by the YAML 1.2 core rules that
people expect: `on`, `1_000` and `012` stay texts, and so do dates, so that a day that is none is a
problem with a place. This is the only third-party import of the room;
docs/adr/0001 says why.
"""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from contract.fields import Findings
from contract.fields import Path as ValuePath
from contract.problems import InvalidInput, Problem


class _Loader(yaml.SafeLoader):
    """Safe loading with the YAML 1.2 core schema for scalars."""


_Loader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:int", r"^[-+]?(?:0|[1-9][0-9]*)$", "-+0123456789"),
    ("tag:yaml.org,2002:float", r"^[-+]?(?:0|[1-9][0-9]*)\.[0-9]+$", "-+0123456789"),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
):
    _Loader.add_implicit_resolver(_tag, re.compile(_pattern), list(_first) + ([""] if "null" in _tag else []))


def read_document(path: Path) -> tuple[object, Findings]:
    """Read one YAML file. Gives its value and Findings that know each value's place.

    Raises InvalidInput for an absent, unreadable, truncated or ambiguous document.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise InvalidInput([_problem(path.name, "the file does not exist", f"create {path}")]) from error
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput([_problem(path.name, f"cannot be read: {error}", f"check {path}")]) from error
    return parse_document(text, path.name)


def parse_document(text: str, file: str) -> tuple[object, Findings]:
    """Like read_document, from a text; `file` is only the name that errors show."""
    try:
        return _parse(text, file)
    except yaml.MarkedYAMLError as error:
        raise InvalidInput([_syntax_problem(error, file)]) from error
    except RecursionError as error:
        raise InvalidInput([_problem(file, "the document is nested too deeply", "flatten it")]) from error
    except yaml.YAMLError as error:
        fix = "save the file as UTF-8 text without control characters"
        raise InvalidInput([_problem(file, f"not valid YAML: {error}", fix)]) from error


def _parse(text: str, file: str) -> tuple[object, Findings]:
    _refuse_aliases(text, file)
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            raise InvalidInput([_problem(file, "the document is empty", "restore it, for instance from git")])
        findings = Findings(file)
        positions: dict[ValuePath, tuple[int, int]] = {}
        _walk(root, (), positions, findings)
        findings.positions = positions
        findings.raise_if_any()
        return loader.construct_document(root), findings
    finally:
        loader.dispose()


def _refuse_aliases(text: str, file: str) -> None:
    """A few lines of aliases can stand for gigabytes; no file of ours needs them."""
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.AliasEvent):
            mark = event.start_mark
            place = (mark.line + 1, mark.column + 1) if mark else None
            raise InvalidInput([_problem(file, "aliases (*name) are not read", "write the value out", place)])


def _walk(
    node: yaml.Node,
    path: ValuePath,
    positions: dict[ValuePath, tuple[int, int]],
    findings: Findings,
) -> None:
    place = (node.start_mark.line + 1, node.start_mark.column + 1)
    positions[path] = place
    if len(path) > 20:
        raise InvalidInput([_problem(findings.file, "the document is nested too deeply", "flatten it", place)])
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            _walk(item, (*path, number), positions, findings)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            _check_key(key, path, positions, findings)
            _walk(value, (*path, str(key.value)), positions, findings)
            positions[(*path, str(key.value))] = (
                key.start_mark.line + 1,
                key.start_mark.column + 1,
            )


def _check_key(
    key: yaml.Node, path: ValuePath, positions: dict[ValuePath, tuple[int, int]], findings: Findings
) -> None:
    place = (key.start_mark.line + 1, key.start_mark.column + 1)
    if not isinstance(key, yaml.ScalarNode):
        raise InvalidInput([_problem(findings.file, "keys must be plain texts", "write the key as text", place)])
    full = (*path, str(key.value))
    if full in positions:
        findings.problems.append(
            _problem(
                findings.file,
                f"key '{key.value}' stands twice (first in row {positions[full][0]})",
                "remove one",
                place,
            )
        )


def _syntax_problem(error: yaml.MarkedYAMLError, file: str) -> Problem:
    mark = error.problem_mark or error.context_mark
    place = (mark.line + 1, mark.column + 1) if mark else None
    what = error.problem or "is not YAML"
    return _problem(file, f"not valid YAML: {what}", "mend the syntax, or restore the file from git", place)


def _problem(file: str, message: str, fix: str, place: tuple[int, int] | None = None) -> Problem:
    row, column = place or (None, None)
    return Problem(file=file, where="the document", message=message, fix=fix, row=row, column=column)
