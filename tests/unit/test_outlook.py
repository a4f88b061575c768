"""The plan of the owned GPUs: nobody is planned onto a held GPU, and packing keeps whole nodes whole."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.outlook import Need, Outlook

_NEEDS = st.lists(
    st.builds(Need, gpus=st.sampled_from([1, 2, 4, 8, 12, 16]), hours=st.floats(0.1, 10.0)), min_size=1, max_size=25
)


@given(needs=_NEEDS)
def test_what_starts_now_never_exceeds_what_is_free(needs: list[Need]) -> None:
    outlook, used = Outlook(3), 0
    for need in needs:
        shares = outlook.start(need, 0.0)
        if shares is not None:
            assert sum(gpus for _, gpus in shares) == need.gpus
            used += need.gpus
        assert used <= 24
        assert outlook.fits(1, 0.0) == (used < 24)


@given(needs=_NEEDS)
def test_a_plan_never_uses_more_gpus_than_there_are(needs: list[Need]) -> None:
    plan = Outlook(3)
    spans = [(plan.book(need, 0.0), need) for need in needs]
    for at, _ in spans:
        assert sum(need.gpus for start, need in spans if start <= at < start + need.hours) <= 24


@given(needs=_NEEDS)
def test_a_copy_is_planned_on_without_touching_the_original(needs: list[Need]) -> None:
    outlook = Outlook(3)
    outlook.hold(0, 8, 5.0)
    first = [outlook.copy().book(need, 1.0) for need in needs]
    assert first == [outlook.copy().book(need, 1.0) for need in needs]


def test_a_gang_starts_when_enough_nodes_are_wholly_free() -> None:
    outlook = Outlook(3)
    outlook.hold(0, 1, 2.0)
    outlook.hold(1, 8, 5.0)
    assert outlook.copy().book(Need(16, 1.0), 0.0) == 2.0
    assert outlook.copy().book(Need(24, 1.0), 0.0) == 5.0
    assert outlook.start(Need(16, 1.0), 0.0) is None
    assert outlook.fits(8, 0.0)
    assert not outlook.fits(16, 0.0)


def test_a_gang_larger_than_the_cluster_never_starts() -> None:
    assert Outlook(2).book(Need(24, 1.0), 0.0) == inf


def test_of_equally_late_nodes_a_gang_takes_as_many_as_it_needs() -> None:
    outlook = Outlook(4)
    for node in range(4):
        outlook.hold(node, 8, 3.0)
    assert outlook.book(Need(16, 1.0), 0.0) == 3.0
    assert outlook.book(Need(16, 1.0), 0.0) == 3.0
    assert outlook.book(Need(8, 1.0), 0.0) == 4.0


def test_a_small_task_goes_beside_others_and_leaves_whole_nodes_whole() -> None:
    outlook = Outlook(3)
    assert outlook.start(Need(4, 2.0), 0.0) == ((0, 4),)
    assert outlook.start(Need(4, 2.0), 0.0) == ((0, 4),)
    assert outlook.start(Need(16, 1.0), 0.0) == ((1, 8), (2, 8))


def test_a_task_goes_where_it_ends_with_the_others() -> None:
    for hours, node in ((10.0, 0), (1.0, 1)):
        outlook = Outlook(2)
        outlook.hold(0, 4, 10.0)
        outlook.hold(1, 4, 1.0)
        assert outlook.start(Need(2, hours), 0.0) == ((node, 2),)


def test_a_whole_node_job_breaks_into_nothing() -> None:
    outlook = Outlook(2)
    outlook.hold(0, 1, 10.0)
    assert outlook.start(Need(8, 1.0), 0.0) == ((1, 8),)
    assert outlook.start(Need(8, 1.0), 0.0) is None


def test_an_end_that_was_told_wrong_is_put_right() -> None:
    outlook = Outlook(1)
    shares = outlook.start(Need(8, 5.0), 0.0)
    assert shares is not None
    outlook.correct(shares, 5.0, 2.0)
    assert outlook.copy().book(Need(8, 1.0), 1.0) == 2.0
    outlook.correct(shares, 2.0, 9.0)
    assert outlook.copy().book(Need(1, 1.0), 1.0) == 9.0
    with pytest.raises(ValueError, match="not in list"):
        outlook.correct(shares, 4.0, 1.0)


@given(needs=_NEEDS, held=st.lists(st.tuples(st.integers(0, 2), st.floats(0.0, 9.0)), max_size=6))
def test_paper_books_a_line_as_the_plan_itself_would(needs: list[Need], held: list[tuple[int, float]]) -> None:
    outlook = Outlook(3)
    for node, until in held:
        outlook.hold(node, 3, until)
    slow, paper = outlook.copy(), outlook.plan({need.gpus: inf for need in needs})
    starts = [slow.book(need, 1.0) for need in needs]
    asked = paper.when(needs[0].gpus, 1.0)
    assert paper.copy().book(needs, 1.0) == starts
    assert asked == starts[0]
    latest: dict[int, float] = {}
    for need, start in zip(needs, starts, strict=True):
        latest[need.gpus] = max(start, latest.get(need.gpus, start))
    assert outlook.plan(latest).book(needs, 1.0) == starts


def test_paper_leaves_out_nodes_that_come_free_for_nobody() -> None:
    outlook = Outlook(3)
    outlook.hold(1, 8, 50.0)
    paper = outlook.plan({1: 2.0})
    assert paper.book([Need(1, 1.0)] * 17, 0.0) == [0.0] * 16 + [1.0]


def test_a_gang_larger_than_the_cluster_never_starts_on_paper() -> None:
    paper = Outlook(2).plan({24: inf})
    assert (paper.when(24, 0.0), paper.book([Need(24, 1.0)], 0.0)) == (inf, [inf])
