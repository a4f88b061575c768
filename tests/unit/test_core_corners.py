"""The corners of the core that only a broken file, store or picture reaches: each is an error or a typed outcome."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from agent.core.codec import CodecError, from_json, to_json
from agent.core.config_change import ConfigChange, desired_sizes, edit_desired
from agent.core.decision import PoolChange
from agent.core.recheck import Withdrawn, recheck
from contract.problems import InvalidInput
from contract.units import Nodes
from contract.yaml_document import parse_document
from tests.builders import a_snapshot, decided, tasks


def test_a_value_of_no_known_kind_cannot_be_stored() -> None:
    with pytest.raises(CodecError, match="cannot be stored"):
        to_json(object())


@pytest.mark.parametrize(
    ("kind", "stored"),
    [(tuple[int, str], [1]), (timedelta, "1h")],
)
def test_a_stored_value_of_another_shape_is_refused(kind: Any, stored: object) -> None:
    with pytest.raises(CodecError):
        from_json(kind, stored)


def test_a_whole_number_reads_as_the_float_that_it_is() -> None:
    assert from_json(float, 3) == 3.0


@pytest.mark.parametrize("size", ["-1", "true", "'3'"])
def test_a_size_that_is_no_number_of_nodes_is_refused(size: str) -> None:
    value, findings = parse_document(f"config:\n  spillway:desired: {{pool: {size}}}\n", "f.yaml")
    with pytest.raises(InvalidInput, match="not a number of nodes"):
        desired_sizes(value, findings)


def test_a_pool_that_went_out_of_sight_withdraws_the_decision() -> None:
    snapshot = a_snapshot(queue=tasks(7))
    decision = decided(snapshot)
    assert isinstance(recheck(decision, replace(snapshot, pools=())), Withdrawn)


def test_a_pool_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="nowhere"):
        a_snapshot().pool("nowhere")


def test_a_size_that_stands_elsewhere_than_beside_its_name_is_refused() -> None:
    text = "config:\n  spillway:desired:\n    ack-a100-od:\n      3\n"
    grown = PoolChange(pool="ack-a100-od", stack="burst-alicloud", before=Nodes(3), after=Nodes(5))
    with pytest.raises(InvalidInput, match="does not stand beside its name"):
        edit_desired(text, "f.yaml", ConfigChange(stack="burst-alicloud", changes=(grown,)))
