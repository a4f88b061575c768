"""History becomes demand hour by hour; what is unknown, torn or too short is refused with row and fix."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.problems import InvalidInput, Problem
from replay.forecast.demand import HOUR, Demand, check, longest_silence, slots_of, wanted_by
from replay.forecast.read_demand import read_demand
from replay.trace import NO_DATE, Job, Trace
from tests.replay.demand_cases import BERLIN, SHANGHAI, demand_of, office, written_series
from tests.replay.trace_files import EVALUATION, for_evaluation, written

H = 3600.0
START = datetime(2026, 9, 1, tzinfo=UTC)
LONG = ("0,1,1,all", f"{400 * H:.0f},1,1,all")


def trace(*jobs: tuple[float, float, int], starts_at: datetime = START) -> Trace:
    """Jobs as arrival and run time in hours, and GPUs."""
    made = tuple(
        Job(name=f"job-{place}", arrival_s=arrival * H, runtime_s=runtime * H, gpus=gpus)
        for place, (arrival, runtime, gpus) in enumerate(jobs)
    )
    return Trace(name="made", jobs=made, starts_at=starts_at)


def refused(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(InvalidInput) as caught:
        read_demand(path, SHANGHAI)
    return caught.value.problems


def test_an_hour_holds_the_mean_of_what_was_wanted_in_it() -> None:
    demand = wanted_by(trace((0, 1.5, 4), (0.5, 1, 2), (3, 1, 8)))
    assert demand.gpus.tolist() == [4 + 1, 2 + 1, 0]
    assert (demand.starts_at, demand.has_dates) == (START, True)


def test_a_first_hour_that_is_not_whole_is_left_out() -> None:
    demand = wanted_by(trace((0, 9, 4), (2.5, 1, 1), starts_at=START + timedelta(minutes=20)))
    assert demand.starts_at == START + HOUR
    assert demand.gpus.tolist() == [4]


def test_a_trace_without_dates_says_so() -> None:
    assert not wanted_by(trace((0, 1, 1), (5, 1, 1), starts_at=NO_DATE)).has_dates


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 100), st.integers(1, 64)), min_size=2, max_size=30))
def test_no_gpu_hour_is_lost_or_made(jobs: list[tuple[int, int, int]]) -> None:
    jobs = sorted(jobs)
    first, last = jobs[0][0], jobs[-1][0]
    demand = wanted_by(trace(*((arrival - first, runtime, gpus) for arrival, runtime, gpus in jobs)))
    within = sum((min(arrival + runtime, last) - arrival) * gpus for arrival, runtime, gpus in jobs)
    assert demand.gpus.sum() == pytest.approx(within, abs=1e-3)
    assert (demand.gpus >= 0).all()


@pytest.mark.parametrize(
    ("day", "hours"), [(datetime(2026, 3, 29, tzinfo=BERLIN), 23), (datetime(2026, 10, 25, tzinfo=BERLIN), 25)]
)
def test_a_day_on_which_clocks_change_has_its_own_number_of_hours(day: datetime, hours: int) -> None:
    slots = slots_of(day.astimezone(UTC), 26, BERLIN)
    assert (slots.day == day.toordinal()).sum() == hours
    assert slots.hour_of_week[hours] == 0, "Monday begins at midnight all the same"
    assert slots.days_left[0] == (3 if hours == 23 else 7)


def test_a_history_of_less_than_two_weeks_is_refused_with_what_would_do(tmp_path: Path) -> None:
    (problem,) = refused(written_series(tmp_path, demand_of(office, 1.9)))
    assert "1.9 weeks" in problem.message
    assert "at least 2 weeks" in problem.fix


def test_a_month_without_jobs_is_a_hole_and_not_a_lull() -> None:
    demand = demand_of(lambda when: 0.0 if when.month == 10 else 5.0, 12)
    with pytest.raises(InvalidInput, match="2026-09-30 16:00 to 2026-10-31 16:00 UTC, 31 days: a hole"):
        check(demand, is_measured=False)
    check(demand, is_measured=True)


def test_a_history_without_demand_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no GPU was wanted in any hour"):
        check(demand_of(lambda _: 0.0, 3), is_measured=True)


def test_the_longest_silence_is_found_wherever_it_is() -> None:
    assert longest_silence([0, 0, 1, 0, 1]) == (0, 2)
    assert longest_silence([1, 0, 1, 0, 0, 0]) == (3, 3)
    assert longest_silence([1, 1])[1] == 0


def test_a_series_reads_as_it_was_written(tmp_path: Path) -> None:
    demand = demand_of(office, 3, noise=3.0)
    read = read_demand(written_series(tmp_path, demand), SHANGHAI)
    assert read.starts_at == demand.starts_at
    assert np.allclose(read.gpus, demand.gpus, atol=1e-3)


def test_a_series_through_a_change_of_clocks_has_every_hour_once(tmp_path: Path) -> None:
    """The offset of each row tells the two hours of the long day."""
    demand = demand_of(office, 3, datetime(2026, 10, 12, tzinfo=BERLIN))
    read = read_demand(written_series(tmp_path, demand, BERLIN), BERLIN)
    assert read.gpus.tolist() == demand.gpus.tolist()


SPOILED = [
    ("2026-08-31T05:00:00+08:00,nan", "gpus_wanted", "'nan' is not a finite number"),
    ("2026-08-31T05:00:00+08:00,", "gpus_wanted", "is empty"),
    ("2026-08-31T05:00:00+08:00,-3", "gpus_wanted", "-3 GPUs cannot be wanted"),
    ("2026-08-31T05:00:00,40", "time", "has no zone"),
    ("yesterday,40", "time", "is no time"),
    ("2026-08-31T04:00:00+08:00,40", "time", "does not come after the row before"),
    (None, "time", "comes 2.0 h after the row before"),
]


@pytest.mark.parametrize(("row", "column", "message"), SPOILED)
def test_a_bad_row_is_named(tmp_path: Path, row: str | None, column: str, message: str) -> None:
    path = written_series(tmp_path, demand_of(office, 2))
    lines = path.read_text().splitlines()
    lines[6:7] = [row] if row else []
    path.write_text("\n".join(lines))
    problem = refused(path)[0]
    assert (problem.row, problem.where) == (7, column)
    assert message in problem.message
    assert problem.fix


def test_a_series_of_one_row_holds_no_time(tmp_path: Path) -> None:
    path = written(tmp_path, "time,gpus_wanted", "2026-08-31T05:00:00Z,4")
    assert "no span of time" in refused(path)[0].message


def test_helios_adds_what_runs_and_what_waits_on_local_clocks(tmp_path: Path) -> None:
    rows = [f"2020-05-{1 + hour // 24:02d} {hour % 24:02d}:00:00,56,30,{hour % 2}" for hour in range(337)]
    header = "time,total_gpu_num,running_gpu_num,pending_gpu_num"
    demand = read_demand(written(tmp_path, header, *rows, name="vc.csv.gz"), SHANGHAI)
    assert demand.starts_at == datetime(2020, 4, 30, 16, tzinfo=UTC)
    assert demand.gpus[:4].tolist() == [30, 31, 30, 31]
    rows[3] = "soon,56,30,1"
    assert "'soon' is no time" in refused(written(tmp_path, header, *rows))[0].message


def test_jobs_and_parquet_go_through_the_traces(tmp_path: Path) -> None:
    path = written(tmp_path, "timestamp,duration,num_gpus,cluster", "2017-10-02 00:00:00,3600,2,a", "2017-10-17,60,1,a")
    assert "a hole in the recording" in refused(path)[0].message
    assert "does not exist" in refused(tmp_path / "none.csv")[0].message
    torn = tmp_path / "jobs.parquet"
    torn.write_bytes(b"PAR1torn")
    assert refused(torn)
    assert "blank lines" in refused(written(tmp_path, ""))[0].message


def test_a_history_ends_when_its_last_hour_ends() -> None:
    made = Demand(name="made", starts_at=START, gpus=np.ones(3))
    assert replace(made, has_dates=False).ends_at == START + 3 * HOUR


@pytest.mark.evaluation
def test_every_department_of_helios_can_be_read() -> None:
    for_evaluation("helios_earth_vc_2020-05/earth_vcSoL_minute.csv.gz")
    paths = sorted((EVALUATION / "helios_earth_vc_2020-05").glob("*_minute.csv.gz"))
    assert {len(read_demand(path, SHANGHAI).gpus) for path in paths} == {744}
