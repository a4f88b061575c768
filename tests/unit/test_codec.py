"""Whatever the core makes comes back from storage bit for bit."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import cast

import pytest
from hypothesis import given, settings

from agent.core.codec import CodecError, from_json, to_json
from agent.core.decide import decide
from agent.core.decision import Decision
from agent.core.memory import Memory
from agent.core.snapshot import Snapshot
from contract.units import Percent
from tests.builders import NOON, a_policy, a_snapshot, watched
from tests.unit.test_arbitrate import snapshots


@settings(max_examples=100, deadline=None)
@given(snapshots())
def test_snapshot_memory_and_decision_survive_storage(snapshot: Snapshot) -> None:
    memory = watched(snapshot, timedelta(minutes=6))
    decision, after = decide(snapshot, a_policy(), memory)
    for kind, value in ((Snapshot, snapshot), (Memory, after), (Decision, decision)):
        stored = json.loads(json.dumps(to_json(value)))
        assert from_json(cast("type[object]", kind), stored) == value


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(CodecError, match="without a zone"):
        to_json(datetime(2026, 1, 1))  # noqa: DTZ001


BAD: list[object] = [None, 3, [], {}, {"is": "Percent"}, {"is": "Money", "value": 3.0}, {"is": "Percent", "value": "3"}]


@pytest.mark.parametrize("bad", BAD)
def test_what_does_not_fit_is_refused(bad: object) -> None:
    with pytest.raises(CodecError):
        from_json(Percent, bad)


def test_a_value_of_none_of_the_kinds_that_may_stand_there_is_refused() -> None:
    stored = cast("dict[str, object]", to_json(a_snapshot()))
    with pytest.raises(CodecError, match="fits none of"):
        from_json(Snapshot, {**stored, "local_use": {"is": "Weather"}})


def test_floats_keep_their_bits() -> None:
    snapshot = a_snapshot(NOON, use=0.1 + 0.2)
    stored = json.loads(json.dumps(to_json(snapshot)))
    assert from_json(Snapshot, stored).local_use == Percent(0.1 + 0.2)
