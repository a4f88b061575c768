"""The sweep's core: what makes a cell the same, what is kept over a break, one bad cell among good ones."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from agent.bootstrap import read_policy
from contract.catalog import read_catalog
from contract.units import Money
from replay.contest import Entrant, World, enter
from replay.headline import Headline
from replay.site.truth import Estimates, Truth
from replay.sweep.cells import Cell, Setting, TraceFile, cells, load, trace_file, with_patience
from replay.sweep.crew import Crew, Failed, alone, play, processes, run
from replay.sweep.page import sweep_page
from replay.sweep.store import LOCK, RESULTS, SweepRunning, opened
from replay.sweep.summary import as_data, summary
from tests.replay.trace_files import ROOT, written

CATALOG = read_catalog(ROOT / "stacks" / "catalog.yaml")
POLICY = read_policy(ROOT / "stacks" / "policy.yaml", CATALOG)
SETTING = Setting(catalog=CATALOG, owned_nodes=1, world=World.INSTANT, truth=Truth())
MINE = Entrant(name="mine", policy=POLICY)
LINES = ("job_id,submit_time,duration,num_gpu", *(f"j{n},{n * 60},3600,4" for n in range(8)))


@pytest.fixture
def file(tmp_path: Path) -> TraceFile:
    return trace_file(written(tmp_path, *LINES), format=None, days=0.0, skip_bad=False)


def grid(file: TraceFile, *, setting: Setting = SETTING, seeds: Sequence[int] = (0,)) -> list[Cell]:
    return cells([("jobs", file)], [MINE, enter("queue-only", POLICY, setting.world)], seeds, setting)


def a_headline(cost: float = 10.0, wait: float = 1.0, unfinished: int = 0) -> Headline:
    return Headline(
        policy="mine",
        jobs=3,
        cloud_jobs=1,
        mean_wait_h=wait,
        p99_wait_h=2 * wait,
        mean_jct_h=3.0,
        cloud_gpu_h=4.0,
        paid_gpu_h=5.0,
        cloud_cost=Money(Decimal(str(cost)), "CNY"),
        on_prem_use=0.5,
        cloud_use=None,
        idle_share=None,
        direction_changes=None,
        response_p95_min=None,
        lost_h=0.0,
        unfinished=unfinished,
        core_served=None,
        seconds=0.1,
        wait_by_tier={"research": 0.1},
        spend_by_department={"a": Money(Decimal(1), "CNY")},
    )


# ---- identity ----


def test_the_same_call_makes_the_same_identities_and_names_do_not_matter(file: TraceFile) -> None:
    renamed = cells([("other", file)], [replace(MINE, name="other")], (0,), SETTING)
    assert [cell.identity for cell in grid(file)] == [cell.identity for cell in grid(file)]
    assert renamed[0].identity == grid(file)[0].identity


def test_all_that_changes_figures_changes_the_identity(file: TraceFile) -> None:
    changed = replace(POLICY, wait_or_pay=replace(POLICY.wait_or_pay, patience=timedelta(hours=9)))
    settings = (
        replace(SETTING, owned_nodes=2),
        replace(SETTING, world=World.REAL),
        replace(SETTING, truth=Truth(estimates=Estimates.NONE)),
        replace(SETTING, catalog=replace(CATALOG, rates={})),
    )
    found = [
        *grid(file, seeds=(0, 1)),
        *cells([("jobs", file)], [replace(MINE, policy=changed)], (0,), SETTING),
        *cells([("jobs", replace(file, digest="other"))], [MINE], (0,), SETTING),
        *cells([("jobs", file)], [enter("constant-wait:2", POLICY, World.INSTANT)], (0,), SETTING),
        *cells([("jobs", file)], [enter("constant-wait:3", POLICY, World.INSTANT)], (0,), SETTING),
        *(cells([("jobs", file)], [MINE], (0,), setting)[0] for setting in settings),
    ]
    assert len({cell.identity for cell in found}) == len(found)


def test_a_digest_is_of_the_content_and_of_how_it_is_read(tmp_path: Path, file: TraceFile) -> None:
    path = Path(file.path)
    assert trace_file(path, format=None, days=1.0, skip_bad=False).digest != file.digest
    assert trace_file(path, format=None, days=0.0, skip_bad=True).digest != file.digest
    (tmp_path / "copy.csv").write_bytes(path.read_bytes())
    assert trace_file(tmp_path / "copy.csv", format=None, days=0.0, skip_bad=False).digest == file.digest


def test_patience_makes_one_policy_a_value() -> None:
    made = list(with_patience([MINE], [timedelta(minutes=3), timedelta(hours=1)]))
    assert [it.name for it in made] == ["mine@3m", "mine@1h"]
    assert [it.policy.wait_or_pay.patience for it in made] == [timedelta(minutes=3), timedelta(hours=1)]
    assert list(with_patience([MINE], [])) == [MINE]


# ---- the store ----


def test_figures_come_back_as_they_were(tmp_path: Path, file: TraceFile) -> None:
    cell, other = grid(file)
    with opened(tmp_path / "out") as store:
        store.keep(cell, a_headline())
    with opened(tmp_path / "out") as store:
        assert store.find(cell) == a_headline()
        assert store.find(other) is None


def test_a_torn_last_line_is_run_again_and_spoils_nothing(tmp_path: Path, file: TraceFile) -> None:
    first, second = grid(file)
    with opened(tmp_path) as store:
        store.keep(first, a_headline())
        store.keep(second, a_headline())
    path = tmp_path / RESULTS
    path.write_bytes(path.read_bytes()[:-20])
    with opened(tmp_path) as store:
        assert store.find(first) == a_headline()
        assert store.find(second) is None
        store.keep(second, a_headline(cost=7.0))
    assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == [first.identity, second.identity]
    with opened(tmp_path) as store:
        assert store.find(second) == a_headline(cost=7.0)


@pytest.mark.parametrize("line", ["", "nonsense", "[]", "{}", '{"id": 1, "headline": {}}', "\udcff"])
def test_a_foreign_line_is_passed_over(tmp_path: Path, file: TraceFile, line: str) -> None:
    cell = grid(file)[0]
    (tmp_path / RESULTS).write_text(line + "\n", encoding="utf-8", errors="surrogateescape")
    with opened(tmp_path) as store:
        assert store.find(cell) is None
        store.keep(cell, a_headline())
    with opened(tmp_path) as store:
        assert store.find(cell) == a_headline()


def test_two_sweeps_into_one_folder_refuse_and_name_the_process(tmp_path: Path) -> None:
    with opened(tmp_path), pytest.raises(SweepRunning, match=f"process {os.getpid()} "), opened(tmp_path):
        pass
    with opened(tmp_path):
        assert (tmp_path / LOCK).read_text() == str(os.getpid())


@pytest.mark.parametrize("left", ["999999999", "1", "", "nonsense"])
def test_a_lock_that_was_left_is_taken_over(tmp_path: Path, left: str) -> None:
    (tmp_path / LOCK).write_text(left)
    with opened(tmp_path):
        assert (tmp_path / LOCK).read_text() == str(os.getpid())


# ---- who runs them ----


def test_every_cell_is_run_once_here_or_in_processes_with_the_same_figures(file: TraceFile) -> None:
    wanted = grid(file, seeds=(0, 1))
    here = {cell.identity: answer for cell, answer in run(wanted, alone())}
    there = {cell.identity: answer for cell, answer in run(wanted, processes(2))}
    assert set(here) == set(there) == {cell.identity for cell in wanted}
    for identity, answer in here.items():
        other = there[identity]
        assert isinstance(answer, Headline)
        assert isinstance(other, Headline)
        assert replace(answer, seconds=0.0) == replace(other, seconds=0.0)


def test_one_bad_cell_is_told_and_loses_no_other(file: TraceFile) -> None:
    good, other = grid(file)
    bad = replace(good, entrant=replace(MINE, baseline="no-such-habit"))
    found = [answer for _, answer in run([good, bad, other], alone())]
    assert isinstance(found[0], Headline)
    assert found[1] == Failed(why="KeyError: 'no-such-habit'")
    assert isinstance(found[2], Headline)


def test_a_trace_that_changed_meanwhile_is_refused(file: TraceFile) -> None:
    Path(file.path).write_text("\n".join(LINES[:3]) + "\n")
    answer = play(grid(file)[0], file)
    assert isinstance(answer, Failed)
    assert "changed while the sweep ran" in answer.why


def test_what_the_workers_have_already_is_not_read_again(file: TraceFile) -> None:
    crew = Crew(make=alone().make, workers=1, sent={file: load(file)})
    Path(file.path).unlink()
    load.cache_clear()
    assert all(isinstance(answer, Headline) for _, answer in run(grid(file), crew))


class _Dies(Executor):
    """As a process pool whose process dies whenever it meets the culprit: all that is under way is lost."""

    def __init__(self, culprit: Cell) -> None:
        self._culprit = culprit
        self._is_broken = False

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self._is_broken:
            raise BrokenProcessPool("broken")
        future: Future[Any] = Future()
        self._is_broken = args[0] == self._culprit
        if self._is_broken:
            future.set_exception(BrokenProcessPool("a child died"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_a_cell_that_takes_its_process_with_it_is_the_only_one_lost(file: TraceFile) -> None:
    wanted = grid(file, seeds=(0, 1, 2))
    made = []

    def make() -> Executor:
        made.append(_Dies(wanted[2]))
        return made[-1]

    found = {cell.identity: answer for cell, answer in run(wanted, Crew(make=make, workers=2))}
    assert len(found) == 6
    assert [answer for answer in found.values() if isinstance(answer, Failed)] == [found[wanted[2].identity]]
    assert "its process died" in str(found[wanted[2].identity])
    assert len(made) == 3


# ---- the summary ----


def test_means_and_spreads_are_over_seeds_and_the_front_is_marked(file: TraceFile) -> None:
    wanted = grid(file, seeds=(0, 1))
    figures = [a_headline(10, 1.0), a_headline(14, 2.0), a_headline(20, 3.0), a_headline(20, 3.0)]
    found = summary(wanted, dict(zip([c.identity for c in wanted], figures, strict=True)), {})
    first, second = found.rows
    cost = first.figures["cloud_cost"]
    assert cost is not None
    assert (cost.mean, cost.least, cost.most) == (12.0, 10.0, 14.0)
    assert cost.deviation == pytest.approx(8**0.5)
    assert first.seeds == (0, 1)
    assert (first.is_best_by_mean, first.is_best_by_p99) == (True, True)
    assert (second.is_best_by_mean, second.is_best_by_p99) == (False, False)
    assert first.figures["cloud_use"] is None


def test_a_summary_does_not_depend_on_the_order_of_the_answers(file: TraceFile) -> None:
    wanted = grid(file, seeds=(0, 1))
    found = {cell.identity: a_headline(cost=n + 1.0) for n, cell in enumerate(wanted)}
    turned = dict(reversed(found.items()))
    assert json.dumps(as_data(summary(wanted, found, {}))) == json.dumps(as_data(summary(wanted, turned, {})))
    assert "seconds" not in json.dumps(as_data(summary(wanted, found, {})))


def test_a_page_shows_the_front_what_failed_and_no_markup_of_others(file: TraceFile) -> None:
    wanted = cells([("<b>jobs", file)], [MINE, enter("queue-only", POLICY, World.INSTANT)], (0, 1), SETTING)
    failed = {wanted[3].identity: "KeyError: <i>"}
    found = summary(wanted, {cell.identity: a_headline() for cell in wanted[:3]}, failed)
    shown = sweep_page(found, [("world", "instant")])
    assert "<b>" not in shown
    assert "KeyError: &lt;i&gt;" in shown
    assert "&lt;b&gt;jobs, queue-only, seed 1" in shown
    assert "* mean * p99" in shown
    assert shown.count("<svg xmlns") == 2


def test_a_summary_of_nothing_is_a_page() -> None:
    assert "Settings" in sweep_page(summary([], {}, {}), [("world", "real")])


def test_a_worker_whose_parent_is_gone_ends_itself() -> None:
    code = "from replay.sweep.crew import _end_with; _end_with(-1)"
    assert subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode == 1
