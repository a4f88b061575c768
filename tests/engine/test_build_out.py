"""What stands after the first build-out, with the real engine."""

from __future__ import annotations

import pytest
import yaml

from contract.stack_outputs import FoundationOutput
from tests.engine.workbench import ROOT, Workbench


@pytest.mark.parametrize("stack", ["foundation", "burst-aws", "burst-alicloud"])
def test_nothing_is_left_to_do_and_the_clouds_are_as_the_state_has_them(built: Workbench, stack: str) -> None:
    again = built.pulumi("preview", "--refresh", "--stack", stack, "--expect-no-changes")

    assert again.code == 0, again.output


def test_every_output_is_exported(built: Workbench) -> None:
    assert set(built.outputs("foundation")) == {name.value for name in FoundationOutput}


def test_account_keeps_its_zero_on_the_way_to_the_cloud(built: Workbench) -> None:
    """I01: the provider of a stack file with "012345678912" is let in, any other account is not."""
    path = built.stacks / "Pulumi.foundation.yaml"
    before = path.read_text()
    path.write_text(before.replace('"012345678912"', '"112345678912"'))

    refused = built.pulumi("preview", "--stack", "foundation")
    path.write_text(before)

    assert refused.code != 0
    assert "AWS account ID not allowed: 012345678912" in refused.diagnostics


def test_overlap_is_one_error_before_any_cloud_is_asked(built: Workbench) -> None:
    """I04: the two blocks are named; no stack trace, no half-made network."""
    path = built.stacks / "Pulumi.foundation.yaml"
    before = path.read_text()
    path.write_text(before.replace("192.168.0.0/16]", "10.65.0.0/16]"))

    refused = built.pulumi("preview", "--stack", "foundation")
    path.write_text(before)

    assert refused.code != 0
    assert "'aws.vpc' 10.65.0.0/16 overlaps the on-prem range 10.65.0.0/16" in refused.diagnostics
    assert "Traceback" not in refused.output


@pytest.mark.parametrize("stack", ["foundation", "burst-aws", "burst-alicloud"])
def test_stack_init_changes_nothing_but_the_salt(built: Workbench, stack: str) -> None:
    name = f"Pulumi.{stack}.yaml"
    committed = (ROOT / "stacks" / name).read_text()
    used = (built.stacks / name).read_text()

    assert used.startswith(committed)
    assert used.removeprefix(committed).startswith("encryptionsalt: v1:")
    assert "encryptionsalt" not in yaml.safe_load(committed)
