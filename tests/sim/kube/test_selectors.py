"""Label and field selectors."""

from __future__ import annotations

import pytest

from sim.kube.selectors import label_query, matches, parse_fields, parse_labels
from sim.kube.status import ApiError

LABELS = {"app": "train", "tier": "core", "spillway.dev/pool": "ack"}


@pytest.mark.parametrize(
    ("selector", "wanted"),
    [
        ("", True),
        ("app=train", True),
        ("app==train,tier=core", True),
        ("app=serve", False),
        ("app!=serve", True),
        ("ghost!=x", True),
        ("ghost", False),
        ("!ghost", True),
        ("app in (train, serve)", True),
        ("app notin (train,serve)", False),
        ("ghost notin (x)", True),
        ("spillway.dev/pool=ack,app in (train),!ghost", True),
        ("tier=", False),
    ],
)
def test_label_selector_means_what_kubernetes_means(selector: str, wanted: bool) -> None:
    assert matches(parse_labels(selector), LABELS) is wanted


@pytest.mark.parametrize("selector", ["a=b=c", "app in train", "&&", "app ~ x"])
def test_unreadable_label_selector_is_refused(selector: str) -> None:
    with pytest.raises(ApiError):
        parse_labels(selector)


@pytest.mark.parametrize(("selector", "wanted"), [("x=1", True), ("x!=1", False), ("x=1,y=2", False), ("y!=2", True)])
def test_field_selector_compares(selector: str, wanted: bool) -> None:
    assert matches(parse_fields(selector, frozenset({"x", "y"})), {"x": "1"}) is wanted


@pytest.mark.parametrize("selector", ["z=1", "x", "x>1"])
def test_field_that_is_not_supported_is_refused(selector: str) -> None:
    with pytest.raises(ApiError):
        parse_fields(selector, frozenset({"x"}))


@pytest.mark.parametrize(
    ("operator", "values", "wanted"),
    [("In", ["train"], True), ("NotIn", ["train"], False), ("Exists", None, True), ("DoesNotExist", None, False)],
)
def test_selector_object_is_read(operator: str, values: list[str] | None, wanted: bool) -> None:
    part = {"key": "app", "operator": operator, "values": values}
    selector = {"matchLabels": {"tier": "core"}, "matchExpressions": [part]}
    assert matches(label_query(selector), LABELS) is wanted


def test_empty_selector_object_selects_all() -> None:
    assert matches(label_query({}), LABELS)
