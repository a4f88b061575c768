"""Values on the wire: whole numbers stay whole, unknowns unknown, secrets secret."""

from __future__ import annotations

from typing import Any

from google.protobuf import struct_pb2
from hypothesis import given
from hypothesis import strategies as st

from sim.providers import wire

SIGNATURE = "4dabf18193072939515e22adb298388d"
SECRET = "1b47061264138c4ac30d75fd1eb44270"
UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
names = st.text(min_size=1, max_size=8).filter(lambda name: name != SIGNATURE)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=8)
values = st.recursive(
    scalars | st.just(wire.UNKNOWN),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
)


def struct(**fields: Any) -> struct_pb2.Struct:
    made = struct_pb2.Struct()
    made.update(fields)
    return made


@given(st.dictionaries(names, values, max_size=5))
def test_what_is_written_reads_back(properties: dict[str, Any]) -> None:
    back, secret = wire.read(wire.write(properties))

    assert back == properties
    assert secret == frozenset()


@given(st.dictionaries(names, values, min_size=1, max_size=4), st.data())
def test_secret_properties_are_marked_and_read_back_in_clear(properties: dict[str, Any], data: st.DataObject) -> None:
    hidden = frozenset(data.draw(st.sets(st.sampled_from(sorted(properties)), max_size=3)))

    back, secret = wire.read(wire.write(properties, hidden))

    assert back == properties
    assert secret == hidden


def test_secret_deep_inside_marks_its_property() -> None:
    inner = {SIGNATURE: SECRET, "value": "canary"}

    properties, secret = wire.read(struct(taints=[{"value": inner}], plain="x"))

    assert properties == {"taints": [{"value": "canary"}], "plain": "x"}
    assert secret == {"taints"}


def test_marks_are_the_sdks_own() -> None:
    from pulumi.runtime import rpc

    assert rpc._special_sig_key == SIGNATURE
    assert rpc._special_secret_sig == SECRET
    assert rpc.UNKNOWN == UNKNOWN_TEXT


def test_whole_numbers_are_whole() -> None:
    properties, _ = wire.read(struct(size=3, share=0.5, flag=True))

    assert {name: type(value) for name, value in properties.items()} == {"size": int, "share": float, "flag": bool}


def test_unknown_is_found_at_any_depth() -> None:
    assert not wire.is_known({"a": [{"b": wire.UNKNOWN}]})
    assert wire.is_known({"a": [{"b": None}]})
    assert repr(wire.UNKNOWN) == "UNKNOWN"
