"""I01 (pulumi/pulumi#8776): digits that begin with 0 go through a machine's edit and back, byte for byte."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.act.stack_files import read_stack_file, replace_stack_file
from agent.core.config_change import ConfigChange, edit_desired
from agent.core.decision import PoolChange
from contract.catalog import read_catalog
from contract.problems import InvalidInput
from contract.stack_config import FoundationConfig, parse_stack_config
from contract.units import Nodes
from contract.yaml_document import parse_document

STACKS = Path(__file__).resolve().parents[2] / "stacks"
CHANGE = ConfigChange(
    stack="burst-aws", changes=(PoolChange(pool="eks-l4-spot", stack="burst-aws", before=Nodes(0), after=Nodes(7)),)
)
digits = st.from_regex(r"0[0-9]{0,15}", fullmatch=True).filter(str.isascii)


def a_file(*numbers: str, quote: str = '"') -> str:
    """A stack file that holds the numbers where people put accounts: alone, in a list, in a flow list."""
    quoted = [f"{quote}{number}{quote}" for number in numbers]
    return "\n".join(
        [
            "config:",
            f"  aws:allowedAccountIds: [{', '.join(quoted)}]",
            f"  spillway:account: {quoted[0]}   # keep the zero",
            "  spillway:accounts:",
            *(f"    - {number}" for number in quoted),
            "  spillway:desired:",
            "    eks-l4-spot: 0",
            "",
        ]
    )


@settings(deadline=None)
@given(st.lists(digits, min_size=1, max_size=4), st.sampled_from(['"', "'"]))
def test_digits_in_quotes_stay_texts_through_the_agents_edit(numbers: list[str], quote: str) -> None:
    text = a_file(*numbers, quote=quote)
    edited = edit_desired(text, "f", CHANGE)
    assert edited == text.replace("eks-l4-spot: 0", "eks-l4-spot: 7")
    for read in (parse_document(edited, "f")[0], yaml.safe_load(edited)):
        assert isinstance(read, dict)
        assert read["config"]["aws:allowedAccountIds"] == numbers
        assert read["config"]["spillway:account"] == numbers[0]
        assert read["config"]["spillway:accounts"] == numbers


def test_the_agents_write_reaches_the_disk_with_every_other_byte(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.burst-aws.yaml"
    text = a_file("012345678912", "000000000001").replace("\n", "\r\n")
    path.write_bytes(text.encode())
    before = read_stack_file(path, "burst-aws")
    replace_stack_file(path, "burst-aws", before, edit_desired(before, path.name, CHANGE))
    assert path.read_bytes() == text.replace("eks-l4-spot: 0", "eks-l4-spot: 7").encode()


def test_the_shipped_account_reaches_the_program_with_its_zero() -> None:
    catalog = read_catalog(STACKS / "catalog.yaml")
    document, findings = parse_document((STACKS / "Pulumi.foundation.yaml").read_text(), "Pulumi.foundation.yaml")
    assert isinstance(document, dict)
    config = parse_stack_config(document["config"], findings, catalog)
    assert isinstance(config, FoundationConfig)
    assert [cloud.account_id for cloud in config.clouds] == [None, "012345678912"]


@pytest.mark.parametrize("written", ["12345678912", "012345678912", '"12345678912"', '"0123456789123"', "1e11", "null"])
def test_an_account_that_lost_a_digit_is_refused_at_load_with_its_row(written: str) -> None:
    """Without quotes 012345678912 is eleven digits to many a reader: ours keeps the text, Pulumi's would not."""
    text = (STACKS / "Pulumi.foundation.yaml").read_text()
    spoilt = text.replace('account: "012345678912"', f"account: {written}")
    row = next(number for number, line in enumerate(spoilt.splitlines(), 1) if "account:" in line)
    document, findings = parse_document(spoilt, "Pulumi.foundation.yaml")
    assert isinstance(document, dict)
    if document["config"]["spillway:aws"]["account"] == "012345678912":
        assert written == "012345678912"
        return
    with pytest.raises(InvalidInput, match=re.escape(f"Pulumi.foundation.yaml:{row}:5: config.spillway:aws.account")):
        parse_stack_config(document["config"], findings, read_catalog(STACKS / "catalog.yaml"))
