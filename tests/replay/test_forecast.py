"""Forecasts: patterns that were put in are found, chance is called chance, and proposals read once approved."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.policy import Policy, parse_policy
from agent.core.rules.contradictions import keep_windows
from contract.hours import Weekday
from contract.problems import InvalidInput
from contract.yaml_document import read_document
from replay.forecast.chart import as_html, heat_map
from replay.forecast.demand import Demand, slots_of, wanted_by
from replay.forecast.models import MODELS, QUANTILES, with_month_end
from replay.forecast.patterns import month_end
from replay.forecast.read_demand import read_demand
from replay.forecast.report import Report, Wish, as_data, forecast
from replay.forecast.scores import pinball, runs
from replay.synthetic import example_company_month
from tests.replay.demand_cases import BERLIN, OWNED, SHANGHAI, closing, demand_of, office, quiet_nights
from tests.replay.trace_files import SHIPPED, for_evaluation

POLICY = Path(__file__).resolve().parents[2] / "stacks" / "policy.yaml"
WORK_DAYS = tuple(Weekday)[:5]


def told(demand: Demand, **wish: object) -> Report:
    """The forecast for a company of 96 GPUs."""
    return forecast(demand, Wish(**({"zone": SHANGHAI, "on_prem_gpus": OWNED} | wish)))  # type: ignore[arg-type]


def read_policy(folder: Path, prewarm: str) -> Policy:
    """The shipped policy with the proposals pasted in."""
    path = folder / "policy.yaml"
    path.write_text(POLICY.read_text(encoding="utf-8") + "\n" + prewarm, encoding="utf-8")
    return parse_policy(*read_document(path))


def test_a_week_that_repeats_is_found_and_proposed() -> None:
    report = told(demand_of(office, 8, noise=3.0))
    assert report.verdict.is_better
    assert (report.verdict.best.surges, report.verdict.best.surges_caught) == (10, 1.0)
    assert report.verdict.best.false_alarms == 0
    (window,) = report.windows
    assert (window.weekdays, window.at, window.length) == (WORK_DAYS, "09:00", "3h")
    assert window.nodes in (5, 6)
    assert (window.needed, window.occurrences) == (40, 40)
    assert window.used > 0.8


def test_proposals_are_refused_until_somebody_approves_them(tmp_path: Path) -> None:
    """The YAML goes into policy.yaml as it is; only the two names are missing."""
    report = told(demand_of(office, 8, noise=3.0))
    with pytest.raises(InvalidInput) as caught:
        read_policy(tmp_path, report.prewarm)
    assert {problem.where.rpartition(".")[2] for problem in caught.value.problems} == {"approved_by", "approved_on"}
    policy = read_policy(tmp_path, approved(report))
    (entry,) = policy.prewarm.windows
    assert (entry.approved_by, entry.window.nodes) == ("lin", report.windows[0].nodes)
    assert entry.window.rule.weekdays == WORK_DAYS
    assert entry.window.rule.zone == "Asia/Shanghai"


def approved(report: Report) -> str:
    """The proposals as somebody signs them."""
    return report.prewarm.replace("approved_by: null", "approved_by: lin").replace(
        "approved_on: null", "approved_on: 2026-11-20"
    )


def test_chance_is_called_chance() -> None:
    """A walk that remembers nothing but its last step has no week."""
    steps = np.cumsum(np.random.RandomState(3).normal(0, 6, 8 * 168))
    demand = demand_of(office, 8)
    walk = Demand(name="walk", starts_at=demand.starts_at, gpus=np.maximum(steps + 100, 0))
    report = told(walk)
    assert not report.verdict.is_better
    assert report.windows == ()
    assert report.prewarm == ""
    assert "no pattern of the week forecasts better than naive" in report.notes[0]


def test_months_that_end_in_a_surge_are_proposed(tmp_path: Path) -> None:
    report = told(demand_of(closing, 18, noise=2.0))
    assert report.month_end.is_surge
    assert len(report.month_end.factors) == 4
    (window,) = [each for each in report.windows if each.last_days_of_month]
    assert (window.last_days_of_month, window.lead, window.nodes) == (7, "24h", 5)
    assert window.needed == window.occurrences == 4
    policy = read_policy(tmp_path, approved(report))
    assert any(kept.rule.last_days_of_month == 7 for _, kept in keep_windows(policy))


def test_one_end_of_a_month_is_not_enough_to_tell() -> None:
    report = told(demand_of(closing, 5))
    assert not report.month_end.is_surge
    assert "two are needed" in report.month_end.says


def test_ends_of_months_like_other_weeks_are_no_pattern() -> None:
    assert not told(demand_of(office, 18, noise=2.0)).month_end.is_surge


def test_ends_of_months_below_the_owned_gpus_need_no_nodes() -> None:
    report = told(demand_of(closing, 18, noise=2.0), on_prem_gpus=200)
    assert report.month_end.is_surge
    assert report.windows == ()


def test_nothing_before_a_month_ends_is_no_surge() -> None:
    demand = demand_of(lambda when: 0.0 if when.month == 9 and when.day < 24 else 9.0, 18)
    found = month_end(demand, slots_of(demand.starts_at, len(demand.gpus), SHANGHAI))
    assert found.factors[0] == 0.0


def test_a_quiet_night_is_found_as_a_row_of_the_calendar(tmp_path: Path) -> None:
    report = told(demand_of(quiet_nights, 4, noise=2.0))
    assert report.lull is not None
    assert (report.lull.from_hour, report.lull.hours) == (2, 4)
    text = POLICY.read_text(encoding="utf-8")
    before, after = text.split("    - name: night\n")
    path = tmp_path / "policy.yaml"
    path.write_text(before + report.calendar_row + "    - name: night\n" + after, encoding="utf-8")
    assert parse_policy(*read_document(path)).calendar.windows[0].rule.name == "forecast-night"


def test_days_that_are_alike_all_night_have_no_lull() -> None:
    assert told(demand_of(lambda _: 50.0, 4, noise=1.0)).lull is None


def test_a_surge_over_midnight_is_one_window() -> None:
    report = told(demand_of(lambda when: 136.0 if when.hour >= 22 or when.hour < 2 else 40.0, 6, noise=2.0))
    (window,) = report.windows
    assert (window.weekdays, window.at, window.length) == ((), "22:00", "4h")
    assert window.name == "forecast-every-day-2200"


def test_demand_that_is_always_above_is_held_day_by_day_and_called_a_base() -> None:
    report = told(demand_of(office, 6, noise=1.0), on_prem_gpus=16)
    assert {window.length for window in report.windows} == {"24h"}
    assert "reserved nodes are cheaper" in report.notes[-1]


def test_a_surge_of_a_weekend_is_cut_at_midnight() -> None:
    report = told(demand_of(lambda when: 136.0 if when.weekday() >= 5 else 40.0, 6, noise=2.0))
    assert [(window.weekdays, window.length) for window in report.windows] == [((Weekday.SAT, Weekday.SUN), "24h")]


def test_a_window_that_the_past_did_not_need_is_not_proposed() -> None:
    """One wild week of eight lifts the quantile of p95, but not half of the past."""
    quiet = demand_of(lambda when: 136.0 if when.isocalendar().week == 40 else office(when) / 2, 8, noise=2.0)
    report = told(quiet, plan_for=0.95)
    assert report.windows == ()


@pytest.mark.parametrize(
    ("wish", "note"),
    [({"on_prem_gpus": 0}, "give --on-prem GPUS"), ({"weeks_held_out": 9}, "7 instead of 9 weeks held out")],
)
def test_what_limits_the_answer_is_told(wish: dict[str, int], note: str) -> None:
    assert any(note in each for each in told(demand_of(office, 8, noise=2.0), **wish).notes)


def test_a_history_without_dates_gets_no_windows() -> None:
    made = demand_of(office, 8, noise=2.0)
    report = told(Demand(name="made", starts_at=made.starts_at, gpus=made.gpus, has_dates=False))
    assert (report.windows, report.lull) == ((), None)
    assert "weekdays and hours are made up" in report.notes[0]


@pytest.mark.parametrize("first", [datetime(2026, 2, 2, tzinfo=BERLIN), datetime(2026, 9, 7, tzinfo=BERLIN)])
def test_a_change_of_clocks_leaves_the_windows_where_people_work(first: datetime) -> None:
    """Nine in the morning stays nine in the morning, in March and in October."""
    report = told(demand_of(office, 9, first, noise=2.0), zone=BERLIN)
    assert [(window.at, window.length) for window in report.windows] == [("09:00", "3h")]


def test_the_hour_that_spring_leaves_out_is_planned_like_the_one_before() -> None:
    """The week ahead has no Sunday two o'clock."""
    report = told(demand_of(office, 4, datetime(2026, 2, 23, tzinfo=BERLIN), noise=2.0), zone=BERLIN)
    sunday_two = 6 * 24 + 2
    assert report.planned_week[sunday_two] == report.planned_week[sunday_two - 1] > 0


