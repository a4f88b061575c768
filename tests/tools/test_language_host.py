"""The parts of the language host that need no engine."""

import subprocess
import sys
from pathlib import Path

import pytest

from tools.language_host import program
from tools.language_host.program import Outcome

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("code", "outcome"),
    [
        (0, Outcome()),
        (32, Outcome(bail=True)),
        (1, Outcome(error="Program exited with non-zero exit code: 1")),
        (-9, Outcome(error="Program was ended by signal SIGKILL")),
    ],
)
def test_an_exit_code_becomes_an_answer_to_the_engine(code: int, outcome: Outcome) -> None:
    assert program.outcome(code) == outcome


def test_without_a_virtualenv_the_hosts_interpreter_runs_the_program(tmp_path: Path) -> None:
    assert program.interpreter("", tmp_path) == sys.executable


def test_a_virtualenv_without_interpreter_is_refused_with_the_next_step(tmp_path: Path) -> None:
    with pytest.raises(program.InterpreterMissing, match=r"tools/setup\.py"):
        program.interpreter("env", tmp_path)


def test_the_program_sees_its_own_virtualenv_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin")
    monkeypatch.setenv("PYTHONHOME", "/elsewhere")

    seen = program.environment("/p/.venv/bin/python", {"PULUMI_CONFIG": "{}"})

    assert seen["PATH"] == "/p/.venv/bin:/usr/bin"
    assert seen["VIRTUAL_ENV"] == "/p/.venv"
    assert seen["PULUMI_CONFIG"] == "{}"
    assert "PYTHONHOME" not in seen


def test_starting_the_host_does_not_import_the_whole_sdk() -> None:
    code = (
        "import sys; from tools.language_host import stubs; stubs.mount();"
        "import tools.language_host.servicer; print('pulumi.output' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"


def test_set_up_runs_on_the_standard_library_alone() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import tools.toolchain.command_line;"
        "print([name for name in sys.modules if name in ('pulumi', 'yaml', 'grpc', 'typer')])"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(ROOT)],
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.strip() == "[]"
