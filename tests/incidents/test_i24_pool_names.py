"""I24 (terraform-aws-modules/terraform-aws-eks#1713): names fit each cloud and never collide, known before preview."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contract.catalog import Provider
from infra.naming import pool_name
from tests.infra.recorder import STACKS, run_program, stack_values

# The cloud SDKs warn about classes of their own while they are imported.
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_alicloud"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:pulumi_aws"),
]
# EKS: letters, digits, dash, underscore, from a letter or digit, 63 at most. ACK: 63 at most, letters to dashes.
LEGAL = {Provider.AWS: r"[0-9A-Za-z][0-9A-Za-z_-]{0,62}", Provider.ALICLOUD: r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"}
CLOUDS = tuple(LEGAL)
LONG = "machine-learning-research-and-development-shanghai-burst"
parts = st.text(st.sampled_from("abcXYZ019-_./ é研"), min_size=1, max_size=120).filter(
    lambda text: any(letter.isascii() and letter.isalnum() for letter in text)
)


@pytest.mark.parametrize("cloud", CLOUDS)
def test_a_long_department_site_and_model_make_a_legal_name(cloud: Provider) -> None:
    name = pool_name(cloud, f"{LONG}-prod", f"{LONG[:34]}-h100")
    assert re.fullmatch(LEGAL[cloud], name)
    assert len(name) == 63


@pytest.mark.parametrize("cloud", CLOUDS)
def test_names_equal_in_their_first_fifty_letters_stay_two(cloud: Provider) -> None:
    same = (LONG * 2)[:60]
    names = {pool_name(cloud, "burst", f"{same}-{model}") for model in ("h100", "h200", "h100-spot")}
    assert len(names) == 3


@pytest.mark.parametrize("cloud", CLOUDS)
def test_where_one_part_ends_and_the_next_begins_tells_names_apart(cloud: Provider) -> None:
    assert pool_name(cloud, "burst-a", "b") != pool_name(cloud, "burst", "a-b")


@settings(deadline=None)
@given(st.sampled_from(CLOUDS), parts, parts)
def test_every_name_is_legal_and_the_same_on_every_machine(cloud: Provider, stack: str, pool: str) -> None:
    name = pool_name(cloud, stack, pool)
    assert re.fullmatch(LEGAL[cloud], name), name
    assert name == pool_name(cloud, stack, pool)


@settings(deadline=None)
@given(st.sampled_from(CLOUDS), st.sets(st.tuples(parts, parts), min_size=2, max_size=20))
def test_no_two_pools_share_a_name(cloud: Provider, pairs: set[tuple[str, str]]) -> None:
    assert len({pool_name(cloud, stack, pool) for stack, pool in pairs}) == len(pairs)


@pytest.mark.parametrize(
    ("cloud", "token"), [("aws", "aws:eks/nodeGroup:NodeGroup"), ("alicloud", "alicloud:cs/nodePool:NodePool")]
)
def test_the_program_asks_for_legal_and_different_names(cloud: str, token: str, tmp_path: Path) -> None:
    """Two rows whose names differ in their last letter, in a stack whose name alone fills the limit."""
    first = {"aws": "eks-a100-od", "alicloud": "ack-a100-od"}[cloud]
    second = {"aws": "eks-h100-od", "alicloud": "ack-h20-od"}[cloud]
    twins = {first: f"{LONG[:38]}-a", second: f"{LONG[:38]}-b"}
    text = (STACKS / "catalog.yaml").read_text(encoding="utf-8")
    values = stack_values(f"burst-{cloud}")
    for old, new in twins.items():
        text = text.replace(f"pool: {old}", f"pool: {new}")
        values["spillway:desired"][new] = values["spillway:desired"].pop(old)
    catalog = tmp_path / "catalog.yaml"
    catalog.write_text(text, encoding="utf-8")
    pools = run_program(f"{LONG}-{cloud}", values, catalog=catalog).of_type(token)
    names = [pools[pool].get("nodeGroupName") or pools[pool].get("nodePoolName") for pool in twins.values()]
    assert len(set(names)) == 2
    assert all(isinstance(name, str) and re.fullmatch(LEGAL[Provider(cloud)], name) for name in names)
