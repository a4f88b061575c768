"""Who leaves and who waits: the one whose leaving saves the line more than it costs, and no other."""

from __future__ import annotations

from math import inf

from hypothesis import given
from hypothesis import strategies as st

from agent.core.outlook import Need, Outlook
from agent.core.wait_or_pay import Waiting, WaitingRoom, waiting

_TASKS = st.lists(st.tuples(st.sampled_from([1, 2, 4, 8, 16]), st.floats(0.05, 20.0)), min_size=1, max_size=20)


def _full(nodes: int = 1, until: float = 10.0) -> Outlook:
    outlook = Outlook(nodes)
    for node in range(nodes):
        outlook.hold(node, 8, until)
    return outlook


def _come(room: WaitingRoom, *tasks: tuple[str, int, float], now: float = 0.0, patience: float = 0.1) -> list[Waiting]:
    made = [waiting(name, Need(gpus, hours), now, patience) for name, gpus, hours in tasks]
    return list(room.arrive(made, now).leaving)


def test_a_small_task_pays_rather_than_wait_long() -> None:
    room = WaitingRoom(_full(until=10.0), 0.1)
    assert [task.name for task in _come(room, ("small", 1, 1.0))] == ["small"]


def test_a_large_task_waits_for_what_it_would_cost() -> None:
    room = WaitingRoom(_full(until=10.0), 0.1)
    assert _come(room, ("large", 8, 20.0)) == []
    assert [task.name for task in room.line] == ["large"]


def test_what_starts_up_slowly_is_worth_less() -> None:
    slow = WaitingRoom(_full(until=0.15), 0.1, start_up=0.2)
    quick = WaitingRoom(_full(until=0.15), 0.1)
    assert _come(slow, ("small", 1, 1.0)) == []
    assert [task.name for task in _come(quick, ("small", 1, 1.0))] == ["small"]


def test_weariness_lets_a_long_wait_go() -> None:
    calm = WaitingRoom(_full(until=10.0), 0.1)
    weary = WaitingRoom(_full(until=10.0), 0.1, weary_after=2.0)
    assert _come(calm, ("task", 8, 15.0)) == []
    assert [task.name for task in _come(weary, ("task", 8, 15.0))] == ["task"]


def test_one_that_holds_up_many_leaves_for_them() -> None:
    room = WaitingRoom(_full(until=0.5), 0.1)
    tasks = [("long", 8, 6.0), *((f"short-{number}", 8, 5.0) for number in range(4))]
    leaving = _come(room, *tasks)
    assert leaving
    assert len(room.line) + len(leaving) == 5


def test_room_goes_to_the_first_of_the_line_and_to_whoever_fits() -> None:
    room = WaitingRoom(_full(nodes=2, until=1.0), 10.0)
    assert _come(room, ("gang", 16, 3.0), ("one", 1, 30.0), patience=10.0) == []
    outlook = Outlook(2)
    outlook.hold(0, 8, 9.0)
    room.outlook = outlook
    started = room.freed(1.0)
    assert [task.name for task, _ in started] == ["one"]
    assert [task.name for task in room.line] == ["gang"]


def test_a_newcomer_makes_the_others_be_judged_again() -> None:
    room = WaitingRoom(_full(until=2.0), 0.1)
    assert _come(room, ("first", 8, 3.0)) == [] or room.line == []
    room = WaitingRoom(_full(until=2.0), 1.0)
    assert _come(room, ("first", 8, 3.0), patience=1.0) == []
    before = room.line[0].slack
    _come(room, ("second", 8, 1.0), now=0.1, patience=1.0)
    assert next(task.slack for task in room.line if task.name == "first") < before


def test_several_that_come_together_are_judged_together() -> None:
    room = WaitingRoom(_full(until=10.0), 0.1)
    leaving = _come(room, ("small", 1, 1.0), ("large", 8, 20.0), ("tiny", 1, 0.5))
    assert sorted(str(task.name) for task in leaving) == ["small", "tiny"]


def test_one_that_never_fits_leaves_even_beside_others() -> None:
    room = WaitingRoom(_full(until=1.0), 10.0)
    assert [task.name for task in _come(room, ("giant", 64, 1.0), ("one", 1, 30.0), patience=10.0)] == ["giant"]


def test_a_newcomer_in_vain_leaves_before_others_are_judged() -> None:
    room = WaitingRoom(_full(until=2.0), 1.0)
    assert _come(room, ("first", 8, 3.0), patience=1.0) == []
    slack = room.line[0].slack
    assert [task.name for task in _come(room, ("tiny", 1, 0.1), now=0.1, patience=1.0)] == ["tiny"]
    assert room.line[0].slack == slack


