"""Sections of the policy file that need not be there, the presets, the schema that editors read, and old ledgers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.core.codec import from_json, to_json
from agent.core.memory import Memory
from agent.core.policy import Calendar, Policy, Prewarm, WarmPool, explain_policy, parse_policy, policy_schema
from agent.core.rules.contradictions import unknown_pools
from agent.core.rules.wait_or_pay import Join
from contract.catalog import read_catalog
from contract.fields import Findings
from contract.hours import Weekday
from contract.problems import InvalidInput
from contract.units import Nodes, Percent
from contract.yaml_document import parse_document, read_document

STACKS = Path(__file__).resolve().parents[2] / "stacks"
PRESETS = sorted((STACKS / "policies").glob("*.yaml"))
REFERENCE = STACKS / "policies" / "reference.yaml"
GOOD: dict[str, Any] = yaml.safe_load(REFERENCE.read_text(encoding="utf-8"))
APPROVED: dict[str, Any] = {
    "windows": [
        {
            "name": "monday-rush",
            "weekdays": ["mon"],
            "at": "09:00",
            "length": "3h",
            "lead": "20m",
            "nodes": 4,
            "pools": ["ack-a100-od"],
            "approved_by": "lin",
            "approved_on": "2026-11-20",
        }
    ]
}
Edit = Callable[[dict[str, Any]], object]


def parsed(document: Mapping[str, Any]) -> Policy:
    return parse_policy(document, Findings("policy.yaml"))


def edited(edit: Edit) -> dict[str, Any]:
    document = deepcopy(GOOD)
    edit(document)
    return document


def problems(edit: Edit) -> list[tuple[str, str, str]]:
    with pytest.raises(InvalidInput) as caught:
        parsed(edited(edit))
    return [(item.where, item.message, item.fix) for item in caught.value.problems]


def window(**keys: object) -> Edit:
    """One window in the calendar, all its keys given."""
    return lambda document: document["calendar"].update(windows=[{"name": "w", "length": "4h", **keys}])


def forecast(**keys: object) -> Edit:
    rows = [{key: value for key, value in {**APPROVED["windows"][0], **keys}.items() if value is not None}]
    return lambda document: document.update(prewarm={"windows": rows})


# ---- presets ----


@pytest.mark.parametrize("file", [STACKS / "policy.yaml", *PRESETS], ids=lambda file: file.stem)
def test_every_preset_is_good_and_names_only_pools_of_the_catalogue(file: Path) -> None:
    policy = parse_policy(*read_document(file))
    assert unknown_pools(policy, read_catalog(STACKS / "catalog.yaml")) == ()
    assert {name for name, _ in explain_policy(policy)} >= {"sampling", "queue_pressure", "idle_reclaim", "limits"}


def test_the_reference_is_the_requirements_to_the_letter_and_what_the_shipped_policy_changes() -> None:
    reference = parse_policy(*read_document(REFERENCE))
    month_end, night = reference.calendar.windows
    assert (month_end.rule.last_days_of_month, month_end.nodes, month_end.lead) == (7, 10, timedelta(days=1))
    assert month_end.rule.length == timedelta(days=7)
    assert (night.rule.at, night.rule.length, night.give_back_idle) == (timedelta(hours=2), timedelta(hours=4), True)
    shipped = parse_policy(*read_document(STACKS / "policy.yaml"))
    assert reference.wait_or_pay.join is Join.THRESHOLDS
    assert shipped.wait_or_pay == replace(reference.wait_or_pay, join=Join.BOTH)
    trend = replace(reference.queue_pressure, not_if_falling=Percent(50.0))
    changed = replace(reference, calendar=Calendar(windows=(night,)), wait_or_pay=shipped.wait_or_pay)
    idle = replace(reference.idle_reclaim, spare_after=timedelta(hours=2))
    assert shipped == replace(changed, queue_pressure=trend, idle_reclaim=idle)


def test_the_examples_in_comments_of_the_shipped_policy_are_good() -> None:
    text = (STACKS / "policy.yaml").read_text(encoding="utf-8")
    example = re.compile(r"^( *)# ((?: *)(?:- )?[a-z_]+:.*)$", re.MULTILINE)
    policy = parse_policy(*parse_document(example.sub(r"\1\2", text), "policy.yaml"))
    assert [item.rule.name for item in policy.calendar.windows] == ["month-end", "night", "release"]
    assert policy.prewarm.windows[0].approved_by == "lin"
    assert policy.limits.max_nodes_in == {"eks-h100-od": 4}


# ---- sections ----


def test_what_is_absent_is_off() -> None:
    bare = {key: GOOD[key] for key in ("sampling", "queue_pressure", "idle_reclaim", "cool_down", "limits")}
    policy = parsed(bare)
    assert (policy.calendar, policy.prewarm, policy.warm_pool) == (Calendar(), Prewarm(), WarmPool())
    assert (policy.limits.commit_for, policy.limits.max_nodes_in) == (timedelta(hours=1), {})
    assert (policy.idle_reclaim.keep_at_least, policy.idle_reclaim.weigh_boot) == (timedelta(0), False)


def test_fewer_nodes_go_back_at_once_than_come_unless_said_otherwise() -> None:
    policy = parsed(edited(lambda document: document["idle_reclaim"].pop("max_step_nodes")))
    assert policy.idle_reclaim.max_step == 5 < policy.queue_pressure.max_step


def test_every_key_of_a_window_is_read() -> None:
    made = parsed(
        edited(
            window(
                weekdays=["mon", "fri"],
                not_on=["2026-10-02", date(2026, 10, 1)],
                at="06:30",
                zone="Europe/Berlin",
                keep_nodes=2,
                pools=["ack-a100-od"],
            )
        )
    )
    [found] = made.calendar.windows
    assert found.rule.weekdays == (Weekday.MON, Weekday.FRI)
    assert found.rule.not_on == (date(2026, 10, 1), date(2026, 10, 2))
    assert (found.rule.at, found.rule.zone) == (timedelta(hours=6, minutes=30), "Europe/Berlin")
    assert (found.nodes, found.pools) == (2, ("ack-a100-od",))
    [default] = parsed(edited(window(keep_nodes=2, dates=["2026-12-24"]))).calendar.windows
    assert default.rule.zone == "Asia/Shanghai"


@pytest.mark.parametrize(
    ("edit", "where", "says"),
    [
        (window(keep_nodes=2, give_back_idle=True), "calendar.windows[0]", "must either keep nodes or give"),
        (window(), "calendar.windows[0]", "must either keep nodes or give"),
        (window(keep_nodes=2, weekdays=["mon"], dates=["2026-01-01"]), "calendar.windows[0]", "more than one rule"),
        (window(keep_nodes=2, length="0s"), "calendar.windows[0].length", "is never open"),
        (window(keep_nodes=2, length=None), "calendar.windows[0].length", "is missing"),
        (window(keep_nodes=2, at="2:00"), "calendar.windows[0].at", "not a time of day"),
        (window(keep_nodes=2, at=120), "calendar.windows[0].at", "not a time of day"),
        (window(keep_nodes=2, at="24:00"), "calendar.windows[0].at", "not a time of day"),
        (window(keep_nodes=2, zone="Europe/Berlim"), "calendar.windows[0].zone", "not a time zone"),
        (window(keep_nodes=2, zone="../etc/passwd"), "calendar.windows[0].zone", "not a time zone"),
        (window(keep_nodes=2, weekdays=["monday"]), "calendar.windows[0].weekdays", "is not one of: mon, tue"),
        (window(keep_nodes=2, weekdays=["mon", "mon"]), "calendar.windows[0].weekdays", "each once"),
        (window(keep_nodes=2, weekdays="mon"), "calendar.windows[0].weekdays", "is not a list"),
        (window(keep_nodes=2, dates="2026-01-01"), "calendar.windows[0].dates", "is not a list of dates"),
        (window(keep_nodes=2, dates=["2026-02-30"]), "calendar.windows[0].dates", "day is out of range"),
        (
            window(keep_nodes=2, dates=["2026-01-01"], not_on=["2026-01-01"]),
            "calendar.windows[0].not_on",
            "never opens",
        ),
        (window(keep_nodes=2, last_days_of_month=29), "calendar.windows[0].last_days_of_month", "outside 1 to 28"),
        (window(keep_nodes=41), "calendar", "limits.max_cloud_nodes allows 40"),
        (window(give_back_idle=True, idle_for="30s"), "calendar", "before a second look"),
        (window(give_back_idle=True, idle_for="4h"), "calendar", "nothing would go back"),
        (forecast(approved_by=None), "prewarm.windows[0]", "nobody approved the forecast monday-rush: approved_by"),
        (forecast(approved_by=None, approved_on=None), "prewarm.windows[0]", "approved_by and approved_on missing"),
        (forecast(nodes=None), "prewarm.windows[0].nodes", "is missing"),
        (forecast(name="night"), "prewarm", "two windows are called night"),
        (lambda document: document.update(warm_pool={"nodes": 41}), "warm_pool", "limits allow 40"),
        (lambda document: document["limits"].update(max_nodes_in=[4]), "limits.max_nodes_in", "'pool: nodes'"),
        (lambda document: document["limits"].update(max_nodes_in={"a": "4"}), "limits.max_nodes_in", "not a number"),
        (lambda document: document["limits"].update(commit_for="0s"), "limits.commit_for", "must be above 0"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_key_and_a_fix(edit: Edit, where: str, says: str) -> None:
    found = problems(edit)
    assert any(place == where and says in message and fix for place, message, fix in found), found


def test_a_warm_pool_is_held_against_the_limit_of_its_own_pool_and_against_hasty_returns() -> None:
    def edit(document: dict[str, Any]) -> None:
        document["warm_pool"] = {"nodes": 3, "pool": "ack-a100-od"}
        document["limits"]["max_nodes_in"] = {"ack-a100-od": 2}
        document["idle_reclaim"]["node_idle_for"] = "0s"

    assert [message for _, message, _ in problems(edit)] == [
        "keeps 3 nodes, limits allow 2",
        "idle_reclaim.node_idle_for is 0: what the warm pool lends to a task would be given back between two",
    ]


def test_pools_that_nobody_rents_are_found_wherever_they_are_named() -> None:
    def edit(document: dict[str, Any]) -> None:
        document["limits"]["max_nodes_in"] = {"idc-a100": 2}
        document["warm_pool"] = {"nodes": 1, "pool": "ghost"}
        document["prewarm"] = deepcopy(APPROVED)
        document["prewarm"]["windows"][0]["pools"] = ["gone", "eks-l4-spot"]

    found = unknown_pools(parsed(edited(edit)), read_catalog(STACKS / "catalog.yaml"))
    assert [(item.key, item.says) for item in found] == [
        ("limits", "max_nodes_in names idc-a100, which is no rented pool"),
        ("prewarm", "window monday-rush names gone, which is no rented pool"),
        ("warm_pool", "pool names ghost, which is no rented pool"),
    ]
    assert all("ack-a100-od" in item.fix for item in found)


def test_a_policy_is_explained_in_sentences() -> None:
    def edit(document: dict[str, Any]) -> None:
        document["prewarm"] = deepcopy(APPROVED)
        document["warm_pool"] = {"nodes": 1}
        document["idle_reclaim"] |= {"keep_at_least": "1h", "weigh_boot": True}
        document["limits"]["max_nodes_in"] = {"eks-h100-od": 4}
        document["calendar"]["windows"].append(
            {"name": "gala", "dates": ["2026-12-24"], "not_on": ["2026-12-25"], "length": "6h", "keep_nodes": 1}
        )

    told = " ".join(line for _, lines in explain_policy(parsed(edited(edit))) for line in lines)
    for words in (
        "on the first of each month's last 7 days, at 00:00 Asia/Shanghai for 7d and 1d before, at least 10 nodes",
        "night: every day, at 02:00 Asia/Shanghai for 4h, nodes idle for 5m go back, whatever local use is.",
        "on Mon, at 09:00 UTC for 3h and 20m before, at least 4 nodes of ack-a100-od are rented",
        "A forecast, approved by lin on 2026-11-20.",
        "on 2026-12-24, but not on 2026-12-25, at 00:00",
        "Keeps 1 idle nodes ready in the cheapest pool that is not spot",
        "before it is 1h old",
        "as long as its pool takes to boot",
        "Never rents more than 4 nodes of eks-h100-od.",
    ):
        assert words in told, words


# ---- what older versions stored ----


def test_a_policy_and_a_memory_go_through_the_ledger_and_back() -> None:
    policy = parsed(edited(forecast()))
    assert from_json(Policy, json.loads(json.dumps(to_json(policy)))) == policy
    memory = Memory(replaced={"i-1": "eks-l4-spot"})
    assert from_json(Memory, to_json(memory)) == memory


def test_what_a_ledger_kept_before_these_sections_existed_still_reads() -> None:
    stored = to_json(parsed(edited(lambda document: document.pop("calendar"))))
    assert isinstance(stored, dict)
    for section in ("calendar", "prewarm", "warm_pool"):
        del stored[section]
    limits, reclaim = stored["limits"], stored["idle_reclaim"]
    assert isinstance(limits, dict)
    assert isinstance(reclaim, dict)
    for key in ("max_nodes_in", "commit_for"):
        del limits[key]
    for key in ("keep_at_least", "weigh_boot"):
        del reclaim[key]
    policy = from_json(Policy, stored)
    assert policy.calendar == Calendar()
    assert policy.limits.commit_for == timedelta(hours=1)


# ---- the schema ----


def refusals(schema: Mapping[str, Any], value: Any, place: str = "") -> list[str]:
    """What a JSON schema of our few words has against a value: no validator is among our packages."""
    if "anyOf" in schema:
        return min((refusals(one, value, place) for one in schema["anyOf"]), key=len)
    kinds: dict[str, Any] = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
    }
    fits = isinstance(value, kinds[schema["type"]]) and (schema["type"] == "boolean") == isinstance(value, bool)
    if not fits:
        return [f"{place} is no {schema['type']}"]
    found = [f"{place} is out of bounds"] if not _is_within(schema, value) else []
    if isinstance(value, dict):
        found += [f"{place}.{key} is missing" for key in schema.get("required", ()) if key not in value]
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, schema["additionalProperties"])
            found += refusals(inner, item, f"{place}.{key}") if inner else [f"{place}.{key} is unknown"]
    if isinstance(value, list):
        found += [problem for item in value for problem in refusals(schema["items"], item, f"{place}[]")]
    return found


def _is_within(schema: Mapping[str, Any], value: Any) -> bool:
    if isinstance(value, str):
        return bool(re.search(schema.get("pattern", ""), value)) and value in schema.get("enum", [value])
    if isinstance(value, list):
        return len(value) >= int(schema.get("minItems", 0))
    return isinstance(value, dict) or bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))


def document_of(file: Path) -> Any:
    return json.loads(json.dumps(read_document(file)[0], default=str))


def test_the_schema_beside_the_policy_is_the_generated_one() -> None:
    stored = json.loads((STACKS / "policy.schema.json").read_text(encoding="utf-8"))
    assert stored == policy_schema(), "run: spillway policy schema > stacks/policy.schema.json"


@pytest.mark.parametrize("file", [STACKS / "policy.yaml", *PRESETS], ids=lambda file: file.stem)
def test_the_schema_accepts_every_preset_and_each_names_it(file: Path) -> None:
    assert refusals(policy_schema(), document_of(file)) == []
    first = file.read_text(encoding="utf-8").splitlines()[0]
    named = re.fullmatch(r"# yaml-language-server: \$schema=(.*)", first)
    assert named is not None
    assert (file.parent / named[1]).resolve() == STACKS / "policy.schema.json"


def test_the_schema_accepts_an_approved_forecast() -> None:
    assert refusals(policy_schema(), edited(forecast())) == []


@pytest.mark.parametrize(
    "edit",
    [
        lambda document: document.update(calender={}),
        lambda document: document.pop("limits"),
        lambda document: document["queue_pressure"].update(local_use_at_leest="85%"),
        lambda document: document["queue_pressure"].update({"for": 300}),
        lambda document: document["queue_pressure"].update({"for": "5 minutes"}),
        lambda document: document["queue_pressure"].update(min_step_nodes=0),
        lambda document: document["queue_pressure"].update(local_use_at_least=True),
        lambda document: document["limits"].update(max_cost_per_hour="12000"),
        lambda document: document["limits"].update(max_nodes_in={"a": -1}),
        lambda document: document["sampling"].update(use_signal="guess"),
        window(keep_nodes=2, weekdays=["monday"]),
        window(keep_nodes=2, weekdays=[]),
        window(keep_nodes=2, at="2:00"),
        window(keep_nodes=2, lenght="4h"),
        forecast(approved_by=None),
    ],
)
def test_the_schema_refuses_what_the_reader_refuses(edit: Edit) -> None:
    assert refusals(policy_schema(), edited(edit))
    assert problems(edit)


def test_nothing_warm_is_told_of_a_warm_pool_that_is_off() -> None:
    told = dict(explain_policy(replace(parsed(GOOD), warm_pool=WarmPool(nodes=Nodes(0)))))
    assert "warm_pool" not in told
    named = dict(explain_policy(replace(parsed(GOOD), warm_pool=WarmPool(nodes=Nodes(2), pool="ack-a100-od"))))
    assert "in ack-a100-od" in named["warm_pool"][0]
