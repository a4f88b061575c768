"""The trace file: good rows become jobs, bad cells are refused with row, column and fix."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.problems import InvalidInput, Problem
from sim.world.workload import HEADER, parse_workload, read_workload

HEAD = ",".join(HEADER)
GOOD = "job-1,0,600,8,research,true,80"


def problems_of(*rows: str) -> tuple[Problem, ...]:
    """What is wrong with these rows."""
    with pytest.raises(InvalidInput) as caught:
        parse_workload([HEAD, *rows], "jobs.csv")
    return caught.value.problems


def test_good_row_becomes_a_job() -> None:
    (job,) = parse_workload([HEAD, GOOD], "jobs.csv")
    assert (job.name, job.duration_s, job.gpus, job.department) == ("job-1", 600.0, 8, "research")
    assert job.is_preemptible
    assert job.gpu_memory_gib == 80


def test_jobs_come_in_the_order_of_their_submission() -> None:
    rows = [GOOD.replace("job-1,0", "late,50"), GOOD.replace("job-1,0", "early,5")]
    assert [job.name for job in parse_workload([HEAD, *rows], "jobs.csv")] == ["early", "late"]


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("job", ""),
        ("job", "Job_1"),
        ("job", "x" * 53),
        ("submitted_s", "-1"),
        ("submitted_s", "nan"),
        ("submitted_s", "soon"),
        ("duration_s", "0"),
        ("duration_s", "inf"),
        ("gpus", "0"),
        ("gpus", "1.5"),
        ("gpus", "²"),
        ("gpus", "9999"),
        ("department", "R&D"),
        ("preemptible", "yes"),
        ("preemptible", ""),
        ("gpu_memory_gib", "-80"),
    ],
)
def test_bad_cell_is_named_with_row_column_and_fix(column: str, cell: str) -> None:
    cells = GOOD.split(",")
    cells[HEADER.index(column)] = cell
    (problem,) = problems_of("ok,0,1,1,research,false,0", ",".join(cells))
    assert (problem.file, problem.row, problem.column) == ("jobs.csv", 3, HEADER.index(column) + 1)
    assert problem.where == column
    assert "row 3" in problem.fix


def test_all_problems_are_told_at_once() -> None:
    assert len(problems_of("a,x,0,0,research,true,0", "b,1,2", GOOD, GOOD)) == 5


def test_short_row_and_duplicate_name_say_where() -> None:
    short, twice = problems_of("b,1,2", GOOD, GOOD)
    assert "3 cells instead of 7" in short.message
    assert "first in row 3" in twice.message


@pytest.mark.parametrize("lines", [[], ["a,b,c"], [HEAD.upper()]])
def test_wrong_header_is_refused(lines: list[str]) -> None:
    with pytest.raises(InvalidInput, match="header"):
        parse_workload(lines, "jobs.csv")


def test_files_are_read_and_their_absence_is_told(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    with pytest.raises(InvalidInput, match="does not exist"):
        read_workload(path)
    path.write_text("\ufeff" + HEAD + "\n" + GOOD + "\n\n", encoding="utf-8")
    assert len(read_workload(path)) == 1
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_workload(path)


@given(st.lists(st.text(alphabet='abc,"\n019.-', max_size=30), max_size=5))
def test_any_text_is_read_or_refused_and_nothing_else(rows: list[str]) -> None:
    with suppress(InvalidInput):
        jobs = parse_workload([HEAD, *rows], "jobs.csv")
        assert all(job.duration_s > 0 and job.gpus > 0 for job in jobs)
