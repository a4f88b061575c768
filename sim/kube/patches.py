"""The three kinds of patch that clients send: JSON patch, merge patch, strategic merge patch.

RFC 6902 and RFC 7386; strategic merging knows the lists that core/v1 merges by key among the kinds
served here (a node's taints are atomic there, conditions go by type). Pure: gives a new document.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from sim.kube.status import Json, bad_request, unsupported_patch

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
_MERGE_KEYS = {"conditions": "type", "addresses": "type", "ownerReferences": "uid"}


def apply_patch(document: Json, patch: object, content_type: str) -> Json:
    """The document after the patch; raises ApiError 400 or 415."""
    kind = content_type.partition(";")[0].strip()
    if kind == JSON_PATCH:
        return _json_patch(copy.deepcopy(document), patch)
    if kind not in (MERGE_PATCH, STRATEGIC_PATCH):
        raise unsupported_patch(kind)
    if not isinstance(patch, Mapping):
        raise bad_request("the patch is not an object")
    return _merge(document, patch, is_strategic=kind == STRATEGIC_PATCH)


def _merge(document: object, patch: Mapping[str, Any], *, is_strategic: bool) -> Json:
    result = dict(document) if isinstance(document, Mapping) else {}
    if is_strategic and patch.get("$patch") == "replace":
        return {key: value for key, value in patch.items() if key != "$patch"}
    for key, value in patch.items():
        if key.startswith("$") and is_strategic:
            continue
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            result[key] = _merge(result.get(key), value, is_strategic=is_strategic)
        elif is_strategic and key in _MERGE_KEYS and isinstance(value, list):
            result[key] = _merge_list(result.get(key) or [], value, _MERGE_KEYS[key])
        else:
            result[key] = value
    return result


def _merge_list(old: list[Any], new: list[Any], key: str) -> list[Any]:
    merged = {item[key]: item for item in old}
    for item in new:
        if not isinstance(item, Mapping) or key not in item:
            raise bad_request(f"map does not contain declared merge key: {key}")
        if item.get("$patch") == "delete":
            merged.pop(item[key], None)
        else:
            merged[item[key]] = _merge(merged.get(item[key]), item, is_strategic=True)
    return list(merged.values())


def _json_patch(document: Json, patch: object) -> Json:
    if not isinstance(patch, list):
        raise bad_request("a JSON patch is a list of operations")
    for step in patch:
        if not isinstance(step, Mapping) or not isinstance(step.get("path"), str):
            raise bad_request("an operation needs op and path")
        _one_step(document, step)
    return document


def _one_step(document: Json, step: Mapping[str, Any]) -> None:
    path = [_unescape(part) for part in step["path"].split("/")[1:]]
    if not path:
        raise bad_request("the whole document cannot be patched")
    parent, last = _walk(document, path[:-1]), path[-1]
    match step.get("op"):
        case "add":
            _add(parent, last, step.get("value"))
        case "replace":
            _get(parent, last)
            _put(parent, last, step.get("value"))
        case "remove":
            _get(parent, last)
            del parent[_index(parent, last)]
        case "test":
            if _get(parent, last) != step.get("value"):
                raise bad_request(f"testing value {step['path']} failed")
        case other:
            raise bad_request(f"Unexpected kind: {other}")


def _walk(document: Any, path: list[str]) -> Any:
    for part in path:
        document = _get(document, part)
    return document


def _get(parent: Any, key: str) -> Any:
    try:
        return parent[_index(parent, key)]
    except (KeyError, IndexError, TypeError) as error:
        raise bad_request(f"error in patch: missing value at {key!r}") from error


def _add(parent: Any, key: str, value: object) -> None:
    if not isinstance(parent, list):
        _put(parent, key, value)
    elif key == "-":
        parent.append(value)
    else:
        parent.insert(int(_index(parent, key)), value)


def _put(parent: Any, key: str, value: object) -> None:
    if not isinstance(parent, (dict, list)):
        raise bad_request(f"error in patch: {key!r} has no parent")
    parent[_index(parent, key)] = value


def _index(parent: Any, key: str) -> Any:
    if not isinstance(parent, list):
        return key
    if not key.isdigit() or int(key) > len(parent):
        raise bad_request(f"error in patch: {key!r} is not an index")
    return int(key)


def _unescape(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
