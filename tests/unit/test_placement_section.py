"""Section `placement` of the policy file: absent it is the decision matrix of R6.3, and a slip is refused."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from agent.core.codec import from_json, to_json
from agent.core.policy import Policy, explain_policy, parse_policy
from agent.core.rules.placement import DEFAULT, PlacementRules
from contract.catalog import Billing
from contract.fields import Findings
from contract.problems import InvalidInput
from contract.units import Percent
from contract.work import Tier, WorkKind

STACKS = Path(__file__).resolve().parents[2] / "stacks"
GOOD: dict[str, Any] = yaml.safe_load((STACKS / "policies" / "reference.yaml").read_text(encoding="utf-8"))


def parsed(section: Mapping[str, Any] | None) -> PlacementRules:
    document = {key: value for key, value in GOOD.items() if key != "placement"}
    document |= {} if section is None else {"placement": section}
    return parse_policy(document, Findings("policy.yaml")).placement


def test_absent_empty_and_reference_mean_the_same() -> None:
    assert parsed(None) == parsed({}) == parsed(GOOD["placement"]) == DEFAULT


def test_the_matrix_is_r6_3() -> None:
    assert DEFAULT.kinds[WorkKind.PRETRAINING] == (Billing.RESERVED, Billing.ON_DEMAND)
    assert Billing.SPOT not in DEFAULT.kinds[WorkKind.INFERENCE]
    assert Billing.SPOT in DEFAULT.kinds[WorkKind.HPO]
    assert DEFAULT.tiers[Tier.EXPLORATION] == (Billing.SPOT, Billing.OFF_PEAK)
    assert set(DEFAULT.kinds) == set(WorkKind)
    assert set(DEFAULT.tiers) == set(Tier)


def test_every_key_is_read() -> None:
    found = parsed(
        {
            "billing_by_kind": {"pretraining": ["reserved"]},
            "billing_by_tier": {"research": ["spot"]},
            "link_only_sites": ["ali-shanghai"],
            "gang_may_exceed_step": False,
            "checkpoint_every": "30m",
            "stock_penalty": "25%",
        }
    )
    assert found.kinds[WorkKind.PRETRAINING] == (Billing.RESERVED,)
    assert found.kinds[WorkKind.HPO] == DEFAULT.kinds[WorkKind.HPO]
    assert found.tiers[Tier.RESEARCH] == (Billing.SPOT,)
    assert (found.link_only_sites, found.gang_may_exceed_step) == (("ali-shanghai",), False)
    assert (found.checkpoint_every, found.stock_penalty) == (timedelta(minutes=30), Percent(25.0))


@pytest.mark.parametrize(
    ("section", "where", "says"),
    [
        ({"billing_by_kind": {"pretraining": ["spot"]}}, "billing_by_kind.pretraining", "never runs on spot"),
        ({"billing_by_kind": {"hpo": ["owned"]}}, "billing_by_kind.hpo", "'owned' is not one of: reserved"),
        ({"billing_by_kind": {"hpo": []}}, "billing_by_kind.hpo", "is not a list of some of"),
        ({"billing_by_kind": {"hpo": "spot"}}, "billing_by_kind.hpo", "is not a list of some of"),
        ({"billing_by_kind": {"hpo": ["spot", "spot"]}}, "billing_by_kind.hpo", "each once"),
        ({"billing_by_kind": {"training": ["spot"]}}, "billing_by_kind.training", "unknown key"),
        ({"billing_by_tier": {"gold": ["spot"]}}, "billing_by_tier.gold", "unknown key"),
        ({"gang_may_exceed_step": "yes"}, "gang_may_exceed_step", "expected true or false"),
        ({"checkpoint_every": "0s"}, "checkpoint_every", "must be above 0"),
        ({"stock_penalty": "120%"}, "stock_penalty", "is not a percentage"),
        ({"spot": True}, "spot", "unknown key"),
    ],
)
def test_a_slip_is_refused_with_its_place(section: Mapping[str, Any], where: str, says: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parsed(section)
    found = [(item.where, item.message) for item in caught.value.problems]
    assert any(place == f"placement.{where}" and says in message for place, message in found), found


def told(section: Mapping[str, Any] | None) -> str:
    document = {key: value for key, value in GOOD.items() if key != "placement"}
    document |= {} if section is None else {"placement": section}
    return " ".join(dict(explain_policy(parse_policy(document, Findings("policy.yaml"))))["placement"])


def test_it_is_told_in_sentences_also_when_absent() -> None:
    words = told(None)
    assert "reserved ones come first" in words
    assert "Rents for pretraining only reserved, on_demand." in words
    assert "Rents for exploration only spot, off_peak." in words
    assert "for other only" not in words
    assert "data for the link only stays." in words
    assert "rented whole when it comes first" in words


def test_what_is_changed_is_told() -> None:
    words = told({"link_only_sites": ["ali-shanghai"], "gang_may_exceed_step": False})
    assert "data for the link only is read over the link at ali-shanghai." in words
    assert "rented whole" not in words


def test_it_goes_through_the_ledger_and_old_ledgers_read_as_the_default() -> None:
    policy = parse_policy(GOOD, Findings("policy.yaml"))
    stored = to_json(policy)
    assert isinstance(stored, dict)
    read = from_json(Policy, stored)
    assert read == policy
    assert read.placement.kinds[WorkKind.PRETRAINING] == DEFAULT.kinds[WorkKind.PRETRAINING]
    del stored["placement"]
    assert from_json(Policy, stored).placement == DEFAULT