def test_weeks_without_demand_have_no_error_in_per_cent() -> None:
    report = told(demand_of(lambda when: 0.0 if when.month == 10 else 60.0, 8, noise=0.0))
    data = as_data(report)
    assert report.verdict.best.mape is None
    assert "Infinity" not in json.dumps(data)


def test_the_data_is_plain_and_the_same_every_time() -> None:
    first, second = (json.dumps(as_data(told(demand_of(office, 6, noise=3.0)))) for _ in range(2))
    assert first == second
    proposals = json.loads(first)["proposals"]
    assert proposals[0]["approved_by"] is None


def test_the_pictures_show_the_week() -> None:
    report = told(demand_of(office, 6, noise=3.0))
    heading, *days = heat_map(report.usual_week, OWNED)
    assert heading.split() == ["00", "03", "06", "09", "12", "15", "18", "21"]
    assert [line[5:].count("!") for line in days] == [6, 6, 6, 6, 6, 0, 0]
    page = as_html(report)
    assert page.count("<rect") == 168
    assert "approved_by: null" in page
    assert "No windows" in as_html(told(demand_of(office, 6), on_prem_gpus=0))


values = st.lists(st.floats(0, 500), min_size=24, max_size=24)
shapes: list[Callable[[datetime], float]] = [office, closing, quiet_nights]


