"""The generic table: seconds or times with a zone, CSV or Parquet, and back without loss."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from contract.problems import InvalidInput
from contract.units import GiB
from contract.work import DataClass, Tier, WorkKind
from replay.trace import NO_DATE, Job
from replay.traces.registry import read_trace
from tests.replay.trace_files import problems, read, refusal

HEADER = "arrival,runtime,gpus"
COLUMNS = (
    "name",
    "arrival",
    "runtime",
    "gpus",
    "department",
    "user",
    "tier",
    "kind",
    "data",
    "gpu_memory_gib",
    "preemptible",
    "deadline",
)


def test_three_columns_are_enough_and_the_rest_has_defaults(tmp_path: Path) -> None:
    trace = read(tmp_path, HEADER, "100,60,1", "40.5,1h30m,8")
    assert trace.jobs == (
        Job(name="row-3", arrival_s=0.0, runtime_s=5_400.0, gpus=8),
        Job(name="row-2", arrival_s=59.5, runtime_s=60.0, gpus=1),
    )
    assert (trace.starts_at, trace.bad_rows, trace.left_out) == (NO_DATE, (), 0)


def test_every_column_reaches_the_job(tmp_path: Path) -> None:
    row = "night,10,2h,16,research,ada,exploration,hpo,link-only,40,yes,9000"
    trace = read(tmp_path, ",".join(COLUMNS), row)
    assert trace.jobs == (
        Job(
            name="night",
            arrival_s=0.0,
            runtime_s=7_200.0,
            gpus=16,
            department="research",
            user="ada",
            tier=Tier.EXPLORATION,
            kind=WorkKind.HPO,
            data=DataClass.LINK_ONLY,
            gpu_memory=GiB(40),
            is_preemptible=True,
            deadline_s=8_990.0,
        ),
    )


def test_columns_come_in_any_order_with_blanks_around(tmp_path: Path) -> None:
    trace = read(tmp_path, " gpus , tier,runtime,arrival ", " 2 , Research , 60 , 0 ")
    assert (trace.jobs[0].gpus, trace.jobs[0].tier) == (2, Tier.RESEARCH)


def test_jobs_are_sorted_by_arrival_and_ties_keep_the_order_of_the_file(tmp_path: Path) -> None:
    trace = read(tmp_path, "name," + HEADER, "c,9,60,1", "a,5,60,1", "b,5,60,1", "d,-2,60,1")
    assert [(job.name, job.arrival_s) for job in trace.jobs] == [("d", 0.0), ("a", 7.0), ("b", 7.0), ("c", 11.0)]


@pytest.mark.parametrize(
    ("column", "cell", "message"),
    [
        ("tier", "gold", "'gold' is not known"),
        ("kind", "training", "'training' is not known"),
        ("data", "secret", "'secret' is not known"),
        ("preemptible", "perhaps", "'perhaps' is neither yes nor no"),
        ("gpu_memory_gib", "-1", "-1 is too few GiB"),
        ("gpu_memory_gib", "40.5", "'40.5' is not a whole number of GiB"),
        ("deadline", "inf", "'inf' is not a finite number"),
        ("deadline", "tomorrow", "'tomorrow' is not a finite number"),
        ("deadline", "2026-11-01T00:00:00Z", "is a time where rows above have seconds"),
        ("runtime", "long", "'long' is no run time"),
        ("runtime", "0h", "a job cannot run for 0 s"),
        ("runtime", "99999999999999d", "'99999999999999d' is no run time"),
        ("arrival", "2026-11-01T00:00:00Z", "is a time where rows above have seconds"),
        ("arrival", "", "is empty"),
        ("arrival", "soon", "'soon' is not a finite number"),
    ],
)
def test_a_cell_that_means_nothing_is_refused_with_what_would(
    tmp_path: Path, column: str, cell: str, message: str
) -> None:
    sound = {"name": "x", "arrival": "0", "runtime": "60", "gpus": "1"}
    rows = [sound, sound | {"name": "y", column: cell}]
    header = [*sound, *({column} - set(sound))]
    lines = (",".join(row.get(name, "") for name in header) for row in rows)
    (problem,) = refusal(tmp_path, ",".join(header), *lines)
    assert (problem.row, problem.where, problem.message) == (3, column, message)
    assert problem.fix


# ---- calendars ----


def test_times_with_zones_give_the_date_of_the_trace(tmp_path: Path) -> None:
    trace = read(tmp_path, HEADER, "2026-11-01T01:30:00.250+08:00,60,1", "2026-10-31T17:30:00Z,60,1")
    assert [job.arrival_s for job in trace.jobs] == [0.0, 0.25]
    assert trace.starts_at == datetime(2026, 10, 31, 17, 30, tzinfo=UTC)


def test_deadlines_are_on_the_calendar_of_the_arrivals(tmp_path: Path) -> None:
    trace = read(tmp_path, HEADER + ",deadline", "2026-11-01T00:00:00Z,60,1,2026-11-01T09:00:00+08:00")
    assert trace.jobs[0].deadline_s == 3_600.0
    (problem,) = refusal(tmp_path, HEADER + ",deadline", "2026-11-01T00:00:00Z,60,1,7200")
    assert problem.message == "is in seconds where rows above have times"


@pytest.mark.parametrize("text", ["2026-11-01T01:30:00", "2026-11-01 01:30", "2026-11-01"])
def test_times_without_a_zone_are_refused_with_the_zone_to_add(tmp_path: Path, text: str) -> None:
    (problem,) = refusal(tmp_path, HEADER, f"{text},60,1")
    assert problem.message == f"'{text}' has no zone, so it is not one moment"
    assert problem.fix == "add the zone, such as 2026-11-01T01:30:00+08:00 or ...Z"


@pytest.mark.parametrize(
    "text", ["2026-02-30T00:00:00Z", "noon", "0001-01-01T00:00:00+08:00", "9999-12-31T23:00:00-08:00"]
)
def test_what_is_no_time_at_all_is_refused(tmp_path: Path, text: str) -> None:
    (problem,) = refusal(tmp_path, HEADER, f"{text},60,1")
    assert problem.message == f"'{text}' is no time"


def test_both_hours_of_the_long_day_are_told_apart_by_their_offset(tmp_path: Path) -> None:
    """New York, 2026-11-01: 01:30 comes twice, an hour apart."""
    trace = read(
        tmp_path,
        "name," + HEADER,
        "second,2026-11-01T01:30:00-05:00,60,1",
        "first,2026-11-01T01:30:00-04:00,60,1",
        "midnight,2026-11-02T00:00:00-05:00,60,1",
        "day before,2026-11-01T00:00:00-04:00,60,1",
    )
    assert [(job.name, job.arrival_s / 3600) for job in trace.jobs] == [
        ("day before", 0.0),
        ("first", 1.5),
        ("second", 2.5),
        ("midnight", 25.0),
    ]


# ---- Parquet ----


def stored(folder: Path, columns: dict[str, object]) -> Path:
    path = folder / "jobs.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_parquet_is_read_by_the_same_rules(tmp_path: Path) -> None:
    shanghai = timezone(timedelta(hours=8))
    path = stored(
        tmp_path,
        {
            "arrival": pyarrow.array([datetime(2026, 11, 1, 8, tzinfo=shanghai), datetime(2026, 11, 1, tzinfo=UTC)]),
            "runtime": [5_400.5, 60.0],
            "gpus": pyarrow.array([8, 1], pyarrow.int32()),
            "tier": pyarrow.array(["research", None]).dictionary_encode(),
            "preemptible": [True, None],
        },
    )
    trace = read_trace(path)
    assert trace.name == "jobs"
    assert trace.starts_at == datetime(2026, 11, 1, tzinfo=UTC)
    assert trace.jobs == (
        Job(name="row-1", arrival_s=0.0, runtime_s=5_400.5, gpus=8, tier=Tier.RESEARCH, is_preemptible=True),
        Job(name="row-2", arrival_s=0.0, runtime_s=60.0, gpus=1),
    )


def test_parquet_durations_are_run_times(tmp_path: Path) -> None:
    path = stored(tmp_path, {"arrival": [0], "runtime": [timedelta(hours=2)], "gpus": [1]})
    assert read_trace(path).jobs[0].runtime_s == 7_200.0


def test_nanoseconds_of_parquet_are_cut_to_microseconds(tmp_path: Path) -> None:
    nanos = pyarrow.array([0, 1_000_001_500], pyarrow.timestamp("ns", "UTC"))
    path = stored(tmp_path, {"arrival": nanos, "runtime": [60, 60], "gpus": [1, 1]})
    assert [job.arrival_s for job in read_trace(path).jobs] == [0.0, 1.000001]


def test_parquet_times_without_a_zone_and_bad_cells_have_their_row(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        {"arrival": [datetime(2026, 11, 1), datetime(2026, 11, 1)], "runtime": [60.0, float("nan")], "gpus": [1, 0]},  # noqa: DTZ001
    )
    assert [(problem.row, problem.where) for problem in problems(path)] == [
        (1, "arrival"),
        (2, "arrival"),
        (2, "runtime"),
        (2, "gpus"),
    ]


def test_without_pyarrow_a_parquet_file_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = stored(tmp_path, {"arrival": [0], "runtime": [60], "gpus": [1]})
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (problem,) = problems(path)
    assert problem.fix == "pip install 'spillway[parquet]'"


# ---- there and back ----

WORDS = st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=8)
JOBS = st.lists(
    st.builds(
        Job,
        name=WORDS,
        arrival_s=st.floats(0, 1e7),
        runtime_s=st.floats(1e-3, 1e7),
        gpus=st.integers(1, 4_096),
        department=WORDS,
        user=WORDS | st.just(""),
        tier=st.sampled_from(Tier),
        kind=st.sampled_from(WorkKind),
        data=st.sampled_from(DataClass),
        gpu_memory=st.integers(0, 200).map(GiB),
        is_preemptible=st.booleans(),
        deadline_s=st.none() | st.floats(0, 1e7),
    ),
    min_size=1,
    max_size=12,
    unique_by=lambda job: job.name,
)


def cells(job: Job) -> dict[str, str]:
    return {
        "name": job.name,
        "arrival": repr(job.arrival_s),
        "runtime": repr(job.runtime_s),
        "gpus": str(job.gpus),
        "department": job.department,
        "user": job.user,
        "tier": job.tier,
        "kind": job.kind,
        "data": job.data,
        "gpu_memory_gib": str(job.gpu_memory),
        "preemptible": str(job.is_preemptible),
        "deadline": "" if job.deadline_s is None else repr(job.deadline_s),
    }


def shifted(jobs: list[Job]) -> tuple[Job, ...]:
    first = min(job.arrival_s for job in jobs)
    return tuple(
        replace(
            job,
            arrival_s=job.arrival_s - first,
            deadline_s=None if job.deadline_s is None else job.deadline_s - first,
        )
        for job in sorted(jobs, key=lambda job: job.arrival_s)
    )


@given(jobs=JOBS, is_parquet=st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_jobs_written_as_a_table_come_back_as_they_were(tmp_path: Path, jobs: list[Job], is_parquet: bool) -> None:
    if is_parquet:
        rows = [cells(job) for job in jobs]
        path = stored(tmp_path, {column: [row[column] for row in rows] for column in COLUMNS})
    else:
        path = tmp_path / "jobs.csv"
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, COLUMNS)
            writer.writeheader()
            writer.writerows(cells(job) for job in jobs)
    trace = read_trace(path)
    assert trace.jobs == shifted(jobs)
    assert trace.jobs[0].arrival_s == 0.0


@given(
    moments=st.lists(
        st.datetimes(
            datetime(1971, 1, 1),  # noqa: DTZ001
            datetime(2100, 1, 1),  # noqa: DTZ001
            timezones=st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes))),
        ),
        min_size=1,
        max_size=8,
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arrivals_are_the_true_distances_of_moments_in_any_zone(tmp_path: Path, moments: list[datetime]) -> None:
    trace = read(tmp_path, HEADER, *(f"{moment.isoformat()},60,1" for moment in moments))
    expected = sorted((moment - min(moments)).total_seconds() for moment in moments)
    assert [job.arrival_s for job in trace.jobs] == pytest.approx(expected, abs=1e-6)
    assert trace.starts_at == min(moments)


@pytest.mark.parametrize("text", ["soon", "nan", ""])
def test_bad_rows_before_the_first_good_one_do_not_decide_the_clock(tmp_path: Path, text: str) -> None:
    rows = (HEADER, f"{text},60,1", "2026-11-01T00:00:00Z,60,1")
    trace = read(tmp_path, *rows, skip_bad=True)
    assert len(trace.jobs) == len(trace.bad_rows) == 1
    with pytest.raises(InvalidInput, match=r"is no time|is empty"):
        read(tmp_path, *rows)
