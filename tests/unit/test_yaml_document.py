"""The strict reader: what a person wrote is what is read, and what is broken is said with its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from contract.problems import InvalidInput
from contract.yaml_document import parse_document, read_document


@pytest.mark.parametrize(
    "text", ["on", "off", "yes", "no", "1_000", "012", "0x1f", "1e3", "12:30", "2020_1", "=", ".5"]
)
def test_yaml_1_1_surprises_stay_texts(text: str) -> None:
    value, _ = parse_document(f"key: {text}\n", "f")
    assert value == {"key": text}


SCALARS = [("3", 3), ("-3", -3), ("0", 0), ("1.5", 1.5), ("true", True), ("null", None), ("~", None)]


@pytest.mark.parametrize(("text", "value"), SCALARS)
def test_plain_scalars_have_their_types(text: str, value: object) -> None:
    read, _ = parse_document(f"key: {text}\n", "f")
    assert read == {"key": value}
    assert type(read["key"]) is type(value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("a: 1\na: 2\n", "stands twice"),
        ("a: {b: 1, b: 2}\n", "stands twice"),
        ("a: [1, 2\n", "not valid YAML"),
        ("config:\n  spillway:desired:\n    ack: {", "not valid YAML"),
        ("a: 'unfinished\n", "not valid YAML"),
        ("? [a]\n: 1\n", "plain texts"),
        ("a: \x07\n", "not valid YAML"),
    ],
)
def test_a_broken_document_is_refused_with_a_fix(text: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        parse_document(text, "f.yaml")
    assert caught.value.problems[0].fix


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        read_document(tmp_path / "no.yaml")


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(b"a: \xff\xfe\n")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_document(path)


def test_every_value_knows_its_place() -> None:
    _, findings = parse_document("a: 1\nb:\n  - c: 2\n", "f")
    assert findings.positions["b", 0, "c"] == (3, 5)


def test_a_document_nested_beyond_any_stack_is_refused() -> None:
    with pytest.raises(InvalidInput, match="nested too deeply"):
        parse_document("a: " + "[" * 3000 + "]" * 3000, "deep.yaml")
