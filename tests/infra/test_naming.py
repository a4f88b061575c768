"""Names: within each cloud's limits, stable, and never the same for two things (I24)."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contract.catalog import Provider
from infra.naming import BadName, Kind, cloud_name, pool_name, tags

LIMITS = {Provider.AWS: 63, Provider.ALICLOUD: 63}
GROUP_NAME = {
    Provider.AWS: re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]*"),
    Provider.ALICLOUD: re.compile(r"[0-9a-z]([0-9a-z-]*[0-9a-z])?"),
}
pools = st.from_regex(r"[a-z]([a-z0-9-]{0,38}[a-z0-9])?", fullmatch=True)
stacks = st.from_regex(r"[a-z]([a-z0-9._-]{0,98}[a-z0-9])?", fullmatch=True)
clouds = st.sampled_from([Provider.AWS, Provider.ALICLOUD])


@given(clouds, stacks, pools)
def test_pool_name_is_one_that_its_cloud_accepts(cloud: Provider, stack: str, pool: str) -> None:
    name = pool_name(cloud, stack, pool)

    assert len(name) <= LIMITS[cloud]
    assert GROUP_NAME[cloud].fullmatch(name)


@given(clouds, st.lists(st.tuples(stacks, pools), min_size=2, max_size=20, unique=True))
def test_no_two_pools_share_a_name(cloud: Provider, wanted: list[tuple[str, str]]) -> None:
    names = {pool_name(cloud, stack, pool) for stack, pool in wanted}

    assert len(names) == len(wanted)


def test_names_that_differ_after_the_limit_stay_apart() -> None:
    long = "department-of-large-language-models-" * 3

    first = pool_name(Provider.AWS, f"{long}a", "h100")
    second = pool_name(Provider.AWS, f"{long}b", "h100")

    assert first != second
    assert first[:54] == second[:54]


def test_dash_between_stack_and_pool_does_not_confuse() -> None:
    assert pool_name(Provider.AWS, "burst", "aws-h100") != pool_name(Provider.AWS, "burst-aws", "h100")


def test_name_is_the_same_on_every_machine() -> None:
    assert pool_name(Provider.AWS, "burst-aws", "eks-l4-spot") == "burst-aws-eks-l4-spot-e78c9ca8"


@given(st.sampled_from(Kind), st.text(min_size=1, max_size=300), st.sampled_from("a9"))
def test_any_text_becomes_a_short_plain_name(kind: Kind, text: str, sign: str) -> None:
    name = cloud_name(kind, f"{text}{sign}")

    assert re.fullmatch(r"[a-z0-9]([a-z0-9/._-]*[a-z0-9])?", name)
    assert len(name) <= 256


def test_short_plain_name_is_left_alone() -> None:
    assert cloud_name(Kind.EKS_CLUSTER, "cloud-gpu-b") == "cloud-gpu-b"


def test_letters_that_are_taken_out_still_tell_names_apart() -> None:
    assert cloud_name(Kind.EKS_CLUSTER, "GPU A") != cloud_name(Kind.EKS_CLUSTER, "gpu_a")


def test_repository_keeps_its_path() -> None:
    assert cloud_name(Kind.ECR_REPOSITORY, "spillway/train") == "spillway/train"


def test_name_without_a_single_letter_is_refused() -> None:
    with pytest.raises(BadName, match="EKS_CLUSTER"):
        cloud_name(Kind.EKS_CLUSTER, "___")


def test_tags_say_whose_it_is_and_who_pays() -> None:
    assert tags("burst-aws", "research", "eks-l4-spot") == {
        "owner": "spillway",
        "department": "research",
        "spillway-stack": "burst-aws",
        "spillway-pool": "eks-l4-spot",
    }
    assert "spillway-pool" not in tags("foundation", "shared")