@given(values, st.integers(2, 5), st.sampled_from(MODELS))
def test_every_model_gives_finite_quantiles_in_order(day: list[float], weeks: int, model: object) -> None:
    demand = demand_of(lambda when: day[when.hour], weeks)
    slots = slots_of(demand.starts_at, len(demand.gpus) + 168, SHANGHAI)
    made = model.predict(demand.gpus, slots.part(0, len(demand.gpus)), slots.part(len(demand.gpus), 10**6))  # type: ignore[attr-defined]
    assert made.shape == (len(QUANTILES), 168)
    assert np.isfinite(made).all()
    assert (made >= 0).all()
    if not model.is_naive:  # type: ignore[attr-defined]
        assert (np.diff(made, axis=0) >= -1e-6).all()


@pytest.mark.parametrize("shape", shapes)
def test_a_month_end_model_without_an_end_in_its_past_is_that_of_the_week(shape: Callable[[datetime], float]) -> None:
    demand = demand_of(shape, 2)
    slots = slots_of(demand.starts_at, len(demand.gpus), SHANGHAI)
    assert with_month_end(demand.gpus, slots, slots).shape == (5, 336)


def test_too_low_costs_a_high_quantile_more_than_too_high() -> None:
    actual = np.array([100.0])
    assert pinball(actual, np.array([90.0]), 0.8) == pytest.approx(8)
    assert pinball(actual, np.array([110.0]), 0.8) == pytest.approx(2)


@given(st.lists(st.booleans()))
def test_runs_hold_every_marked_hour_once(marked: list[bool]) -> None:
    found = runs(np.array(marked, dtype=np.bool_))
    assert [hour for first, last in found for hour in range(first, last)] == [
        hour for hour, is_in in enumerate(marked) if is_in
    ]


def test_the_example_company_gets_windows_on_working_days() -> None:
    """A month is short: weekly windows, but nothing on how months end."""
    report = told(wanted_by(example_company_month(1)))
    assert report.verdict.is_better
    assert report.windows
    assert all(set(window.weekdays) <= set(WORK_DAYS) for window in report.windows)
    assert not report.month_end.is_surge


def test_the_shipped_week_of_philly_is_too_short() -> None:
    with pytest.raises(InvalidInput, match="weeks long"):
        read_demand(next((SHIPPED / "philly").glob("*.csv.gz")), SHANGHAI)


@pytest.mark.evaluation
def test_philly_is_forecast_better_than_naive() -> None:
    path = for_evaluation("philly_jobs/philly_jobs_2017-09-04_to_2017-10-29.csv.gz")
    report = told(read_demand(path, SHANGHAI), on_prem_gpus=600)
    assert report.verdict.is_better
    assert report.verdict.best.wape < 0.2


@pytest.mark.evaluation
def test_a_department_of_helios_has_no_week() -> None:
    path = for_evaluation("helios_earth_vc_2020-05/earth_vcSoL_minute.csv.gz")
    report = told(read_demand(path, SHANGHAI), on_prem_gpus=24)
    assert not report.verdict.is_better
    assert report.windows == ()
