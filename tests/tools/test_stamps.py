"""Stamps: what counts as the same input, and files that are never half-written."""

from pathlib import Path

import pytest

from tools.toolchain import stamps

PROJECT = '[project]\nname = "a"\nversion = "1"\n'


def test_the_boundary_between_parts_counts() -> None:
    assert stamps.digest(["ab", "c"]) != stamps.digest(["a", "bc"])


def test_a_checker_setting_does_not_ask_for_a_new_environment() -> None:
    with_ruff = PROJECT + "[tool.ruff]\nline-length = 100\n"

    assert stamps.installed_parts(with_ruff) == stamps.installed_parts(PROJECT)


@pytest.mark.parametrize("addition", ['dependencies = ["x"]\n', '[project.scripts]\nspillway = "spillway.main:main"\n'])
def test_a_dependency_or_a_script_does(addition: str) -> None:
    assert stamps.installed_parts(PROJECT + addition) != stamps.installed_parts(PROJECT)


def test_facts_come_back(tmp_path: Path) -> None:
    stamps.write_facts(tmp_path / "deep" / "stamp.json", {"key": "v", "list": ["a"]})

    assert stamps.read_facts(tmp_path / "deep" / "stamp.json") == {"key": "v", "list": ["a"]}


@pytest.mark.parametrize("content", ["", '{"key": ', "[1]", "null"])
def test_a_damaged_stamp_means_do_it_again(tmp_path: Path, content: str) -> None:
    (tmp_path / "stamp.json").write_text(content)

    assert stamps.read_facts(tmp_path / "stamp.json") == {}


def test_a_write_leaves_the_file_and_nothing_else(tmp_path: Path) -> None:
    stamps.write(tmp_path / "script", "old", mode=0o755)
    stamps.write(tmp_path / "script", "new", mode=0o755)

    assert [path.name for path in tmp_path.iterdir()] == ["script"]
    assert (tmp_path / "script").read_text() == "new"
    assert (tmp_path / "script").stat().st_mode & 0o777 == 0o755
