"""I12 (pulumi/pulumi#8696): however a run of the CLI ends, none of its processes is left, and no port of theirs."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agent.act.pulumi_command import CommandFailed, SessionRunner
from agent.errors import PulumiTimeout, SpillwayError
from tests.incidents.engine_bench import STACKS, Driven, processes_of, wait_until

KILLS = 10


def a_runner(folder: Path, script: str, *, limit_s: float = 20.0) -> SessionRunner:
    """A runner whose binary is a script; its folder stands in the environment, so that its processes are found."""
    binary = folder / "pulumi"
    binary.write_text(f"#!{sys.executable}\nimport os, signal, subprocess, sys, time\n{script}\n")
    binary.chmod(0o755)
    environment = {"PATH": os.environ["PATH"], "FOLDER": str(folder)}
    return SessionRunner(binary=binary, environment=environment, limit_seconds=limit_s, grace_seconds=0.3)


# A plugin as the engine starts it: a process group of its own, deaf to a polite end, our pipe in its hand.
PLUGIN_S = 20
_DEAF = f"import signal, time; [signal.signal(n, signal.SIG_IGN) for n in (2, 15)]; time.sleep({PLUGIN_S})"
PLUGIN = f"subprocess.Popen([sys.executable, '-c', '{_DEAF}'], process_group=0)"
ENDS: dict[str, tuple[str, type[Exception] | None]] = {
    "in order": ("sys.exit(0)", None),
    "with an error": ("sys.exit(255)", CommandFailed),
    "by SIGKILL": ("os.kill(os.getpid(), signal.SIGKILL)", CommandFailed),
    "by SIGTERM": ("os.kill(os.getpid(), signal.SIGTERM)", CommandFailed),
    "at the limit": ("time.sleep(60)", PulumiTimeout),
    "deaf at the limit": ("signal.signal(2, signal.SIG_IGN); time.sleep(60)", PulumiTimeout),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_plugin_never_outlives_the_run_that_started_it(tmp_path: Path, end: str) -> None:
    script, error = ENDS[end]
    runner = a_runner(tmp_path, f"{PLUGIN}\n{script}", limit_s=0.5 if "limit" in end else 60.0)
    started = time.monotonic()
    if error is None:
        runner.run(["up"], tmp_path)
    else:
        with pytest.raises(error):
            runner.run(["up"], tmp_path)
    wait_until(lambda: not processes_of(tmp_path), seconds=2.0)
    assert time.monotonic() - started < PLUGIN_S, "ended, and not waited for"


def test_a_run_is_over_when_the_cli_is_though_a_plugin_holds_its_output_open(tmp_path: Path) -> None:
    """Else a dead CLI would be waited for until its limit of half an hour."""
    started = time.monotonic()
    done = a_runner(tmp_path, f"print('first', flush=True)\n{PLUGIN}\nprint('last', flush=True)").run(["up"], tmp_path)
    assert done.stdout.splitlines() == ["first", "last"]
    assert time.monotonic() - started < PLUGIN_S


def test_a_cli_that_dies_while_it_is_run_by_many_threads_takes_only_its_own(tmp_path: Path) -> None:
    """Two runs side by side: the end of one reaps its own session and leaves the other's."""
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    go = tmp_path / "go"
    long = a_runner(
        folders[0], f"{PLUGIN}\nprint('up', flush=True)\nwhile not os.path.exists('{go}'): time.sleep(0.01)"
    )
    short = a_runner(folders[1], f"{PLUGIN}\nos.kill(os.getpid(), signal.SIGKILL)")
    lines: list[str] = []
    thread = threading.Thread(target=lambda: long.run(["up"], tmp_path, lines.append))
    thread.start()
    wait_until(lambda: bool(lines))
    with pytest.raises(CommandFailed):
        short.run(["up"], tmp_path)
    assert len(processes_of(folders[0])) == 2
    go.touch()
    thread.join(10)
    assert not thread.is_alive()
    assert not processes_of(folders[0])


def test_the_cli_is_interrupted_when_the_agent_is_killed(tmp_path: Path) -> None:
    """SIGINT is what the engine ends in order on; without it a killed agent's update would spend on."""
    told = tmp_path / "told"
    script = f"signal.signal(2, lambda *_: (open('{told}', 'w').close(), sys.exit(0)))\n"
    script += "print('up', flush=True)\ntime.sleep(60)"
    a_runner(tmp_path, script)
    program = (
        "from agent.act.pulumi_command import SessionRunner; from pathlib import Path; import os;"
        f"SessionRunner(binary=Path('{tmp_path}/pulumi'), environment=dict(os.environ, FOLDER='{tmp_path}'),"
        f" limit_seconds=60).run(['up'], Path('{tmp_path}'), lambda line: print(line, flush=True))"
    )
    read, write = os.pipe()
    agent = os.posix_spawn(
        sys.executable,
        [sys.executable, "-c", program],
        {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        file_actions=[(os.POSIX_SPAWN_DUP2, write, 1)],
    )
    os.close(write)
    assert os.read(read, 2) == b"up"
    os.close(read)
    os.kill(agent, signal.SIGKILL)
    os.waitpid(agent, 0)
    wait_until(told.exists, seconds=5.0)
    wait_until(lambda: not processes_of(tmp_path), seconds=5.0)


# ---- the real engine ----


def engine_of(driven: Driven, stack: str) -> int | None:
    """The CLI that previews a stack, once its language host and its plugin are up as well."""
    found = processes_of(driven.bench.folder)
    cli = next((pid for pid, item in found.items() if "preview" in item.command and stack in item.command), None)
    children = " ".join(item.command for item in found.values() if item.parent == cli)
    return cli if "tools.language_host" in children and "sim.providers" in children else None


def kill_in_the_middle(driven: Driven, stack: str) -> None:
    """Preview, and kill -9 the CLI once engine, language host and plugin are all there."""
    stacks = driven.driver()
    _, candidate = driven.candidate(stack, 3)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(stacks.preview, stack, candidate)
        wait_until(lambda: engine_of(driven, stack) is not None)
        pid = engine_of(driven, stack)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        error = running.exception(timeout=20)
    assert isinstance(error, SpillwayError)
    assert "signal 9" in error.what


@pytest.mark.engine
def test_ten_kills_of_the_cli_leave_no_process_and_no_lock(driven: Driven) -> None:
    """Two at a time, as two stacks are worked on."""
    assert not processes_of(driven.bench.folder)
    for _ in range(KILLS // len(STACKS)):
        with ThreadPoolExecutor(len(STACKS)) as pool:
            list(pool.map(lambda stack: kill_in_the_middle(driven, stack), STACKS))
    wait_until(lambda: not processes_of(driven.bench.folder), seconds=2.0)
    for stack in STACKS:
        assert driven.locks(stack) == []
        assert driven.desired(stack) == 0
