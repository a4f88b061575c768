"""The three kinds of patch, on plain documents."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kube.patches import JSON_PATCH, MERGE_PATCH, STRATEGIC_PATCH, apply_patch
from sim.kube.status import ApiError

DOCUMENT = {"metadata": {"labels": {"a": "1", "b/c": "2"}}, "spec": {"list": [1, 2]}}


@pytest.mark.parametrize(
    ("patch", "labels"),
    [
        ({"metadata": {"labels": {"a": None}}}, {"b/c": "2"}),
        ({"metadata": {"labels": {"a": "9"}}}, {"a": "9", "b/c": "2"}),
        ({"metadata": {"labels": {"new": "x"}}}, {"a": "1", "b/c": "2", "new": "x"}),
    ],
)
@pytest.mark.parametrize("kind", [MERGE_PATCH, STRATEGIC_PATCH])
def test_merging_sets_and_takes_away(patch: dict[str, Any], labels: dict[str, str], kind: str) -> None:
    assert apply_patch(DOCUMENT, patch, kind)["metadata"]["labels"] == labels


def test_merging_replaces_lists() -> None:
    assert apply_patch(DOCUMENT, {"spec": {"list": [3]}}, MERGE_PATCH)["spec"]["list"] == [3]


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"op": "add", "path": "/metadata/labels/b~1c", "value": "3"}, "3"),
        ({"op": "replace", "path": "/metadata/labels/b~1c", "value": "4"}, "4"),
    ],
)
def test_json_patch_reaches_keys_with_a_slash(step: dict[str, Any], expected: str) -> None:
    assert apply_patch(DOCUMENT, [step], JSON_PATCH)["metadata"]["labels"]["b/c"] == expected


@pytest.mark.parametrize(
    ("step", "expected"),
    [
        ({"op": "add", "path": "/spec/list/-", "value": 9}, [1, 2, 9]),
        ({"op": "add", "path": "/spec/list/0", "value": 9}, [9, 1, 2]),
        ({"op": "remove", "path": "/spec/list/0"}, [2]),
        ({"op": "replace", "path": "/spec/list/1", "value": 9}, [1, 9]),
        ({"op": "test", "path": "/spec/list/1", "value": 2}, [1, 2]),
    ],
)
def test_json_patch_works_on_lists(step: dict[str, Any], expected: list[int]) -> None:
    assert apply_patch(DOCUMENT, [step], JSON_PATCH)["spec"]["list"] == expected


@pytest.mark.parametrize(
    "step",
    [
        {"op": "replace", "path": "/metadata/ghost", "value": 1},
        {"op": "remove", "path": "/spec/list/7"},
        {"op": "add", "path": "/spec/list/x", "value": 1},
        {"op": "add", "path": "/ghost/deep", "value": 1},
        {"op": "add", "path": "", "value": {}},
        {"op": "move", "path": "/spec", "from": "/metadata"},
        {"path": 3},
    ],
)
def test_json_patch_that_cannot_apply_is_refused_and_changes_nothing(step: dict[str, Any]) -> None:
    before = copy.deepcopy(DOCUMENT)
    with pytest.raises(ApiError):
        apply_patch(DOCUMENT, [step], JSON_PATCH)
    assert before == DOCUMENT


def test_strategic_merge_goes_by_key_where_core_v1_does() -> None:
    document = {"status": {"conditions": [{"type": "Ready", "status": "True"}, {"type": "Disk", "status": "False"}]}}
    patch = {"status": {"conditions": [{"type": "Ready", "status": "False"}, {"type": "Disk", "$patch": "delete"}]}}
    patched = apply_patch(document, patch, STRATEGIC_PATCH)
    assert patched["status"]["conditions"] == [{"type": "Ready", "status": "False"}]
    with pytest.raises(ApiError, match="merge key"):
        apply_patch(document, {"status": {"conditions": [{"status": "x"}]}}, STRATEGIC_PATCH)


def test_strategic_merge_may_replace_a_map() -> None:
    patch = {"metadata": {"labels": {"$patch": "replace", "only": "me"}}}
    assert apply_patch(DOCUMENT, patch, STRATEGIC_PATCH)["metadata"]["labels"] == {"only": "me"}


values = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.dictionaries(st.text(max_size=2), inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)
documents = st.dictionaries(st.text(max_size=2), values, max_size=4)


@given(documents, documents)
def test_merge_patch_never_changes_its_input_and_repeats(document: dict[str, Any], patch: dict[str, Any]) -> None:
    before = copy.deepcopy(document)
    once = apply_patch(document, patch, MERGE_PATCH)
    assert document == before
    assert apply_patch(once, patch, MERGE_PATCH) == once
