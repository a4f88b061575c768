"""Bad trace files are refused with file, row and fix; bad rows can be left out, and then nothing is lost count of."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from contract.problems import InvalidInput
from replay.traces.findings import SHOWN
from replay.traces.registry import read_trace
from tests.replay.trace_files import problems, read, refusal, written

ITP = "job,submission_time,duration,num_gpu"
GOOD = "good,10,60,1"


@pytest.mark.parametrize(
    ("row", "where", "message"),
    [
        ("a,0,0,1", "duration", "a job cannot run for 0 s"),
        ("a,0,-5,1", "duration", "a job cannot run for -5 s"),
        ("a,0,nan,1", "duration", "'nan' is not a finite number"),
        ("a,0,inf,1", "duration", "'inf' is not a finite number"),
        ("a,0,,1", "duration", "is empty"),
        ("a,0,1_000,1", "duration", "'1_000' is not a finite number"),
        ("a,-inf,60,1", "submission_time", "'-inf' is not a finite number"),
        ("a,soon,60,1", "submission_time", "'soon' is not a finite number"),
        ("a,0,60,0", "num_gpu", "0 is too few GPUs"),
        ("a,0,60,-8", "num_gpu", "-8 is too few GPUs"),
        ("a,0,60,0.5", "num_gpu", "'0.5' is not a whole number of GPUs"),
        ("a,0,60,", "num_gpu", "is empty"),
        ("a,0,60,inf", "num_gpu", "'inf' is not a whole number of GPUs"),
        (",0,60,1", "job", "is empty"),
        ("a,0,60", "the row", "has 3 cells, the header 4"),
        ("a,0,60,1,9", "the row", "has 5 cells, the header 4"),
        ('a,0,"60"x,1', "the row", "is not CSV: ',' expected after '\"'"),
        ("good,0,60,1", "the row", "the job 'good' is in row 2, too"),
    ],
)
def test_a_bad_row_is_named_with_file_row_and_fix(tmp_path: Path, row: str, where: str, message: str) -> None:
    (problem,) = refusal(tmp_path, ITP, GOOD, row)
    assert (problem.file, problem.row, problem.where, problem.message) == ("jobs.csv", 3, where, message)
    assert problem.fix
    trace = read(tmp_path, ITP, GOOD, row, skip_bad=True)
    assert [job.name for job in trace.jobs] == ["good"]
    assert trace.bad_rows == (problem,)


def test_gpus_written_as_a_whole_float_are_whole(tmp_path: Path) -> None:
    assert read(tmp_path, ITP, "a,0,60,8.0").jobs[0].gpus == 8


def test_all_problems_are_told_at_once_also_two_of_a_row(tmp_path: Path) -> None:
    found = refusal(tmp_path, ITP, "a,0,-1,0", GOOD, "b,x,60,1")
    assert [(problem.row, problem.where) for problem in found] == [
        (2, "duration"),
        (2, "num_gpu"),
        (4, "submission_time"),
    ]


def test_two_problems_of_a_row_that_is_left_out_are_told_as_one(tmp_path: Path) -> None:
    trace = read(tmp_path, ITP, "a,0,-1,0", GOOD, skip_bad=True)
    (problem,) = trace.bad_rows
    assert (problem.row, problem.where) == (2, "duration, num_gpu")
    assert "a job cannot run for -1 s; 0 is too few GPUs" in problem.message


def test_a_long_list_of_problems_is_cut_and_counted(tmp_path: Path) -> None:
    found = refusal(tmp_path, ITP, *(f"job-{place},0,0,1" for place in range(100)))
    assert len(found) == SHOWN + 1
    assert found[-1].message == "80 more problems; 100 rows are bad in all"
    assert "--skip-bad" in found[-1].fix


def test_nothing_left_after_leaving_bad_rows_out_is_an_error(tmp_path: Path) -> None:
    found = problems(written(tmp_path, ITP, "a,0,0,1", "b,0,0,1"), skip_bad=True)
    assert found[0].message == "nothing is left: all 2 jobs are bad"
    assert [problem.row for problem in found[1:]] == [2, 3]


def test_a_header_alone_holds_no_jobs(tmp_path: Path) -> None:
    (problem,) = refusal(tmp_path, ITP)
    assert problem.message == "no jobs: the file holds a header only"


def test_rows_none_of_which_is_a_job_on_gpus_are_an_error(tmp_path: Path) -> None:
    header = "job_id,user,num_gpu,submit_time,duration,expect_time_list,job_type"
    (problem,) = refusal(tmp_path, header, "0,vc,0,0,60,60,strict")
    assert problem.message == "no row of 1 is a job on GPUs"


@pytest.mark.parametrize(
    ("data", "message"), [(b"", "the file is empty"), (b"\n\n", "the file holds blank lines only")]
)
def test_an_empty_file_says_so(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(data)
    assert [problem.message for problem in problems(path)] == [message]


def test_a_file_that_is_not_there_or_is_a_folder_says_so(tmp_path: Path) -> None:
    assert problems(tmp_path / "none.csv")[0].message == "the file does not exist"
    assert problems(tmp_path)[0].message.startswith("cannot be read: ")


def test_unknown_columns_are_refused_with_the_nearest_known(tmp_path: Path) -> None:
    (problem,) = refusal(tmp_path, "arrival,runtime,gpus,departmnt,colour", "0,60,1,a,b")
    assert problem.message == "read as generic, columns are unknown: departmnt, colour"
    assert problem.fix == "rename departmnt to department, or delete it; delete colour"


def test_missing_columns_are_named(tmp_path: Path) -> None:
    (problem,) = refusal(tmp_path, "arrival,gpus", "0,1")
    assert problem.message == "read as generic, columns are missing: runtime"
    assert problem.fix == "a file of format generic needs arrival, runtime, gpus"


def test_columns_of_no_format_are_shown_with_all_formats(tmp_path: Path) -> None:
    (problem,) = refusal(tmp_path, "timestamp,value" + ",x" * 100, "0,1")
    assert problem.message.startswith("columns come twice: 'x'")
    (problem,) = refusal(tmp_path, ",".join(f"strange_{place}" for place in range(50)), "0,1")
    assert problem.message.startswith("the columns are not those of any known format (generic, ")
    assert problem.message.endswith("...'")


def test_other_separators_are_recognised(tmp_path: Path) -> None:
    (problem,) = refusal(tmp_path, "arrival;runtime;gpus", "0;60;1")
    assert (problem.message, problem.fix) == (
        "the header is one column: 'arrival;runtime;gpus'",
        "separate the columns by commas",
    )


# ---- packing and encoding ----


def test_packed_files_are_read_whatever_their_name(tmp_path: Path) -> None:
    path = written(tmp_path, ITP, GOOD, name="jobs.csv.gz")
    renamed = path.rename(tmp_path / "jobs.csv")
    assert len(read_trace(renamed).jobs) == 1


def test_a_name_that_promises_packing_must_keep_it(tmp_path: Path) -> None:
    path = written(tmp_path, ITP, GOOD).rename(tmp_path / "jobs.csv.gz")
    assert problems(path)[0].message == "is named .gz but is not gzip"
    path = written(tmp_path, ITP, GOOD).rename(tmp_path / "jobs.parquet")
    assert problems(path)[0].message == "is named .parquet but is not Parquet"


@pytest.mark.parametrize("damage", ["torn", "flipped", "tail"])
def test_damaged_packing_is_never_half_read(tmp_path: Path, damage: str) -> None:
    data = bytearray(gzip.compress("\n".join([ITP, *(f"j{n},{n},60,1" for n in range(5_000))]).encode()))
    if damage == "torn":
        del data[len(data) // 2 :]
    elif damage == "flipped":
        data[len(data) // 2] ^= 0xFF
    else:
        data[-6] ^= 0xFF
    path = tmp_path / "jobs.csv.gz"
    path.write_bytes(data)
    for skip_bad in (False, True):
        found = problems(path, skip_bad=skip_bad)
        assert found[0].message.startswith("the gzip data is damaged: ")


def test_marks_and_line_ends_of_other_systems_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(b"\xef\xbb\xbf" + "\r\n".join([ITP, GOOD, "", "b,20,60,2", ""]).encode())
    assert [(job.name, job.arrival_s) for job in read_trace(path).jobs] == [("good", 0.0), ("b", 10.0)]


def test_a_row_in_another_encoding_is_bad_and_has_its_number(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(f"{ITP}\n{GOOD}\n".encode() + "训练,5,60,1\n".encode("gbk") + b"b,20,60,2\n")
    (problem,) = problems(path)
    assert (problem.row, problem.message, problem.fix) == (3, "is not UTF-8 text", "save the file as UTF-8")
    assert [job.name for job in read_trace(path, skip_bad=True).jobs] == ["good", "b"]


def test_names_in_any_script_are_kept(tmp_path: Path) -> None:
    assert read(tmp_path, ITP, "训练,5,60,1").jobs[0].name == "训练"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((ITP + "\n").encode("utf-16"), "is UTF-16"),
        ("作业,时间\n".encode("gbk"), "the header is not UTF-8 text"),
        (b"\x00\x01\x02\x03", "is binary data, not a table"),
        (b"\x89PNG\r\n\x1a\n", "the header is not UTF-8 text"),
        (b"PAR1 and then nothing", "the Parquet data is damaged: "),
    ],
)
def test_what_is_no_table_is_refused_as_a_whole(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes(data)
    for skip_bad in (False, True):
        assert problems(path, skip_bad=skip_bad)[0].message.startswith(message)


@pytest.mark.parametrize("tail", ['"b,20,60,1', '"b,20,60,1\nc,30,60,1', 'b,"20\n",60,1\nc,30,60,1', 'b,"20\n"x,60,1'])
def test_a_quote_that_is_never_closed_does_not_swallow_jobs(tmp_path: Path, tail: str) -> None:
    for skip_bad in (False, True):
        found = problems(written(tmp_path, ITP, GOOD, tail), skip_bad=skip_bad)
        assert (found[0].row, found[0].message) == (3, "a quote is opened and not closed in this row")


@given(data=st.binary(min_size=1, max_size=200), skip_bad=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_is_refused_and_never_crashes(tmp_path: Path, data: bytes, skip_bad: bool) -> None:
    path = tmp_path / "garbage"
    path.write_bytes(data)
    with pytest.raises(InvalidInput) as caught:
        read_trace(path, skip_bad=skip_bad)
    assert all(problem.file == "garbage" and problem.fix for problem in caught.value.problems)


@given(data=st.binary(max_size=60), place=st.integers(0, 80))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_garbage_inside_a_table_never_crashes_nor_makes_unsound_jobs(tmp_path: Path, data: bytes, place: int) -> None:
    path = tmp_path / "jobs.csv"
    sound = "\n".join([ITP, *(f"j{n},{n},60,1" for n in range(6))]).encode()
    path.write_bytes(sound[:place] + data + sound[place:])
    try:
        trace = read_trace(path, skip_bad=True)
    except InvalidInput:
        return
    assert trace.jobs[0].arrival_s == 0.0
    assert all(job.gpus >= 1 and job.runtime_s > 0 and job.arrival_s >= 0 for job in trace.jobs)


CELL = st.one_of(
    st.integers(-3, 10**6).map(str),
    st.floats(width=32).map(str),
    st.sampled_from(["", "nan", "x", "-inf", "1e400", "0.0"]),
)


@given(rows=st.lists(st.tuples(st.integers(0, 30), CELL, CELL, CELL), max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_with_leave_every_row_is_a_job_or_told(tmp_path: Path, rows: list[tuple[int, str, str, str]]) -> None:
    path = written(tmp_path, ITP, "first,0,60,1", *(",".join(map(str, row)) for row in rows))
    trace = read_trace(path, skip_bad=True)
    assert len(trace.jobs) + len(trace.bad_rows) + trace.left_out == len(rows) + 1
    assert len({problem.row for problem in trace.bad_rows}) == len(trace.bad_rows)
    assert all(job.arrival_s >= 0 for job in trace.jobs)
