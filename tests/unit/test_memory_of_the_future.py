"""The machine's clock is set back: what memory holds of a future that never was is forgotten, the rest stays."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from agent.core.memory import observe
from tests.builders import EVERY, NOON, a_node, a_pool, a_snapshot, watched

STALE = timedelta(minutes=2)
HOUR = timedelta(hours=1)
SNAPSHOT = a_snapshot(pools=[a_pool(a_node(1))])


def test_a_step_back_that_is_no_more_than_a_gap_changes_nothing() -> None:
    memory = watched(SNAPSHOT)
    assert observe(memory, replace(SNAPSHOT, taken_at=NOON - 2 * EVERY), STALE) == memory


def test_clocks_pauses_and_samples_of_the_future_are_void_and_older_ones_hold() -> None:
    back = NOON - HOUR
    memory = replace(
        watched(SNAPSHOT),
        grown_at={"old": back - HOUR, "new": back + EVERY},
        back_off_until={"old": NOON + HOUR},
        refused_until={"old": NOON + HOUR},
        busy_until=NOON,
        last_grow=back - HOUR,
        last_shrink=back + EVERY,
        replaced={"i-001": "ack-a100-od"},
    )
    after = observe(memory, replace(SNAPSHOT, taken_at=back), STALE)
    assert [sample.at for sample in after.samples] == [back]
    assert after.watched_since == back
    assert after.idle_since == {"i-001": back}
    assert after.grown_at == {"old": back - HOUR}
    assert (after.back_off_until, after.refused_until, after.busy_until) == ({}, {}, None)
    assert (after.last_grow, after.last_shrink) == (back - HOUR, None)
    assert after.replaced == {"i-001": "ack-a100-od"}


def test_it_starts_again_from_there() -> None:
    memory = watched(SNAPSHOT)
    back = replace(SNAPSHOT, taken_at=NOON - HOUR)
    after = observe(observe(memory, back, STALE), replace(back, taken_at=back.taken_at + EVERY), STALE)
    assert [sample.at for sample in after.samples] == [NOON - HOUR, NOON - HOUR + EVERY]
    assert after.watched_since == NOON - HOUR
