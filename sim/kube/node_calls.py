"""Patch, replace and delete a node: labels, annotations, taints, cordon.

What a client may not change (status, provider id) is left as it is, as the real server does on the
main resource. Must not decide what follows: the world does.
"""

from __future__ import annotations

import json
import re
from typing import Any

from contract.labels import TaintEffect
from sim.kube import kinds
from sim.kube import status as says
from sim.kube.calls import Answer, Call, answer, check_version
from sim.kube.node_object import CORDON_TAINT
from sim.kube.patches import apply_patch
from sim.kube.status import Json
from sim.world.nodes import Node, NodeEdit, Taint
from sim.world.world import World

_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?")
_LABEL_KEY = re.compile(r"([a-z0-9.-]{1,253}/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?")


def patch_node(call: Call, world: World) -> Answer:
    """Any of the three kinds of patch."""
    node = _node(call)
    old = _stored(call)
    new = apply_patch(old, call.any_document(), call.content_type)
    _check_same_version(call, old, new)
    return _edit(call, world, node, new)


def replace_node(call: Call, world: World) -> Answer:
    """Replace the editable parts of a node."""
    node = _node(call)
    new = call.document()
    _check_same_version(call, _stored(call), new)
    return _edit(call, world, node, new)


def delete_node(call: Call, world: World) -> Answer:
    """Delete the object; the machine behind it lives on and costs on."""
    node = _node(call)
    world.delete_node_object(node)
    return answer(says.success({"name": node.name, "kind": "nodes"}))


def _node(call: Call) -> Node:
    node = call.cluster.node(call.place.name)
    if node is None:
        raise says.not_found("nodes", "", call.place.name)
    return node


def _stored(call: Call) -> Json:
    shelf = call.cluster.shelf(kinds.NODE)
    stored: Json = json.loads(shelf.single(shelf.get("", call.place.name)))
    return stored


def _check_same_version(call: Call, old: Json, new: Json) -> None:
    check_version(call, new, int(old["metadata"]["resourceVersion"]), call.place.name)


def _edit(call: Call, world: World, node: Node, new: Json) -> Answer:
    world.edit_node(node, _read_edit(node.name, new))
    shelf = call.cluster.shelf(kinds.NODE)
    return Answer(shelf.single(shelf.get("", node.name)))


def _read_edit(name: str, document: Json) -> NodeEdit:
    metadata, spec = document.get("metadata") or {}, document.get("spec") or {}
    if metadata.get("name", name) != name:
        raise says.bad_request("the name of the object does not match the name on the URL")
    return NodeEdit(
        labels=_labels(name, metadata.get("labels") or {}),
        annotations={str(key): str(value) for key, value in (metadata.get("annotations") or {}).items()},
        taints=_taints(name, spec.get("taints") or []),
        is_unschedulable=bool(spec.get("unschedulable", False)),
    )


def _labels(name: str, labels: dict[str, Any]) -> dict[str, str]:
    for key, value in labels.items():
        if not _LABEL_KEY.fullmatch(key):
            raise says.invalid(
                "Node",
                name,
                "metadata.labels",
                f'Invalid value: "{key}": name part must consist of alphanumeric characters',
            )
        if not isinstance(value, str) or not _LABEL_VALUE.fullmatch(value):
            raise says.invalid(
                "Node",
                name,
                "metadata.labels",
                f'Invalid value: "{value}": a valid label value must start and end alphanumeric',
            )
    return dict(labels)


def _taints(name: str, taints: list[Any]) -> tuple[Taint, ...]:
    read: list[Taint] = []
    for number, taint in enumerate(taints):
        field = f"spec.taints[{number}]"
        if not isinstance(taint, dict) or not taint.get("key"):
            raise says.invalid("Node", name, f"{field}.key", "Required value")
        try:
            effect = TaintEffect(taint.get("effect", ""))
        except ValueError as error:
            known = ", ".join(f'"{member}"' for member in TaintEffect)
            message = f'Unsupported value: "{taint.get("effect")}": supported values: {known}'
            raise says.invalid("Node", name, f"{field}.effect", message) from error
        if taint["key"] != CORDON_TAINT:
            read.append(Taint(taint["key"], taint.get("value") or "", effect))
    if len({(taint.key, taint.effect) for taint in read}) < len(read):
        raise says.invalid("Node", name, "spec.taints", "Duplicate value: taints must be unique by key and effect pair")
    return tuple(read)
