"""Spot histories: the machines there were at each moment, again and again; files that cannot be used say why."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise
from math import nextafter
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from contract.problems import InvalidInput
from replay.spot_history import SpotHistory, read_spot_history
from tests.replay.trace_files import EVALUATION, SHIPPED, written

SKYPILOT = "t_s,available_or_running_nodes"
SHORT = SpotHistory(name="short", times_s=(0.0, 10.0, 30.0), nodes=(1, 0, 4), period_s=40.0)
# Mean machines of the recording, as shares of the most; the README states 17 % to 91 % over zones.
EVALUATED = {
    "availability__1-node__aws-02-15-2023__us-east-1a_v100_1": (1, 0.167),
    "availability__1-node__aws-02-15-2023__us-west-2c_v100_1": (1, 0.891),
    "availability__16-node__aws-08-27-2023__us-west-2a_v100_1": (16, 6.899),
    "preemption__4-node__aws-08-03-2023__us-west-2c_v100_1": (4, 3.264),
}


@pytest.mark.parametrize(
    ("at_s", "nodes"), [(0, 1), (9.999, 1), (10, 0), (29, 0), (30, 4), (39.9, 4), (40, 1), (50, 0), (4_035, 4)]
)
def test_a_moment_has_the_machines_of_the_last_change(at_s: float, nodes: int) -> None:
    assert SHORT.available(at_s) == nodes


@pytest.mark.parametrize(("at_s", "change_s"), [(0, 10), (10, 30), (29, 30), (30, 40), (41, 50), (119, 120)])
def test_the_next_change_is_after_the_moment(at_s: float, change_s: float) -> None:
    assert SHORT.next_change(at_s) == change_s


def test_most_and_mean_are_over_the_recording() -> None:
    assert (SHORT.most, SHORT.mean) == (4, (10 * 1 + 20 * 0 + 10 * 4) / 40)


@given(at_s=st.integers(0, 10_000), rounds=st.integers(0, 50))
def test_the_recording_begins_again_past_its_end(at_s: int, rounds: int) -> None:
    assert SHORT.available(at_s + rounds * 40) == SHORT.available(at_s)
    assert at_s < SHORT.next_change(at_s) <= at_s + 40


@st.composite
def _histories(draw: st.DrawFn) -> SpotHistory:
    gaps = draw(st.lists(st.floats(1e-6, 1e5), min_size=1, max_size=6))
    times = (0.0, *accumulate(gaps))
    nodes = draw(st.lists(st.integers(0, 9), min_size=len(gaps), max_size=len(gaps)))
    # A gap may be too small for a float beside the time before it.
    assume(all(before < after for before, after in pairwise(times)))
    return SpotHistory(name="any", times_s=times[:-1], nodes=tuple(nodes), period_s=times[-1])


@given(history=_histories(), at_s=st.one_of(st.floats(0, 1e6), st.floats(0, 1e16)))
def test_a_walk_from_change_to_change_goes_on_and_passes_none_over(history: SpotHistory, at_s: float) -> None:
    change_s = history.next_change(at_s)
    assert change_s > at_s
    just_before_s = nextafter(change_s, 0.0)
    assert history.available(just_before_s) == history.available(at_s)
    rows = {Fraction(time_s) for time_s in (*history.times_s, history.period_s)}
    since_s = Fraction(just_before_s) % Fraction(history.period_s)
    # The row's own time lies after the float before the answer, and not after the answer.
    assert any(since_s < row <= since_s + Fraction(change_s) - Fraction(just_before_s) for row in rows)


@given(round_=st.integers(0, 10**6), row=st.integers(1, 3))
def test_a_moment_a_rounding_before_a_change_does_not_stand_still(round_: int, row: int) -> None:
    history = SpotHistory(name="thirds", times_s=(0.0, 1 / 3, 2 / 3), nodes=(1, 0, 4), period_s=1.1)
    at_s = nextafter(round_ * 1.1 + row / 3, 0.0)
    for _ in range(4):
        at_s, before_s = history.next_change(at_s), at_s
        assert at_s > before_s


def test_the_shipped_recording_is_read() -> None:
    history = read_spot_history(SHIPPED / "bamboo" / "bamboo_gcp_a100x1_us_east1b_2021-12.csv")
    assert history.name == "bamboo_gcp_a100x1_us_east1b_2021-12"
    assert (history.period_s, history.most, round(history.mean, 1)) == (97_266.0, 64, 57.3)
    assert history.available(0) == 55


@pytest.mark.evaluation
@pytest.mark.parametrize("name", EVALUATED)
def test_recordings_for_evaluation_are_read(name: str) -> None:
    path = EVALUATION / "spot_traces" / f"{name}.csv.gz"
    if not path.is_file():
        pytest.skip(f"{path} is not here: evaluation data that we may not ship")
    history = read_spot_history(path)
    assert (history.most, round(history.mean, 3)) == EVALUATED[name]


def test_the_row_end_gives_the_length(tmp_path: Path) -> None:
    history = read_spot_history(written(tmp_path, SKYPILOT, "0,2", "60,1", "100,END", name="zone.csv.gz"))
    assert history == SpotHistory(name="zone", times_s=(0.0, 60.0), nodes=(2, 1), period_s=100.0)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["arrival,runtime", "0,1"], "the columns are not those of a spot history"),
        (["", ""], "the columns are not those of a spot history"),
        ([SKYPILOT], "holds no span of time"),
        ([SKYPILOT, "0,END"], "holds no span of time"),
        ([SKYPILOT, "5,1", "9,END"], "starts at 5 s"),
        ([SKYPILOT, "0,1", "9,0"], ":3: available_or_running_nodes: the last row is not END"),
        ([SKYPILOT, "0,1", "9,END", "12,1"], ":4: available_or_running_nodes: comes after the row END"),
        ([SKYPILOT, "0,1", "9,0", "9,1", "12,END"], ":4: t_s: 9 s does not come after 9 s"),
        ([SKYPILOT, "0,1", "nan,0", "12,END"], ":3: t_s: 'nan' is not a finite number"),
        ([SKYPILOT, "-3,1", "0,1", "12,END"], ":2: t_s: -3 s is before the start"),
        ([SKYPILOT, "0,-1", "12,END"], ":2: available_or_running_nodes: -1 is too few machines"),
        ([SKYPILOT, "0,1.5", "12,END"], ":2: available_or_running_nodes: '1.5' is not a whole number"),
    ],
)
def test_a_history_that_cannot_be_used_says_why(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_spot_history(written(tmp_path, *lines))


def test_all_problems_of_a_history_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput) as caught:
        read_spot_history(written(tmp_path, SKYPILOT, "0,x", "y,1", "12,END"))
    assert [problem.row for problem in caught.value.problems] == [2, 3]
