"""What an update would change, and when that needs a new resource."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.providers.diffing import Change, compare
from sim.providers.wire import UNKNOWN

EKS = "aws:eks/nodeGroup:NodeGroup"
ACK = "alicloud:cs/nodePool:NodePool"
OLD: dict[str, Any] = {
    "nodeGroupName": "g",
    "clusterName": "gpu",
    "scalingConfig": {"desiredSize": 0, "minSize": 0, "maxSize": 2},
    "labels": {"spillway.dev/pool": "p"},
    "instanceTypes": ["p5.48xlarge"],
}
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1, max_size=3), inner, max_size=3),
)


def changed(token: str = EKS, ignored: frozenset[str] = frozenset(), **change: Any) -> dict[str, tuple[Change, bool]]:
    found = compare(token, OLD, {**OLD, **change}, ignored)
    return {item.path: (item.change, item.is_replacing) for item in found.items}


@given(st.dictionaries(st.text(min_size=1, max_size=4), values, max_size=4))
def test_nothing_differs_from_itself(inputs: dict[str, Any]) -> None:
    assert compare(EKS, inputs, inputs, frozenset()).items == ()


@pytest.mark.parametrize(
    ("change", "path", "expected"),
    [
        (
            {"scalingConfig": {**OLD["scalingConfig"], "desiredSize": 3}},
            "scalingConfig.desiredSize",
            (Change.UPDATE, False),
        ),
        ({"labels": {}}, 'labels["spillway.dev/pool"]', (Change.DELETE, False)),
        ({"tags": {"a": "b"}}, "tags", (Change.ADD, False)),
        ({"instanceTypes": ["p4d.24xlarge"]}, "instanceTypes[0]", (Change.UPDATE, True)),
        ({"instanceTypes": ["p5.48xlarge", "p5e.48xlarge"]}, "instanceTypes[1]", (Change.ADD, True)),
        ({"clusterName": UNKNOWN}, "clusterName", (Change.UPDATE, True)),
        ({"labels": None}, "labels", (Change.DELETE, False)),
    ],
)
def test_change_is_named_by_its_path(change: dict[str, Any], path: str, expected: tuple[Change, bool]) -> None:
    assert changed(**change) == {path: expected}


def test_replacement_under_the_same_name_deletes_first() -> None:
    same = compare(EKS, OLD, {**OLD, "instanceTypes": ["p4d.24xlarge"]}, frozenset())
    renamed = compare(EKS, OLD, {**OLD, "instanceTypes": ["p4d.24xlarge"], "nodeGroupName": "h"}, frozenset())

    assert (same.delete_first, renamed.delete_first) == (True, False)
    assert same.replaces == ["instanceTypes"]


def test_update_in_place_never_deletes() -> None:
    found = compare(EKS, OLD, {**OLD, "labels": {}}, frozenset())

    assert (found.delete_first, found.replaces, found.names) == (False, [], ["labels"])


@pytest.mark.parametrize("ignored", ["scalingConfig", "scalingConfig.desiredSize"])
def test_ignored_path_is_ignored(ignored: str) -> None:
    scaling = {**OLD["scalingConfig"], "desiredSize": 3}

    assert changed(ignored=frozenset({ignored}), scalingConfig=scaling) == {}


def test_ack_pool_can_be_renamed_in_place_and_true_is_not_one() -> None:
    old = {"nodePoolName": "a", "autoRenew": True}
    found = compare(ACK, old, {"nodePoolName": "b", "autoRenew": 1}, frozenset())

    assert [(item.path, item.is_replacing) for item in found.items] == [("nodePoolName", False), ("autoRenew", False)]


def test_relation_has_nothing_but_its_ends() -> None:
    token = "alicloud:cen/transitRouterRouteTableAssociation:TransitRouterRouteTableAssociation"
    found = compare(token, {"dryRun": False}, {"dryRun": True}, frozenset())

    assert found.replaces == ["dryRun"]
