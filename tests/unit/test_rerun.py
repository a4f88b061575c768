"""A past decision made again: the same is said to be the same, and whatever differs is named by its field."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

from hypothesis import given, settings

from agent.core.codec import from_json, left_out, to_json
from agent.core.decide import decide
from agent.core.decision import Decision
from agent.core.memory import Memory
from agent.core.policy import Policy
from agent.core.rerun import Difference, rerun
from agent.core.snapshot import Order, OrderKind, Snapshot
from contract.units import Nodes
from tests.builders import NOON, a_policy, a_snapshot, tasks, watched
from tests.unit.test_arbitrate import snapshots


@settings(max_examples=60, deadline=None)
@given(snapshots())
def test_what_went_through_storage_is_decided_the_same_bit_for_bit(snapshot: Snapshot) -> None:
    memory = watched(snapshot, timedelta(minutes=6))
    decided, _ = decide(snapshot, a_policy(), memory)
    stored = [json.loads(json.dumps(to_json(value))) for value in (snapshot, a_policy(), memory, decided)]
    assert (
        rerun(
            from_json(Snapshot, stored[0]),
            from_json(Policy, stored[1]),
            from_json(Memory, stored[2]),
            from_json(Decision, stored[3]),
        )
        == ()
    )


def test_an_order_of_a_person_is_part_of_what_is_decided_on_again() -> None:
    order = Order(
        number=3,
        kind=OrderKind.EMERGENCY,
        nodes=Nodes(4),
        base=Nodes(0),
        who="lin",
        why="release night",
        since=NOON,
        until=NOON + timedelta(hours=2),
    )
    snapshot = replace(a_snapshot(), orders=(order,))
    decided, _ = decide(snapshot, a_policy(), Memory())
    assert rerun(snapshot, a_policy(), Memory(), decided) == ()
    found = rerun(replace(snapshot, orders=()), a_policy(), Memory(), decided)
    assert "chosen.policy" in {difference.field for difference in found}


def test_each_field_that_differs_is_named_with_both_values() -> None:
    snapshot = a_snapshot(queue=tasks(7))
    memory = watched(snapshot)
    decided, _ = decide(snapshot, a_policy(), memory)
    edited = replace(decided, chosen=replace(decided.chosen, policy="calendar"))
    assert rerun(snapshot, a_policy(), memory, edited) == (
        Difference(field="chosen.policy", stored='"calendar"', again='"queue_pressure"'),
    )


def test_what_one_side_does_not_have_is_a_difference_too() -> None:
    snapshot = a_snapshot(queue=tasks(7))
    memory = watched(snapshot)
    decided, _ = decide(snapshot, a_policy(), memory)
    [less] = rerun(snapshot, a_policy(), memory, replace(decided, rejected=decided.rejected[:-1]))
    assert (less.field, less.stored) == (f"rejected[{len(decided.rejected) - 1}]", "")
    [more] = rerun(snapshot, a_policy(), memory, replace(decided, rejected=(*decided.rejected, decided.rejected[0])))
    assert (more.field, more.again) == (f"rejected[{len(decided.rejected)}]", "")


def test_fields_that_a_reader_would_lose_are_found_wherever_they_stand() -> None:
    snapshot = a_snapshot(queue=tasks(2))
    stored = json.loads(json.dumps(to_json(snapshot)))
    assert left_out(stored, to_json(snapshot)) == ()
    stored["queue"][1]["colour"] = "red"
    stored["weather"] = 3
    assert left_out(stored, to_json(from_json(Snapshot, stored))) == ("weather", "queue[1].colour")
