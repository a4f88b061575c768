"""What clouds refuse, with their own codes, as a person at the terminal reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from sim.cloud.aws_kinds import NODE_GROUP
from sim.cloud.mishaps import Mishap
from sim.providers.schema import sdk_version
from sim.world.faults import Fault, FaultKind, Moment, Target
from tests.engine.conftest import BURST
from tests.engine.workbench import Workbench

POOLS = {"aws": "eks-h100-od", "alicloud": "ack-h20-od"}
CODES = {
    ("aws", FaultKind.STOCK_OUT): "InsufficientInstanceCapacity",
    ("aws", FaultKind.QUOTA): "VcpuLimitExceeded",
    ("alicloud", FaultKind.STOCK_OUT): "OperationDenied.NoStock",
    ("alicloud", FaultKind.QUOTA): "QuotaExceed.ElasticQuota",
}


@pytest.mark.parametrize("cloud", ["aws", "alicloud"])
def test_refused_growth_shows_the_code_and_keeps_the_old_size(built: Workbench, cloud: str) -> None:
    stack, pool = BURST[cloud], POOLS[cloud]
    built.set_desired(stack, pool, 2)
    for kind in (FaultKind.STOCK_OUT, FaultKind.QUOTA):
        fault = Fault(name=f"{cloud}-{kind}", kind=kind, target=Target(pool=pool), moment=Moment.ORDER)
        built.twin.world.arm([fault])

        refused = built.up(stack)
        built.twin.world.ground.faults.faults.remove(fault)

        assert refused.code != 0
        assert CODES[cloud, kind] in refused.diagnostics
    built.set_desired(stack, pool, 0)
    assert built.outputs(stack)["pools"][pool]["desired"] == 0


def test_throttled_call_is_repeated_and_goes_through(built: Workbench) -> None:
    mishap = Mishap(operation="read", kind=NODE_GROUP, code="Throttling", times=3)
    built.control.mishaps.ordered.append(mishap)

    done = built.pulumi("preview", "--refresh", "--stack", "burst-aws", "--expect-no-changes")

    assert done.code == 0, done.output
    assert mishap.times == 0


def test_plugin_without_a_twin_says_what_to_do(built: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built, "url", "")

    refused = built.pulumi("preview", "--stack", "burst-alicloud")

    assert refused.code != 0
    assert "spillway twin start" in refused.diagnostics
    assert "Traceback" not in refused.output


def test_plugin_of_a_twin_that_is_gone_says_so(built: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(built, "url", "http://127.0.0.1:9")

    refused = built.pulumi("preview", "--stack", "burst-alicloud")

    assert refused.code != 0
    assert "http://127.0.0.1:9 does not answer" in refused.diagnostics


@pytest.fixture(scope="module")
def probe(built: Workbench, tmp_path_factory: pytest.TempPathFactory) -> Workbench:
    """A second project on the same twin, whose one resource takes any inputs."""
    folder = tmp_path_factory.mktemp("probe")
    project = yaml.safe_load((built.folder / "Pulumi.yaml").read_text())
    project |= {"name": "probe", "main": str(Path(__file__).parent / "probe")}
    (folder / "Pulumi.yaml").write_text(yaml.safe_dump(project))
    for name in ("stacks", "state"):
        (folder / name).mkdir()
    (folder / "home").symlink_to(built.folder / "home")
    bench = Workbench(folder, built.twin, built.control, built.url)
    assert bench.pulumi("stack", "init", "probe").code == 0
    return bench


def ask(bench: Workbench, token: str, inputs: dict[str, Any]) -> str:
    """The diagnostics of a preview of these inputs."""
    provider = token.partition(":")[0]
    path = bench.stacks / "Pulumi.probe.yaml"
    salt = yaml.safe_load(path.read_text())["encryptionsalt"]
    values = {"type": token, "version": sdk_version(provider), "region": "us-east-1", "inputs": json.dumps(inputs)}
    config = {f"probe:{name}": value for name, value in values.items()}
    path.write_text(yaml.safe_dump({"config": config, "encryptionsalt": salt}))
    return bench.pulumi("preview", "--stack", "probe").diagnostics


GROUP: dict[str, Any] = {
    "clusterName": "cloud-gpu-b",
    "nodeGroupName": "g",
    "nodeRoleArn": "arn:aws:iam::012345678912:role/spillway-cloud-gpu-b-node",
    "subnetIds": ["subnet-1"],
    "scalingConfig": {"desiredSize": 0, "minSize": 0, "maxSize": 2},
}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"taints": [{"key": "a", "effect": "NoSchedule"}]}, "NO_SCHEDULE, NO_EXECUTE"),
        ({"nodeGroupName": "x" * 64}, "1 to 63 letters"),
        ({"instanceType": ["p5.48xlarge"]}, "did you mean 'instanceTypes'?"),
    ],
)
def test_wrong_input_is_refused_at_preview(probe: Workbench, change: dict[str, Any], expected: str) -> None:
    """I24, I25: before anything is made, with the property named."""
    assert expected in ask(probe, NODE_GROUP, {**GROUP, **change})
