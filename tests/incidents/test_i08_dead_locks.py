"""I08 (alan-turing-institute/data-safe-haven#1636): a lock whose owner is dead goes, that one alone; a live one stays.

The kill comes in the middle of a real `pulumi up` that the agent itself runs on the twin.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.act.pulumi_locks import Lock, is_owner_dead, locks_of
from agent.core.config_change import config_changes
from agent.core.snapshot import Snapshot
from agent.ledger.store import SqlLedger, sqlite_url
from agent.ports import ChangeState
from contract.catalog import read_catalog
from tests.builders import NOON, a_pool, a_snapshot, decided
from tests.engine.workbench import ROOT
from tests.incidents.engine_bench import Driven, processes_of, wait_until
from tests.incidents.one_tick import POOL, a_surge, an_agent, remember

STACK = "burst-aws"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
engine = pytest.mark.engine


def quiet(driven: Driven, configured: int, minutes: int = 1) -> Snapshot:
    """Nothing to decide: neither full nor quiet, and the pool as the file has it."""
    catalog = read_catalog(driven.bench.stacks / "catalog.yaml")
    pools = [a_pool(pool=POOL, configured=configured)]
    return a_snapshot(NOON + timedelta(minutes=minutes), use=60.0, catalog=catalog, pools=pools)


def start_tick(driven: Driven, ledger: Path, folder: Path) -> subprocess.Popen[bytes]:
    """An agent's process that decides to grow, and whose `pulumi up` has reached the cloud."""
    given_file = folder / "tick.json"
    binary = str(ROOT / ".spillway" / "bin" / "pulumi")
    given_values = {"folder": str(driven.bench.folder), "ledger": str(ledger), "binary": binary}
    given_file.write_text(json.dumps({**given_values, "environment": driven.bench.environment()}))
    driven.slow_down(STACK, 2.0)
    agent = subprocess.Popen(
        [sys.executable, "-m", "tests.incidents.one_tick", str(given_file)], cwd=ROOT, stdin=subprocess.DEVNULL
    )
    wait_until(lambda: driven.desired(STACK) > 0 or agent.poll() is not None)
    assert agent.poll() is None, "the tick ended before it could be killed"
    return agent


@engine
def test_a_restarted_agent_releases_the_lock_of_its_dead_cli_says_so_and_goes_on(
    driven: Driven, tmp_path: Path
) -> None:
    path = tmp_path / "ledger.db"
    agent = start_tick(driven, path, tmp_path)
    other = driven.locks(STACK)[0].parent.with_name("burst-alicloud") / "held.json"
    other.parent.mkdir(exist_ok=True)
    other.write_text(json.dumps(lock_content(os.getpid())))
    owner = driven.lock_owner(STACK)
    os.kill(agent.pid, signal.SIGKILL)
    os.kill(owner, signal.SIGKILL)
    agent.wait()
    wait_until(lambda: not processes_of(driven.bench.folder), seconds=10.0)
    assert len(driven.locks(STACK)) == 1, "nobody holds it, and it is there"

    ledger = SqlLedger(sqlite_url(path))
    [left] = ledger.open_changes()
    assert left.state is ChangeState.STARTED
    sizes = {0, driven.desired(STACK)}
    report = an_agent(driven.driver(), ledger, quiet(driven, 0)).tick()

    told = " ".join((*report.notes, *(change.detail for change in ledger.changes(9))))
    assert f"process {owner} on {socket.gethostname()}" in told
    assert "is dead" in told
    assert driven.locks(STACK) == []
    assert other.is_file(), "another stack's lock is not ours to judge here"
    assert ledger.open_changes() == ()
    stacks = driven.driver()
    applied = stacks.bindings(STACK)[POOL].applied
    assert applied == driven.desired(STACK), "the state knows what the cloud holds"
    assert applied in sizes
    assert f"{POOL}: {applied}\n" in stacks.read_file(STACK), "and the file says it"


@engine
def test_an_agent_that_outlives_its_cli_goes_on_at_its_next_tick(driven: Driven, tmp_path: Path) -> None:
    """The kernel took the CLI alone, for want of memory: no restart comes to help."""
    ledger = SqlLedger(sqlite_url(tmp_path / "ledger.db"))
    surge = a_surge(read_catalog(driven.bench.stacks / "catalog.yaml"))
    remember(ledger, surge)
    agent = an_agent(driven.driver(), ledger, surge, surge, quiet(driven, 0))
    driven.slow_down(STACK, 2.0)
    reports = []
    thread = threading.Thread(target=lambda: reports.append(agent.tick()))
    thread.start()
    wait_until(lambda: driven.desired(STACK) > 0)
    owner = driven.lock_owner(STACK)
    os.kill(owner, signal.SIGKILL)
    thread.join(20)
    assert reports[0].error is not None
    assert "signal 9" in str(reports[0].error)

    second = agent.tick()

    assert driven.locks(STACK) == []
    assert ledger.open_changes() == (), second.notes
    told = " ".join((*second.notes, *(change.detail for change in ledger.changes(9))))
    assert f"process {owner} on" in told
    assert driven.driver().bindings(STACK)[POOL].applied == driven.desired(STACK)


