"""The policy beside its catalogue: what is good alone and names what the catalogue does not have is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agent.bootstrap import read_policy
from contract.catalog import read_catalog
from contract.problems import InvalidInput

STACKS = Path(__file__).resolve().parents[2] / "stacks"
CATALOG = read_catalog(STACKS / "catalog.yaml")


def test_the_shipped_policy_and_catalogue_go_together() -> None:
    assert read_policy(STACKS / "policy.yaml", CATALOG).limits.max_cloud_nodes > 0


def test_pools_that_nobody_rents_keep_the_agent_from_starting(tmp_path: Path) -> None:
    document = yaml.safe_load((STACKS / "policy.yaml").read_text(encoding="utf-8"))
    document["limits"]["max_nodes_in"] = {"ack-a100-odd": 3}
    document["warm_pool"] = {"nodes": 1, "pool": "idc-a100"}
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.safe_dump(document), encoding="utf-8")
    with pytest.raises(InvalidInput) as caught:
        read_policy(file, CATALOG)
    assert [(item.where, item.message) for item in caught.value.problems] == [
        ("limits", "max_nodes_in names ack-a100-odd, which is no rented pool"),
        ("warm_pool", "pool names idc-a100, which is no rented pool"),
    ]
    assert all("ack-a100-od" in item.fix for item in caught.value.problems)
