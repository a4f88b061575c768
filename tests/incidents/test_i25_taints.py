"""I25 (aws-controllers-k8s/community#2047): one neutral row, the taint spelt as each cloud and Kubernetes want it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contract.catalog import read_catalog
from contract.labels import BURST_TAINT, PREEMPTIBLE_TAINT, TaintEffect
from contract.problems import InvalidInput
from tests.infra.recorder import STACKS, run_program, stack_values

# The cloud SDKs warn about classes of their own while they are imported.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_alicloud"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_aws"),
]
# Kubernetes: "Taints and Tolerations"; EKS API: Taint, valid values of effect; ACK API: CreateClusterNodePool.
SPELLINGS = {
    TaintEffect.NO_SCHEDULE: ("NoSchedule", "NO_SCHEDULE", "NoSchedule"),
    TaintEffect.PREFER_NO_SCHEDULE: ("PreferNoSchedule", "PREFER_NO_SCHEDULE", "PreferNoSchedule"),
    TaintEffect.NO_EXECUTE: ("NoExecute", "NO_EXECUTE", "NoExecute"),
}
TOKENS = {"aws": "aws:eks/nodeGroup:NodeGroup", "alicloud": "alicloud:cs/nodePool:NodePool"}
EFFECT = {"aws": "NO_SCHEDULE", "alicloud": "NoSchedule"}


@pytest.mark.parametrize("effect", TaintEffect)
def test_each_effect_has_one_spelling_a_cloud(effect: TaintEffect) -> None:
    assert (effect.value, effect.eks, effect.ack) == SPELLINGS[effect]


@pytest.mark.parametrize("spelt", ["NO_SCHEDULE", "noschedule", "No Schedule", "Noschedule", "", "tainted"])
def test_a_spelling_that_is_not_kubernetes_own_is_refused(spelt: str) -> None:
    with pytest.raises(ValueError, match="is not a valid TaintEffect"):
        TaintEffect(spelt)


@pytest.mark.parametrize("cloud", TOKENS)
def test_one_row_becomes_a_pool_with_the_clouds_own_spelling(cloud: str) -> None:
    rows = {row.pool: row for row in read_catalog(STACKS / "catalog.yaml").pools.values()}
    pools: dict[str, dict[str, Any]] = run_program(f"burst-{cloud}", stack_values(f"burst-{cloud}")).of_type(
        TOKENS[cloud]
    )
    for name, pool in pools.items():
        taints = {taint["key"]: (taint["value"], taint["effect"]) for taint in pool["taints"]}
        wanted = {BURST_TAINT} | ({PREEMPTIBLE_TAINT} if rows[name].is_preemptible else set())
        assert taints == dict.fromkeys(wanted, ("true", EFFECT[cloud]))


def test_the_row_itself_knows_no_clouds_spelling() -> None:
    for row in read_catalog(STACKS / "catalog.yaml").cloud_pools():
        assert all(isinstance(effect, TaintEffect) for _, _, effect in row.node_taints())


def test_a_spelling_in_the_catalogue_is_refused_on_load(tmp_path: Path) -> None:
    """There is no second place to say it: a row's taints follow from its billing."""
    text = (STACKS / "catalog.yaml").read_text(encoding="utf-8")
    file = tmp_path / "catalog.yaml"
    file.write_text(
        text.replace("    billing: spot\n", "    billing: spot\n    taints: [tainted]\n", 1), encoding="utf-8"
    )
    with pytest.raises(InvalidInput, match="taints: unknown key"):
        read_catalog(file)
    file.write_text(text.replace("billing: spot", "billing: spot-tainted", 1), encoding="utf-8")
    with pytest.raises(InvalidInput, match="is not one of"):
        read_catalog(file)