@engine
def test_a_lock_of_a_living_update_is_never_touched_and_the_update_ends_well(driven: Driven, tmp_path: Path) -> None:
    """A person's `pulumi up` runs while the agent starts with a change in the open."""
    ledger = SqlLedger(sqlite_url(tmp_path / "ledger.db"))
    surge = a_surge(read_catalog(driven.bench.stacks / "catalog.yaml"))
    remember(ledger, surge)
    killed_before_anything(ledger, surge)
    driven.write(STACK, 2)
    driven.slow_down(STACK, 3.0)
    human = driven.bench.start("up", "--stack", STACK, "--yes", "--skip-preview")
    wait_until(lambda: driven.desired(STACK) == 2)
    [lock] = driven.locks(STACK)
    held = lock.read_bytes()

    report = an_agent(driven.driver(), ledger, quiet(driven, 2)).tick()

    assert lock.read_bytes() == held
    assert human.poll() is None
    assert len(ledger.open_changes()) == 1
    assert "locked" in " ".join((str(report.error), *report.notes))
    output, _ = human.communicate(timeout=30)
    assert human.returncode == 0, output
    assert driven.locks(STACK) == []
    assert driven.driver().bindings(STACK)[POOL].applied == 2


def killed_before_anything(ledger: SqlLedger, snapshot: Snapshot) -> None:
    """The ledger of an agent that was killed right after it wrote down what it was about to do."""
    [change] = config_changes(decided(snapshot))
    ledger.begin(1, change, "digest", NOON)


# ---- which owner is dead ----


def lock_content(pid: int, host: str | None = None, at: datetime | None = None) -> dict[str, object]:
    """A lock as the engine writes it."""
    taken = (at or datetime.now(UTC)).isoformat().replace("+00:00", "Z")
    return {"pid": pid, "username": "root", "hostname": host or socket.gethostname(), "timestamp": taken}


def a_lock(pid: int, host: str | None = None, at: datetime | None = None) -> Lock:
    return Lock(path=Path("lock"), pid=pid, host=host or socket.gethostname(), taken_at=at or datetime.now(UTC))


def an_ended_process() -> int:
    """A number that no process has just now."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_only_a_process_that_cannot_be_alive_is_dead() -> None:
    assert is_owner_dead(a_lock(an_ended_process()))
    assert not is_owner_dead(a_lock(os.getpid()))
    assert not is_owner_dead(a_lock(os.getppid()))


def test_a_number_that_was_given_to_another_process_since_is_dead() -> None:
    assert is_owner_dead(a_lock(os.getpid(), at=LONG_AGO))


def test_a_zombie_is_dead() -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    stat = Path(f"/proc/{process.pid}/stat")
    wait_until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z")
    assert is_owner_dead(a_lock(process.pid))
    process.wait()


@settings(deadline=None)
@given(
    pid=st.one_of(st.integers(-5, 5), st.integers(0, 2**31)),
    host=st.text(min_size=1, max_size=12).filter(lambda name: name != socket.gethostname()),
    at=st.datetimes(min_value=datetime(1980, 1, 1), max_value=datetime(2060, 1, 1), timezones=st.just(UTC)),  # noqa: DTZ001
)
def test_an_owner_on_another_machine_is_never_dead_to_us(pid: int, host: str, at: datetime) -> None:
    assert not is_owner_dead(a_lock(pid, host, at))


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "7", "{}", '{"pid": "many"}', '{"pid": 1}', '{"pid": 1, "hostname": "h", "timestamp": "soon"}'],
)
def test_a_lock_that_cannot_be_read_counts_as_held(tmp_path: Path, content: str) -> None:
    folder = tmp_path / ".pulumi" / "locks" / "organization" / "spillway" / STACK
    folder.mkdir(parents=True)
    (folder / "l.json").write_text(content)
    [lock] = locks_of(tmp_path, "spillway", STACK)
    assert not is_owner_dead(lock)
    assert "unknown host" in lock.owner()


def test_locks_of_other_stacks_and_projects_are_not_even_listed(tmp_path: Path) -> None:
    for project, stack in (("spillway", "burst-aws-2"), ("spillway", "burst"), ("other", STACK)):
        folder = tmp_path / ".pulumi" / "locks" / "organization" / project / stack
        folder.mkdir(parents=True)
        (folder / "l.json").write_text(json.dumps(lock_content(1)))
    assert locks_of(tmp_path, "spillway", STACK) == ()
