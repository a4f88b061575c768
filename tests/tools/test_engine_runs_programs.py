"""The real CLI runs Python programs through our language host, and nothing outlives a run."""

import json
import os
import signal

import pytest

from tests.tools.conftest import TinyProject, eventually

pytestmark = pytest.mark.engine

OUTPUTS = """
import sys
import pulumi

config = pulumi.Config()
print("the program speaks")
pulumi.export("greeting", config.require("who"))
pulumi.export("desired", config.require_object("desired"))
pulumi.export("token", config.require_secret("token"))
pulumi.export("preview", pulumi.runtime.is_dry_run())
pulumi.export("stack", pulumi.get_stack())
pulumi.export("prefix", sys.prefix)
"""

HANGS = """
import pathlib, subprocess
child = subprocess.Popen(["sleep", "300"])
pathlib.Path("../ready").touch()
child.wait()
"""

DEAF = """
import pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
pathlib.Path("../ready").touch()
time.sleep(300)
"""


def outputs(project: TinyProject) -> dict[str, object]:
    shown = project.run("stack", "output", "--json", "--show-secrets")
    assert shown.returncode == 0, shown.stdout
    values = json.loads(shown.stdout)
    assert isinstance(values, dict)
    return values


def configure(project: TinyProject) -> None:
    for command in (
        ("config", "set", "who", "world"),
        ("config", "set", "--path", "desired.gpu-a100", "3"),
        ("config", "set", "--secret", "token", "s3cret"),
    ):
        done = project.run(*command)
        assert done.returncode == 0, done.stdout


def test_config_reaches_the_program_and_outputs_come_back(tiny: TinyProject) -> None:
    configure(tiny)
    tiny.program(OUTPUTS)

    done = tiny.up()

    assert done.returncode == 0, done.stdout
    assert "the program speaks" in done.stdout
    assert "warning" not in done.stdout
    assert outputs(tiny) == {
        "greeting": "world",
        "desired": {"gpu-a100": 3},
        "token": "s3cret",
        "preview": False,
        "stack": "dev",
        "prefix": str(tiny.virtualenv),
    }


def test_a_secret_is_not_shown(tiny: TinyProject) -> None:
    configure(tiny)
    tiny.program(OUTPUTS)

    done = tiny.up()

    assert "token   : [secret]" in done.stdout
    assert "s3cret" not in done.stdout


def test_preview_changes_nothing(tiny: TinyProject) -> None:
    configure(tiny)
    tiny.program(OUTPUTS)

    done = tiny.run("preview")

    assert done.returncode == 0, done.stdout
    assert outputs(tiny) == {}


def test_the_virtualenv_may_be_relative_to_the_project(tiny: TinyProject) -> None:
    (tiny.folder / "env").symlink_to(tiny.virtualenv)
    tiny.settings("env")
    tiny.program("import pulumi, sys\npulumi.export('prefix', sys.prefix)\n")

    done = tiny.up()

    assert done.returncode == 0, done.stdout
    assert outputs(tiny) == {"prefix": str(tiny.folder / "env")}


def test_a_missing_virtualenv_is_named_with_the_next_step(tiny: TinyProject) -> None:
    tiny.settings("nowhere")
    tiny.program("import pulumi\n")

    done = tiny.up()

    assert done.returncode != 0
    assert "virtualenv to 'nowhere'" in done.stdout
    assert "tools/setup.py" in done.stdout


def test_an_unhandled_error_is_shown_with_its_trace_once(tiny: TinyProject) -> None:
    tiny.program("import pulumi\n\ndef deep():\n    raise ValueError('boom 42')\n\ndeep()\n")

    done = tiny.up()

    assert done.returncode != 0
    assert done.stdout.count("ValueError: boom 42") == 1
    assert "line 4, in deep" in done.stdout
    assert tiny.processes() == {}


def test_an_exit_code_of_the_program_is_reported(tiny: TinyProject) -> None:
    tiny.program("import os\nos._exit(7)\n")

    done = tiny.up()

    assert done.returncode != 0
    assert "non-zero exit code: 7" in done.stdout


@pytest.mark.parametrize(
    ("victim", "program"),
    [("cli", HANGS), ("cli", DEAF), ("tools.language_host", DEAF)],
    ids=["cli-with-a-grandchild", "cli-deaf-program", "host-deaf-program"],
)
def test_a_kill_leaves_no_process(tiny: TinyProject, victim: str, program: str) -> None:
    tiny.program(program)
    with tiny.start("up", "--yes", "--skip-preview") as cli:
        assert eventually((tiny.folder / "ready").exists, 20)

        os.kill(cli.pid if victim == "cli" else tiny.process(victim), signal.SIGKILL)
        cli.communicate(timeout=20)

        assert cli.returncode != 0
        assert eventually(lambda: tiny.processes() == {}, 5), tiny.processes()


@pytest.mark.parametrize("program", [HANGS, DEAF], ids=["with-a-child", "deaf-to-signals"])
def test_interrupting_the_cli_ends_the_program(tiny: TinyProject, program: str) -> None:
    tiny.program(program)
    with tiny.start("up", "--yes", "--skip-preview") as cli:
        assert eventually((tiny.folder / "ready").exists, 20)

        os.kill(cli.pid, signal.SIGINT)
        output, _ = cli.communicate(timeout=10)

        assert cli.returncode != 0
        assert "KeyboardInterrupt" not in output
        assert eventually(lambda: tiny.processes() == {}, 5), tiny.processes()


def test_the_config_may_be_large_but_not_endless(tiny: TinyProject) -> None:
    tiny.program("import pulumi\npulumi.export('n', len(pulumi.Config().require('big')))\n")
    stack = tiny.folder / "stacks" / "Pulumi.dev.yaml"
    stack.write_text(f"{stack.read_text()}config:\n  tiny:big: {'x' * 100_000}\n")
    assert tiny.up().returncode == 0
    assert outputs(tiny) == {"n": 100_000}

    stack.write_text(f"{stack.read_text()}  tiny:more: {'x' * 100_000}\n")
    done = tiny.up()

    assert done.returncode != 0
    assert "128 KiB" in done.stdout