def test_of_a_long_line_the_most_doubtful_are_judged_and_the_rest_stay_in_doubt() -> None:
    for length, in_doubt in ((12, False), (40, True)):
        room = WaitingRoom(_full(until=0.1), 6.0)
        assert _come(room, *((f"task-{number}", 8, 1.0) for number in range(length)), patience=6.0) == []
        assert any(task.slack < 0 for task in room.line) == in_doubt
        assert sum(task.slack >= 0 for task in room.line) >= min(length, 2)


def test_one_that_never_fits_leaves_a_line_without_memory_too() -> None:
    room = WaitingRoom(_full(until=1.0), 10.0)
    room.line = [waiting(name, Need(gpus, 30.0), 0.0, 10.0) for name, gpus in (("one", 1), ("giant", 64))]
    assert [task.name for task in room.judge_all(0.0)] == ["giant"]
    assert [task.planned for task in room.line] == [1.0]


def test_who_stands_too_far_back_is_not_judged_until_the_line_moves_up() -> None:
    room = WaitingRoom(_full(until=1.0), 10.0)
    tasks = [(f"task-{number}", 1, 1.0) for number in range(70)]
    assert _come(room, *tasks, patience=10.0) == []
    assert [task.planned for task in room.line[64:]] == [inf] * 6
    started = room.freed(1.0)
    assert len(started) == 8
    assert _come(room, ("last", 8, 9.0), now=1.0, patience=10.0) == []
    assert sum(task.planned < inf for task in room.line) == 63


@given(tasks=_TASKS, later=_TASKS, patience=st.floats(0.001, 3.0))
def test_nobody_is_lost_whenever_they_come(
    tasks: list[tuple[int, float]], later: list[tuple[int, float]], patience: float
) -> None:
    room, seen = WaitingRoom(_full(nodes=2, until=1.0), patience), list[str]()
    for now, group in ((0.0, tasks), (0.5, later), (1.0, tasks)):
        made = [waiting(f"{now}-{number}", Need(*need), now, patience) for number, need in enumerate(group)]
        verdict = room.arrive(made, now)
        seen += [str(task.name) for task in (*verdict.leaving, *(task for task, _ in verdict.started))]
    seen += [str(task.name) for task in room.line]
    assert len(seen) == len(set(seen)) == 2 * len(tasks) + len(later)


def test_an_empty_line_has_nothing_to_start() -> None:
    assert WaitingRoom(Outlook(1), 1.0).freed(0.0) == []


def test_what_fits_starts_at_once() -> None:
    room = WaitingRoom(Outlook(1), 0.1)
    verdict = room.arrive([waiting("task", Need(8, 1.0), 0.0, 0.1)], 0.0)
    assert [(task.name, shares) for task, shares in verdict.started] == [("task", ((0, 8),))]
    assert verdict.leaving == ()


def test_a_line_without_memory_is_judged_as_a_whole() -> None:
    room = WaitingRoom(_full(until=10.0), 0.1)
    room.line = [waiting("small", Need(1, 1.0), -1.0, 0.1), waiting("large", Need(8, 20.0), -1.0, 0.1)]
    assert [task.name for task in room.judge_all(0.0)] == ["small"]


def test_the_wait_behind_a_task_does_not_decide() -> None:
    fresh, old = WaitingRoom(_full(until=0.05), 0.1), WaitingRoom(_full(until=0.05), 0.1)
    fresh.line = [waiting("task", Need(1, 1.0), 0.0, 0.1)]
    old.line = [waiting("task", Need(1, 1.0), -50.0, 0.1)]
    assert fresh.judge_all(0.0) == ()
    assert old.judge_all(0.0) == ()


@given(tasks=_TASKS, patience=st.floats(0.001, 3.0))
def test_nobody_is_lost_and_who_stays_would_not_gain_by_leaving(
    tasks: list[tuple[int, float]], patience: float
) -> None:
    room = WaitingRoom(_full(nodes=2, until=1.0), patience)
    made = [waiting(number, Need(gpus, hours), 0.0, patience) for number, (gpus, hours) in enumerate(tasks)]
    verdict = room.arrive(made, 0.0)
    assert verdict.started == ()
    names = [task.name for task in (*verdict.leaving, *room.line)]
    assert sorted(names, key=str) == sorted(range(len(tasks)), key=str)
    # Of a longer line only the most doubtful are judged at once (_EFFORT); the others keep their doubt.
    assert len(made) > 15 or all(task.slack >= 0 for task in room.line)
    assert [task.due for task in room.line] == sorted(task.due for task in room.line)
