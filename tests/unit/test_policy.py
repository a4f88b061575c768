"""The policy file: typed settings, or every problem at once; what contradicts itself is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.core.policy import Policy, UseSignal, parse_policy
from contract.fields import Findings
from contract.problems import InvalidInput
from contract.units import Percent
from contract.yaml_document import parse_document, read_document

SHIPPED = Path(__file__).resolve().parents[2] / "stacks" / "policy.yaml"
GOOD: dict[str, Any] = yaml.safe_load(SHIPPED.read_text(encoding="utf-8"))
Edit = Callable[[dict[str, Any]], object]


def parsed(document: Mapping[str, Any]) -> Policy:
    return parse_policy(document, Findings("policy.yaml"))


def problems(edit: Edit) -> list[tuple[str, str, str]]:
    """What is said about the shipped policy after an edit: (where, message, fix)."""
    document = deepcopy(GOOD)
    edit(document)
    with pytest.raises(InvalidInput) as caught:
        parsed(document)
    return [(item.where, item.message, item.fix) for item in caught.value.problems]


def setting(section: str, key: str, value: object) -> Edit:
    return lambda document: document[section].__setitem__(key, value)


def test_the_shipped_policy_is_r4_to_the_letter() -> None:
    policy = parse_policy(*read_document(SHIPPED))
    out, back = policy.queue_pressure, policy.idle_reclaim
    assert (out.local_use_at_least, out.hold_for, out.queued_tasks_at_least) == (Percent(85.0), timedelta(minutes=5), 5)
    assert (out.min_step, out.max_step) == (5, 10)
    assert (back.local_use_at_most, back.hold_for, back.node_idle_for) == (
        Percent(40.0),
        timedelta(minutes=10),
        timedelta(hours=1),
    )
    assert policy.sampling.every == timedelta(seconds=30)
    assert policy.sampling.min_valid == Percent(80.0)
    assert policy.sampling.use_signal is UseSignal.UTILIZATION


@pytest.mark.parametrize("out_at", ["40%", "39%", "0%"])
def test_bursting_at_or_below_the_level_of_giving_back_is_refused(out_at: str) -> None:
    [(where, message, fix)] = problems(setting("queue_pressure", "local_use_at_least", out_at))
    assert where == "queue_pressure"
    assert "it would do both" in message
    assert "above idle_reclaim.local_use_at_most" in fix


@pytest.mark.parametrize(
    ("edit", "where", "says"),
    [
        (setting("queue_pressure", "max_step_nodes", 4), "queue_pressure", "max_step_nodes is below min_step_nodes"),
        (setting("limits", "max_cloud_nodes", 4), "limits", "nothing could ever be bought"),
        (setting("queue_pressure", "for", "59s"), "queue_pressure", "fewer than two samples"),
        (setting("idle_reclaim", "for", "30s"), "idle_reclaim", "fewer than two samples"),
        (setting("cool_down", "max_back_off", "2m"), "cool_down", "max_back_off is below back_off"),
    ],
)
def test_settings_that_contradict_each_other_are_refused_with_both_named(edit: Edit, where: str, says: str) -> None:
    [(place, message, fix)] = problems(edit)
    assert place == where
    assert says in message
    assert fix


@pytest.mark.parametrize(
    ("edit", "where", "says"),
    [
        (setting("queue_pressure", "local_use_at_leest", "85%"), "queue_pressure.local_use_at_leest", "unknown key"),
        (setting("queue_pressure", "local_use_at_least", "850%"), "queue_pressure.local_use_at_least", "850%"),
        (setting("queue_pressure", "local_use_at_least", "nan"), "queue_pressure.local_use_at_least", "percentage"),
        (setting("queue_pressure", "local_use_at_least", True), "queue_pressure.local_use_at_least", "percentage"),
        (setting("queue_pressure", "for", 300), "queue_pressure.for", "not a duration"),
        (setting("queue_pressure", "for", "5 minutes"), "queue_pressure.for", "not a duration"),
        (setting("queue_pressure", "queued_tasks_at_least", 0), "queue_pressure.queued_tasks_at_least", "outside 1"),
        (setting("queue_pressure", "queued_tasks_at_least", "5"), "queue_pressure.queued_tasks_at_least", "a text"),
        (setting("queue_pressure", "min_step_nodes", -1), "queue_pressure.min_step_nodes", "outside 1"),
        (setting("queue_pressure", "min_step_nodes", 2.5), "queue_pressure.min_step_nodes", "whole number"),
        (setting("idle_reclaim", "max_step_nodes", 0), "idle_reclaim.max_step_nodes", "outside 1"),
        (setting("idle_reclaim", "node_idle_for", None), "idle_reclaim.node_idle_for", "is missing"),
        (setting("cool_down", "back_off", "0s"), "cool_down.back_off", "must be above 0"),
        (setting("sampling", "every", "0s"), "sampling.every", "must be above 0"),
        (setting("sampling", "use_signal", "guess"), "sampling.use_signal", "utilization, allocation"),
        (setting("limits", "max_cost_per_hour", "12000"), "limits.max_cost_per_hour", "not money"),
        (setting("limits", "max_cost_per_hour", 12000), "limits.max_cost_per_hour", "not money"),
        (setting("limits", "max_cost_per_hour", "0 CNY"), "limits.max_cost_per_hour", "not a price"),
        (setting("limits", "max_cost_per_hour", "5 XYZ"), "limits.max_cost_per_hour", "unknown currency"),
        (lambda document: document.pop("limits"), "limits", "is missing"),
        (lambda document: document.update(limits=[]), "limits", "expected keys and values"),
        (lambda document: document.update(extra={}), "extra", "unknown key"),
    ],
)
def test_a_bad_setting_is_named_with_its_place_and_a_fix(edit: Edit, where: str, says: str) -> None:
    found = problems(edit)
    assert any(place == where and says in message and fix for place, message, fix in found), found


def test_a_slip_of_the_pen_is_guessed() -> None:
    found = problems(setting("queue_pressure", "local_use_at_leest", "85%"))
    assert ("queue_pressure.local_use_at_leest", "unknown key", "did you mean 'local_use_at_least'?") in found


def test_all_problems_are_told_at_once() -> None:
    def spoil(document: dict[str, Any]) -> None:
        document["sampling"]["every"] = "often"
        document["idle_reclaim"]["for"] = 10
        document["limits"]["max_cloud_nodes"] = "many"

    assert len(problems(spoil)) == 3


def test_a_problem_says_row_and_column() -> None:
    text = SHIPPED.read_text(encoding="utf-8").replace("queued_tasks_at_least: 5", "queued_tasks_at_least: five")
    row = next(number for number, line in enumerate(text.splitlines(), 1) if "five" in line)
    with pytest.raises(InvalidInput, match=f"policy.yaml:{row}:3: queue_pressure.queued_tasks_at_least"):
        parse_policy(*parse_document(text, "policy.yaml"))


def test_what_need_not_be_said_has_a_default() -> None:
    document = deepcopy(GOOD)
    document["sampling"] = {"every": "20s"}
    policy = parsed(document)
    assert policy.sampling.min_valid == Percent(80.0)
    assert policy.sampling.stale_after == timedelta(seconds=80)
    assert policy.sampling.use_signal is UseSignal.UTILIZATION


@pytest.mark.parametrize(
    "edit",
    [
        pytest.param(setting("sampling", "stale_after", "10s"), id="every look is a gap, so that no node is ever idle"),
        pytest.param(setting("queue_pressure", "for", "3h"), id="memory keeps two hours, so that it never bursts"),
        pytest.param(setting("idle_reclaim", "for", "3h"), id="memory keeps two hours, so that nothing goes back"),
    ],
)
def test_settings_under_which_nothing_would_ever_happen_are_refused(edit: Edit) -> None:
    assert problems(edit)


@pytest.mark.parametrize("document", [None, [], "policy", 7])
def test_a_document_of_another_shape_is_refused(document: object) -> None:
    with pytest.raises(InvalidInput):
        parse_policy(document, Findings("policy.yaml"))


@settings(deadline=None)
@given(out=st.integers(0, 100), back=st.integers(0, 100), least=st.integers(1, 30), most=st.integers(1, 30))
def test_no_policy_that_is_let_through_can_do_both_or_never_act(out: int, back: int, least: int, most: int) -> None:
    document = deepcopy(GOOD)
    document["queue_pressure"] |= {"local_use_at_least": f"{out}%", "min_step_nodes": least, "max_step_nodes": most}
    document["idle_reclaim"]["local_use_at_most"] = f"{back}%"
    document["limits"]["max_cloud_nodes"] = 20
    sane = out > back and most >= least and least <= 20
    try:
        parsed(document)
    except InvalidInput:
        assert not sane
    else:
        assert sane
