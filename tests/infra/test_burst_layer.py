"""Burst stacks: one pool per catalogue row, spelt as each cloud wants it, sized by config alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from contract.catalog import PoolRow, Provider, read_catalog
from infra.problems import ProgramProblem
from tests.infra.recorder import FOUNDATION, STACKS, Recorder, run_program, stack_values

EKS = "aws:eks/nodeGroup:NodeGroup"
ACK = "alicloud:cs/nodePool:NodePool"
CATALOG = read_catalog(STACKS / "catalog.yaml")


def burst(cloud: str, **desired: int) -> Recorder:
    values = stack_values(f"burst-{cloud}")
    values["spillway:desired"].update({pool.replace("_", "-"): nodes for pool, nodes in desired.items()})
    return run_program(f"burst-{cloud}", values)


def rows(provider: Provider) -> tuple[PoolRow, ...]:
    return CATALOG.cloud_pools(provider)


def test_eks_stack_has_a_group_for_each_row() -> None:
    groups = burst("aws", eks_l4_spot=5).of_type(EKS)

    assert set(groups) == {row.pool for row in rows(Provider.AWS)}
    for row in rows(Provider.AWS):
        group = groups[row.pool]
        wanted = 5 if row.pool == "eks-l4-spot" else 0
        assert group["scalingConfig"] == {"desiredSize": wanted, "minSize": 0, "maxSize": row.quota}
        assert group["instanceTypes"] == list(row.instance_types)
        assert group["labels"] == row.node_labels()
        assert group["capacityType"] == ("SPOT" if row.is_preemptible else "ON_DEMAND")
        assert len(group["subnetIds"]) == len(row.zones)


def test_ack_stack_has_a_pool_for_each_row() -> None:
    pools = burst("alicloud", ack_a100_od=3).of_type(ACK)

    assert set(pools) == {row.pool for row in rows(Provider.ALICLOUD)}
    for row in rows(Provider.ALICLOUD):
        pool = pools[row.pool]
        assert pool["desiredSize"] == ("3" if row.pool == "ack-a100-od" else "0")
        assert pool["scalingConfig"]["enable"] is False
        assert (pool["scalingConfig"]["minSize"], pool["scalingConfig"]["maxSize"]) == (0, row.quota)
        assert {item["key"]: item["value"] for item in pool["labels"]} == row.node_labels()
        assert pool["spotStrategy"] == ("SpotAsPriceGo" if row.is_preemptible else "NoSpot")
        assert pool["multiAzPolicy"] != "BALANCE"


@pytest.mark.parametrize(("cloud", "token", "spelling"), [("aws", EKS, "NO_SCHEDULE"), ("alicloud", ACK, "NoSchedule")])
def test_taints_are_spelt_as_the_cloud_wants_them(cloud: str, token: str, spelling: str) -> None:
    for group in burst(cloud).of_type(token).values():
        assert {taint["effect"] for taint in group["taints"]} == {spelling}
        assert {taint["key"] for taint in group["taints"]} >= {"spillway.dev/burst"}


@pytest.mark.parametrize(("cloud", "token"), [("aws", EKS), ("alicloud", ACK)])
def test_spot_pools_are_tainted_as_such(cloud: str, token: str) -> None:
    groups = burst(cloud).of_type(token)

    for row in rows(Provider(cloud)):
        keys = {taint["key"] for taint in groups[row.pool]["taints"]}
        assert ("spillway.dev/preemptible" in keys) is row.is_preemptible


@pytest.mark.parametrize(("cloud", "token"), [("aws", EKS), ("alicloud", ACK)])
def test_every_pool_says_who_pays_and_what_made_it(cloud: str, token: str) -> None:
    for pool, group in burst(cloud).of_type(token).items():
        assert group["tags"] == {
            "owner": "spillway",
            "department": "platform",
            "spillway-stack": f"burst-{cloud}",
            "spillway-pool": pool,
        }


def test_eks_provider_acts_in_the_foundations_account_only() -> None:
    provider = burst("aws").one("pulumi:providers:aws")

    assert provider["region"] == "us-east-1"
    assert provider["allowedAccountIds"] == '["012345678912"]'
    assert '"department": "platform"' in provider["defaultTags"]


def test_outputs_tell_the_agent_where_its_nodes_are() -> None:
    pools = burst("alicloud", ack_h20_od=2).outputs["pools"]

    assert pools["ack-h20-od"] == {"nodePoolId": "np-ack-h20-od", "scalingGroup": "asg-ack-h20-od", "desired": 2}
    group = burst("aws").outputs["pools"]["eks-l4-spot"]
    assert group["scalingGroup"] == "asg-eks-l4-spot"
    assert group["nodePoolId"].startswith("burst-aws-eks-l4-spot-")


@pytest.mark.parametrize("stack", ["burst-aws", "burst-alicloud"])
def test_growing_and_shrinking_names_the_same_pools(stack: str) -> None:
    """0 -> 4 -> 0: labels, types and names come from the catalogue, never from a past node (I33)."""
    cloud = stack.removeprefix("burst-")
    pool = rows(Provider(cloud))[0].pool.replace("-", "_")
    token = EKS if cloud == "aws" else ACK

    seen = [_without_size(burst(cloud, **{pool: nodes}).of_type(token)) for nodes in (0, 4, 0)]

    assert seen[0] == seen[1] == seen[2]


def test_zone_that_the_foundation_lacks_is_named() -> None:
    recorder = Recorder(foundation={**FOUNDATION, "eksSubnetIds": {"us-east-1a": "subnet-a"}})

    with pytest.raises(ProgramProblem, match="pool 'eks-l4-spot' wants zone us-east-1b, us-east-1d"):
        run_program("burst-aws", stack_values("burst-aws"), recorder)


def test_two_regions_in_one_stack_are_refused(tmp_path: Path) -> None:
    text = (STACKS / "catalog.yaml").read_text(encoding="utf-8")
    other = tmp_path / "catalog.yaml"
    other.write_text(text.replace("region: us-east-1", "region: us-west-2", 1), encoding="utf-8")

    with pytest.raises(ProgramProblem, match="us-east-1, us-west-2"):
        run_program("burst-aws", stack_values("burst-aws"), catalog=other)


@pytest.mark.parametrize(("cloud", "foreign"), [("aws", "pulumi_alicloud"), ("alicloud", "pulumi_aws")])
def test_burst_program_never_imports_the_other_clouds_sdk(cloud: str, foreign: str) -> None:
    program = (
        "from tests.infra.recorder import run_program, stack_values;"
        f"run_program('burst-{cloud}', stack_values('burst-{cloud}'));"
        f"import sys; sys.exit('{foreign}' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr


def _without_size(pools: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    sized = ("scalingConfig", "desiredSize")
    return {pool: {key: value for key, value in inputs.items() if key not in sized} for pool, inputs in pools.items()}
