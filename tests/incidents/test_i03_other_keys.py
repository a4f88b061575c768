"""I03 (pulumi/pulumi#8752): changing one key changes no other, whatever a YAML library would make of it."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from agent.core.config_change import ConfigChange, edit_desired
from agent.core.decision import PoolChange
from contract.problems import InvalidInput
from contract.units import Nodes
from contract.yaml_document import parse_document

STACKS = Path(__file__).resolve().parents[2] / "stacks"
# Each is read as something else by one YAML or the other when it loses its quotes.
TRAPS = (
    *("2020_1", "1e3", "on", "off", "yes", "no", "null", "~", "", "true", "012", "0o14", "0x1F", "1_000", "1:30"),
    *(".inf", ".nan", "2026-11-30", "=", "<<", "- a", "a: b", "#no", "{a}", "[b]", "*c", "&d", "!e", "%f", "@g", "`h"),
    *("line\nbreak", "tab\there", " lead", "trail ", "ünïcode", "日本", "'", '"', "\\", "12345678901234567890"),
)
scalars = st.sampled_from(TRAPS)
quoted = st.builds(
    lambda text: yaml.safe_dump(text, default_style='"', width=10_000, allow_unicode=True).strip(), scalars
)
plain = st.sampled_from(
    ["2020_1", "1e3", "on", "null", "012", "1_000", "0x1F", "3", "3.0", "true", "a b", "2026-11-30"]
)
comments = st.sampled_from(["", "  # eks-l4-spot: 0", " # 7 nodes: keep", "  #"])


def change(before: int, after: int, pool: str = "eks-l4-spot") -> ConfigChange:
    sizes = PoolChange(pool=pool, stack="s", before=Nodes(before), after=Nodes(after))
    return ConfigChange(stack="s", changes=(sizes,))


@st.composite
def files(draw: st.DrawFn) -> tuple[str, int]:
    """A stack file full of traps around the machine's key, and the size that it holds."""
    size = draw(st.integers(0, 99))
    before = [
        f"  key:before-{number}: {draw(st.one_of(quoted, plain))}{draw(comments)}"
        for number in range(draw(st.integers(0, 4)))
    ]
    after = [
        f"  key:after-{number}: {draw(st.one_of(quoted, plain))}{draw(comments)}"
        for number in range(draw(st.integers(0, 4)))
    ]
    nested = [
        "  key:nested:",
        f"    eks-l4-spot: {draw(quoted)}",
        "    list:",
        f"      - {draw(quoted)}",
        f"      - {draw(plain)}",
    ]
    desired = ["  spillway:desired:", f"    other: 4{draw(comments)}", f"    eks-l4-spot: {size}{draw(comments)}"]
    blocks = draw(st.permutations([before, nested, desired, after]))
    lines = ["# top", "encryptionsalt: v1:abc=", "config:", *(line for block in blocks for line in block)]
    return draw(st.sampled_from(["\n", "\r\n"])).join([*lines, ""]), size


def without_size(text: str, loader: str) -> object:
    """The whole document as a library reads it, with the edited size blotted out."""
    if loader == "yaml 1.1":
        document = yaml.load(text, yaml.SafeLoader)
    elif loader == "yaml 1.2":
        document = YAML(typ="safe", pure=True).load(io.StringIO(text))
    else:
        document = parse_document(text, "f")[0]
    document["config"]["spillway:desired"]["eks-l4-spot"] = "size"
    return repr(document)


@settings(deadline=None)
@given(files(), st.integers(0, 999))
def test_only_the_digits_of_the_edited_size_differ(file: tuple[str, int], wanted: int) -> None:
    text, size = file
    edited = edit_desired(text, "f", change(size, wanted))
    old, new = text.splitlines(keepends=True), edited.splitlines(keepends=True)
    differing = [(a, b) for a, b in zip(old, new, strict=True) if a != b]
    assert len(differing) == (wanted != size)
    for a, b in differing:
        assert a.replace(f"eks-l4-spot: {size}", f"eks-l4-spot: {wanted}", 1) == b
    for loader in ("yaml 1.1", "yaml 1.2", "ours"):
        assert without_size(text, loader) == without_size(edited, loader)


@settings(deadline=None)
@given(files(), st.integers(0, 999))
def test_an_edit_and_its_way_back_give_the_same_bytes(file: tuple[str, int], wanted: int) -> None:
    text, size = file
    there = edit_desired(text, "f", change(size, wanted))
    assert edit_desired(there, "f", change(wanted, size)) == text


@pytest.mark.parametrize(("stack", "pool"), [("burst-aws", "eks-a100-od"), ("burst-alicloud", "ack-a100-spot")])
def test_the_shipped_files_keep_comments_and_order(stack: str, pool: str) -> None:
    text = (STACKS / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8")
    assert edit_desired(text, "f", change(0, 12, pool)) == text.replace(f"{pool}: 0", f"{pool}: 12")


@pytest.mark.parametrize(
    "desired",
    [
        "    eks-l4-spot: '0'",
        "    eks-l4-spot: 0.0",
        "    eks-l4-spot: 0x0",
        "    eks-l4-spot: 00",
        "    eks-l4-spot: &size 0",
        "    eks-l4-spot: !!str 0",
        "    eks-l4-spot:\n      0",
        "    ? eks-l4-spot\n    : 0",
        "    eks-l4-spot: 0\n    eks-l4-spot: 0",
    ],
)
def test_a_size_in_a_spelling_that_cannot_be_edited_alone_is_refused(desired: str) -> None:
    text = f"config:\n  spillway:desired:\n{desired}\n"
    with pytest.raises(InvalidInput):
        edit_desired(text, "f", change(0, 3))
