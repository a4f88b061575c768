"""Run times learned from tasks that ended: nearest kin first, wider kin while few are known, survivors later."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.runtime_estimate import KEPT, NOTHING_SEEN, RuntimeBook, RuntimeKey, gpus_class
from contract.work import WorkKind

ANNA = RuntimeKey(department="research", kind=WorkKind.HPO, gpus=4, user="anna")


def key(**facts: object) -> RuntimeKey:
    """Anna's task with other facts."""
    known = {"department": "research", "kind": WorkKind.HPO, "gpus": 4, "user": "anna"}
    return RuntimeKey(**(known | facts))  # type: ignore[arg-type]


def book(*runtimes_s: float, of: RuntimeKey = ANNA) -> RuntimeBook:
    """What was learned from tasks that ended one after the other."""
    made = RuntimeBook()
    for runtime_s in runtimes_s:
        made.learn(of, runtime_s)
    return made


def test_a_book_without_any_task_guesses_and_says_so() -> None:
    assert RuntimeBook().estimate(ANNA) == NOTHING_SEEN
    assert NOTHING_SEEN.seen == 0


def test_the_estimate_is_the_median_whatever_the_longest_did() -> None:
    made = book(60, 70, 80, 90, 1_000_000)
    told = made.estimate(ANNA)
    assert told.median_s == pytest.approx(80)
    assert told.mean_s == pytest.approx(200_060)
    assert (told.from_what, told.seen) == ("hpo of user anna on 3-4 GPUs", 5)


@pytest.mark.parametrize(
    ("asked", "from_what"),
    [
        (key(gpus=3), "hpo of user anna on 3-4 GPUs"),
        (key(user="ben"), "hpo of department research"),
        (key(gpus=64), "hpo of department research"),
        (key(kind=WorkKind.INFERENCE, user="ben"), "tasks on 3-4 GPUs"),
        (key(department="sales", gpus=1), "all tasks"),
    ],
)
def test_the_nearest_kin_with_anything_seen_is_asked(asked: RuntimeKey, from_what: str) -> None:
    told = book(100, 100).estimate(asked)
    assert (told.from_what, told.seen) == (from_what, 2)
    assert told.median_s == pytest.approx(100)


def test_a_task_without_a_user_is_of_its_department() -> None:
    nobody = key(user="")
    assert book(100, of=nobody).estimate(nobody).from_what == "hpo of department research on 3-4 GPUs"
    assert book(100, of=key(user="research")).estimate(nobody).from_what == "hpo of department research"


def test_few_observations_are_drawn_towards_wider_kin_and_many_are_not() -> None:
    made = book(*[100.0] * KEPT, of=key(user="ben"))
    made.learn(ANNA, 10_000)
    assert 100 < made.estimate(ANNA).median_s < 1000
    for _ in range(KEPT):
        made.learn(ANNA, 10_000)
    assert made.estimate(ANNA).median_s == pytest.approx(10_000)


def test_only_the_last_fifty_are_kept() -> None:
    made = book(*[1.0] * 500, *[5000.0] * KEPT)
    assert made.estimate(ANNA).low_s == pytest.approx(5000)
    assert made.estimate(ANNA).seen == KEPT


def test_a_task_that_ran_on_is_judged_by_those_that_ran_longer() -> None:
    told = book(10, 20, 30, 1000, 2000, 4000).remaining(ANNA, 500)
    assert told.median_s == 1500
    assert told.mean_s == pytest.approx((500 + 1500 + 3500) / 3)
    assert (told.from_what, told.seen) == ("hpo of user anna on 3-4 GPUs that ran longer", 3)


def test_survivors_are_sought_among_wider_kin() -> None:
    made = book(10, 20, 30)
    for runtime_s in (600, 700, 800):
        made.learn(key(user="ben"), runtime_s)
    assert made.remaining(ANNA, 500).from_what == "hpo of department research that ran longer"


def test_what_ran_longer_than_all_runs_as_long_again() -> None:
    told = book(10, 20, 30).remaining(ANNA, 700)
    assert (told.median_s, told.mean_s, told.seen) == (700, 700, 0)
    assert RuntimeBook().remaining(ANNA, 700).median_s == 700


def test_a_task_that_has_not_run_yet_has_all_before_it() -> None:
    made = book(10, 20, 30)
    assert made.remaining(ANNA, 0) == made.estimate(ANNA)


@pytest.mark.parametrize("runtime_s", [math.nan, math.inf, -math.inf, 0, -1])
def test_what_is_no_run_time_teaches_nothing(runtime_s: float) -> None:
    assert book(runtime_s).estimate(ANNA) == NOTHING_SEEN


def test_sizes_are_classed_by_doublings() -> None:
    assert [gpus_class(gpus) for gpus in (0, 1, 2, 3, 4, 5, 8, 9, 64, 65)] == [
        *("1", "1", "2", "3-4", "3-4", "5-8", "5-8", "9-16", "33-64", "65-128")
    ]


lengths = st.floats(0.001, 1e9)
keys = st.builds(
    RuntimeKey,
    department=st.sampled_from("ab"),
    kind=st.sampled_from(WorkKind),
    gpus=st.integers(1, 9),
    user=st.sampled_from(("", "u", "v")),
)
lessons = st.lists(st.tuples(keys, lengths), min_size=1, max_size=200)


def taught(told: list[tuple[RuntimeKey, float]]) -> RuntimeBook:
    made = RuntimeBook()
    for each, runtime_s in told:
        made.learn(each, runtime_s)
    return made


@given(lessons, keys)
def test_an_estimate_lies_within_what_was_seen_and_in_order(
    told: list[tuple[RuntimeKey, float]], asked: RuntimeKey
) -> None:
    estimate = taught(told).estimate(asked)
    least, most = min(told, key=lambda each: each[1])[1], max(told, key=lambda each: each[1])[1]
    close = 1 + 1e-9
    assert least / close <= estimate.low_s <= estimate.median_s * close
    assert estimate.median_s <= estimate.high_s * close <= most * close * close
    assert 1 <= estimate.seen <= KEPT


@given(lessons, keys, lengths)
def test_the_same_lessons_give_the_same_answers(
    told: list[tuple[RuntimeKey, float]], asked: RuntimeKey, ran_s: float
) -> None:
    assert taught(told).estimate(asked) == taught(told).estimate(asked)
    assert taught(told).remaining(asked, ran_s) == taught(told).remaining(asked, ran_s)


@given(lessons, keys, lengths)
def test_what_is_left_is_above_nothing_and_in_order(
    told: list[tuple[RuntimeKey, float]], asked: RuntimeKey, ran_s: float
) -> None:
    left = taught(told).remaining(asked, ran_s)
    assert 0 < left.low_s <= left.median_s * (1 + 1e-9) <= left.high_s * (1 + 1e-9) ** 2
    assert left.mean_s > 0


@given(st.lists(lengths, min_size=1, max_size=40), st.floats(0.01, 100))
def test_run_times_in_another_unit_give_estimates_in_that_unit(runtimes_s: list[float], factor: float) -> None:
    plain, scaled = book(*runtimes_s).estimate(ANNA), book(*(each * factor for each in runtimes_s)).estimate(ANNA)
    assert scaled.median_s == pytest.approx(plain.median_s * factor, rel=1e-6)
