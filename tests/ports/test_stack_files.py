"""Stack files on disk: replaced as a whole or not at all, whoever kills, locks or edits meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.act.stack_files import read_stack_file, replace_stack_file
from agent.errors import ConfigConflict, StackMissing, StackUnreadable

ROOT = Path(__file__).resolve().parents[2]
OLD, NEW = "config:\n  a: 1\n", "config:\n  a: 2\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A stack file."""
    path = tmp_path / "Pulumi.burst-aws.yaml"
    path.write_text(OLD)
    return path


def test_a_replaced_file_is_whole_and_nothing_else_is_left(file: Path) -> None:
    replace_stack_file(file, "burst-aws", OLD, NEW)
    assert file.read_text() == NEW
    assert list(file.parent.iterdir()) == [file]


def test_who_may_read_the_file_stays_as_it_was(file: Path) -> None:
    file.chmod(0o640)
    replace_stack_file(file, "burst-aws", OLD, NEW)
    assert file.stat().st_mode & 0o777 == 0o640


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=60))
def test_any_text_goes_to_disk_and_back_byte_for_byte(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("any") / "Pulumi.s.yaml"
    path.write_bytes(OLD.encode())
    replace_stack_file(path, "s", OLD, text)
    assert path.read_bytes() == text.encode()
    assert read_stack_file(path, "s") == text


def test_a_file_that_somebody_edited_stays_theirs(file: Path) -> None:
    file.write_text("config:\n  a: 7\n")
    with pytest.raises(ConfigConflict):
        replace_stack_file(file, "burst-aws", OLD, NEW)
    assert file.read_text() == "config:\n  a: 7\n"


def test_a_file_that_is_gone_is_missing_and_not_made(file: Path) -> None:
    file.unlink()
    with pytest.raises(StackMissing):
        replace_stack_file(file, "burst-aws", OLD, NEW)
    assert not file.exists()


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"config:\n  a: \xe9\n"])
def test_a_file_that_is_no_text_is_unreadable_and_left_alone(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(StackUnreadable):
        replace_stack_file(file, "burst-aws", OLD, NEW)
    assert file.read_bytes() == content


def test_a_folder_in_its_place_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(StackUnreadable):
        read_stack_file(tmp_path, "burst-aws")


def test_a_disk_that_takes_nothing_leaves_the_old_file_and_no_litter(file: Path) -> None:
    """A limit on the size of files stands in for a full disk."""
    program = (
        "import resource, signal, sys; from pathlib import Path;"
        "from agent.act.stack_files import replace_stack_file;"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (8, 8));"
        f"replace_stack_file(Path({str(file)!r}), 'burst-aws', {OLD!r}, {NEW * 100!r})"
    )
    done = run(program)
    assert done.returncode == 1
    assert "StackUnreadable" in done.stderr
    assert file.read_text() == OLD
    assert list(file.parent.iterdir()) == [file]


@pytest.mark.parametrize("moment", ["write", "flush", "fsync", "replace"])
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(file: Path, moment: str) -> None:
    """The process dies at one step of the way; the file is whole either way."""
    program = (
        "import os, signal, sys; from pathlib import Path;"
        "from agent.act.stack_files import replace_stack_file;\n"
        "def die(frame, event, argument):\n"
        f"    if event == 'c_call' and getattr(argument, '__name__', '') == {moment!r}:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.setprofile(die)\n"
        f"replace_stack_file(Path({str(file)!r}), 'burst-aws', {OLD!r}, {NEW!r})"
    )
    assert run(program).returncode == -signal.SIGKILL
    assert file.read_text() in (OLD, NEW)


def run(program: str) -> subprocess.CompletedProcess[str]:
    """A process of its own, because it is to die."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
