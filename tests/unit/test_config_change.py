"""The edit of a stack file: the digits of the named pools change, every other byte stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.core.config_change import ConfigChange, config_changes, edit_desired
from agent.core.decision import PoolChange
from contract.problems import InvalidInput
from contract.units import Nodes
from tests.builders import a_snapshot, decided, tasks

STACK = """\
# People write here.
encryptionsalt: v1:abc=
config:
  spillway:account: "012345678912"   # keep the zero
  spillway:odd: ["2020_1", "1e3", "on", 'null']
  # MACHINE-EDITED
  spillway:desired:
    ack-a100-od: 0      # cheap
    "ack-spot": 12
    ack-h20-od:   3
  spillway:last: yes
"""


def a_change(**sizes: tuple[int, int]) -> ConfigChange:
    changes = tuple(
        PoolChange(pool=pool.replace("_", "-"), stack="s", before=Nodes(before), after=Nodes(after))
        for pool, (before, after) in sizes.items()
    )
    return ConfigChange(stack="s", changes=changes)


def test_only_the_digits_of_the_named_pools_change() -> None:
    edited = edit_desired(STACK, "f", a_change(ack_a100_od=(0, 10), ack_spot=(12, 7)))
    expected = STACK.replace("ack-a100-od: 0 ", "ack-a100-od: 10 ").replace('"ack-spot": 12', '"ack-spot": 7')
    assert edited == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_line_ends_stay_as_they_are(newline: str) -> None:
    text = STACK.replace("\n", newline)
    assert edit_desired(text, "f", a_change(ack_h20_od=(3, 4))) == text.replace("ack-h20-od:   3", "ack-h20-od:   4")


def test_a_flow_mapping_is_edited_in_place() -> None:
    text = "config: {spillway:desired: {ack-a: 1, ack-a1: 11}, other: 1}\n"
    edited = edit_desired(text, "f", a_change(ack_a1=(11, 2)))
    assert edited == "config: {spillway:desired: {ack-a: 1, ack-a1: 2}, other: 1}\n"


def test_a_size_that_somebody_changed_meanwhile_is_not_overwritten() -> None:
    with pytest.raises(InvalidInput, match="the decision was made on 5"):
        edit_desired(STACK, "f", a_change(ack_a100_od=(5, 10)))


@pytest.mark.parametrize(
    "text",
    [
        "config:\n  other: 1\n",
        "config:\n  spillway:desired: 3\n",
        "config:\n  spillway:desired:\n    ack-a100-od: '0'\n",
        "config:\n  spillway:desired:\n    ack-a100-od: -1\n",
        "config:\n  spillway:desired:\n    ack-a100-od:\n      0\n",
        "[]\n",
    ],
)
def test_a_file_without_plain_sizes_is_refused_unchanged(text: str) -> None:
    with pytest.raises(InvalidInput):
        edit_desired(text, "f", a_change(ack_a100_od=(0, 1)))


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ('"ack\\x2da100-od": 0', "does not stand beside its name"),
        ('"ack\\x2da100-od": 0  # ack-a100-od: 7', "would change more than the desired sizes"),
        ("? ack-a100-od\n    : 0", "does not stand beside its name"),
    ],
    ids=["a name in escapes", "its name in a comment behind it", "a key with a line of its own"],
)
def test_a_size_that_cannot_be_found_beside_its_name_is_refused(line: str, says: str) -> None:
    text = f"config:\n  spillway:desired:\n    {line}\n"
    with pytest.raises(InvalidInput, match=says):
        edit_desired(text, "f", a_change(ack_a100_od=(0, 1)))


names = st.from_regex(r"[a-z]([a-z0-9-]{0,12}[a-z0-9])?", fullmatch=True)


@given(st.dictionaries(names, st.integers(0, 999), min_size=1, max_size=8), st.data())
def test_any_file_differs_in_the_edited_sizes_alone(sizes: dict[str, int], data: st.DataObject) -> None:
    pool = data.draw(st.sampled_from(sorted(sizes)))
    after = data.draw(st.integers(0, 999))
    quote = data.draw(st.sampled_from(["", "'", '"']))
    comment = data.draw(st.sampled_from(["", "  # 7 nodes", " # ünïcode: 3"]))
    lines = [f"    {quote}{name}{quote}: {size}{comment}" for name, size in sizes.items()]
    text = "\n".join(["# top", "config:", "  spillway:desired:", *lines, "  a:b: 'x: 1'", ""])
    change = PoolChange(pool=pool, stack="s", before=Nodes(sizes[pool]), after=Nodes(after))
    edited = edit_desired(text, "f", ConfigChange(stack="s", changes=(change,)))
    old, new = text.splitlines(), edited.splitlines()
    assert len(old) == len(new)
    differing = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert len(differing) == (0 if after == sizes[pool] else 1)
    assert f"{quote}{pool}{quote}: {after}{comment}" in edited


def test_a_decision_over_two_stacks_gives_one_change_each() -> None:
    decision = decided(a_snapshot(queue=tasks(7)))
    assert [change.stack for change in config_changes(decision)] == ["burst-alicloud"]
