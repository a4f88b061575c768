"""What pods say of their work, and what becomes of what nobody understands."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.readings import PodWork
from agent.sense.pod_work import pod_work
from contract import labels
from contract.work import DataClass, Tier, WorkKind

KEYS = (
    labels.TIER,
    labels.KIND,
    labels.DATA_CLASS,
    labels.LOW_LATENCY,
    labels.RUNTIME,
    labels.DEADLINE,
    labels.USER,
)


def test_what_is_not_said_keeps_its_default() -> None:
    assert pod_work({"app": "x"}, {"note": "y"}) == PodWork()


def test_everything_is_read() -> None:
    own = {
        labels.TIER: "research",
        labels.KIND: "hpo",
        labels.DATA_CLASS: "link-only",
        labels.LOW_LATENCY: "true",
        labels.RUNTIME: "1h30m",
    }
    assert pod_work(own, {labels.DEADLINE: "2026-12-01T08:00:00+00:00", labels.USER: "lin@example.com"}) == PodWork(
        tier=Tier.RESEARCH,
        kind=WorkKind.HPO,
        data=DataClass.LINK_ONLY,
        needs_low_latency=True,
        runtime=timedelta(minutes=90),
        deadline=datetime(2026, 12, 1, 8, tzinfo=UTC),
        user="lin@example.com",
    )


def test_a_label_counts_before_an_annotation() -> None:
    assert pod_work({labels.USER: "lin"}, {labels.USER: "wang", labels.TIER: "research"}) == PodWork(
        user="lin", tier=Tier.RESEARCH
    )
    assert not pod_work({labels.LOW_LATENCY: "false"}, {}).needs_low_latency


@pytest.mark.parametrize(
    ("key", "value", "became", "shown"),
    [
        (labels.TIER, "prod", {"tier": Tier.PRODUCTION}, "production"),
        (labels.KIND, "training", {"kind": WorkKind.OTHER}, "other"),
        (labels.DATA_CLASS, "secret", {"data": DataClass.SENSITIVE}, "sensitive"),
        (labels.DATA_CLASS, "OPEN", {"data": DataClass.SENSITIVE}, "sensitive"),
        (labels.LOW_LATENCY, "yes", {"needs_low_latency": True}, "true"),
        (labels.RUNTIME, "90", {"runtime": None}, "unknown"),
        (labels.RUNTIME, "0s", {"runtime": None}, "unknown"),
        (labels.RUNTIME, "9" * 400 + "d", {"runtime": None}, "unknown"),
        (labels.DEADLINE, "tomorrow", {"deadline": None}, "unknown"),
        (labels.DEADLINE, "2026-12-01T08:00:00", {"deadline": None}, "unknown"),
    ],
)
def test_a_bad_value_becomes_the_safest_and_is_told(key: str, value: str, became: dict[str, Any], shown: str) -> None:
    doubt = f"{key} '{value}' means nothing, taken as {shown}"
    assert pod_work({key: value}, {}) == PodWork(**became, doubts=(doubt,))


@given(st.dictionaries(st.sampled_from(KEYS), st.one_of(st.text(max_size=12), st.none(), st.integers())))
def test_nothing_that_a_pod_says_stops_the_reading(said: dict[str, object]) -> None:
    work = pod_work(said, {})
    assert work.tier in Tier
    assert work.data is DataClass.SENSITIVE or str(said.get(labels.DATA_CLASS, "open")) in ("open", "link-only")
