"""Stack config as Pulumi hands it over: typed, or one clear error; secrets stay secret."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from contract.catalog import Provider
from contract.problems import InvalidInput
from contract.stack_config import BurstConfig, FoundationConfig
from infra.__main__ import main
from infra.config import Inputs, read_inputs
from infra.problems import ProgramProblem
from tests.infra.recorder import STACKS, Recorder, run_under_mocks, set_config, stack_values

Edit = Callable[[dict[str, Any]], object]


def read(stack: str, values: dict[str, Any], secret_keys: tuple[str, ...] = ()) -> Inputs:
    set_config({"spillway:catalog": str(STACKS / "catalog.yaml"), **values}, secret_keys)
    found: list[Inputs] = []
    run_under_mocks(stack, Recorder(), lambda: found.append(read_inputs()))
    return found[0]


def test_burst_stack_is_read() -> None:
    inputs = read("burst-aws", stack_values("burst-aws"))

    assert isinstance(inputs.config, BurstConfig)
    assert inputs.stack == "burst-aws"
    assert inputs.config.provider is Provider.AWS
    assert inputs.config.desired == {"eks-a100-od": 0, "eks-h100-od": 0, "eks-l4-spot": 0}


def test_account_keeps_its_leading_zero() -> None:
    config = read("foundation", stack_values("foundation")).config

    assert isinstance(config, FoundationConfig)
    assert config.clouds[1].account_id == "012345678912"


def test_bgp_key_comes_out_secret_and_nowhere_else() -> None:
    values = stack_values("foundation")
    values["spillway:aws"]["link"]["bgp_key"] = "canary-4711"

    inputs = read("foundation", values, ("spillway:aws",))

    assert "canary-4711" not in repr(inputs.config)
    assert isinstance(inputs.config, FoundationConfig)
    assert [cloud.link.has_bgp_key for cloud in inputs.config.clouds] == [False, True]
    assert list(inputs.bgp_keys) == [Provider.AWS]


def test_clear_bgp_key_is_refused_without_showing_it() -> None:
    values = stack_values("foundation")
    values["spillway:aws"]["link"]["bgp_key"] = "canary-4711"

    with pytest.raises(InvalidInput) as caught:
        read("foundation", values)

    assert "must be encrypted" in str(caught.value)
    assert "canary-4711" not in str(caught.value)


@pytest.mark.parametrize(
    ("stack", "edit", "expected"),
    [
        ("burst-aws", lambda v: v.update({"spillway:desird": {}}), "did you mean 'spillway:desired'"),
        ("burst-aws", lambda v: v["spillway:desired"].update({"eks-a100-od": 17}), "17 is outside 0 to 16"),
        ("burst-aws", lambda v: v["spillway:desired"].update({"eks-a100-od": "3"}), "expected a whole number"),
        ("burst-aws", lambda v: v["spillway:desired"].pop("eks-l4-spot"), "add 'eks-l4-spot: 0'"),
        ("burst-aws", lambda v: v["spillway:desired"].update({"ack-h20-od": 1}), "is not a pool of aws"),
        ("burst-aws", lambda v: v.update({"spillway:cloud": "azure"}), "is not one of"),
        ("burst-aws", lambda v: v.update({"spillway:layer": "brust"}), "is not one of: foundation, burst"),
        ("foundation", lambda v: v["spillway:aws"].update({"account": 12345678912}), "exactly 12 digits"),
        ("foundation", lambda v: v["spillway:aws"]["link"].update({"vlan": 4095}), "4095 is outside 1 to 4094"),
        ("foundation", lambda v: v["spillway:alicloud"]["link"].update({"vlan": 3000}), "outside 1 to 2999"),
        ("foundation", lambda v: v["spillway:aws"]["link"].update({"connection": "pc-1"}), "begin with 'dxcon-'"),
        ("foundation", lambda v: v.update({"spillway:supernet": "10.64.0.1/12"}), "has host bits set"),
    ],
)
def test_bad_config_is_one_clear_error(stack: str, edit: Edit, expected: str) -> None:
    values = stack_values(stack)
    edit(values)

    with pytest.raises(InvalidInput) as caught:
        read(stack, values)

    assert expected in str(caught.value)
    assert f"Pulumi.{stack}.yaml" in str(caught.value)


def test_absent_catalogue_is_named() -> None:
    with pytest.raises(InvalidInput, match="the file does not exist"):
        read("burst-aws", {**stack_values("burst-aws"), "spillway:catalog": "/nowhere/catalog.yaml"})


def test_problem_reaches_pulumi_as_one_diagnostic_without_a_trace() -> None:
    set_config({"spillway:layer": "burst", "spillway:catalog": str(STACKS / "catalog.yaml")})
    caught: list[Exception] = []

    def work() -> None:
        try:
            main()
        except ProgramProblem as error:
            caught.append(error)

    run_under_mocks("burst-aws", Recorder(), work)

    assert isinstance(caught[0], pulumi.RunError)
    assert "spillway:cloud: is missing" in str(caught[0])
