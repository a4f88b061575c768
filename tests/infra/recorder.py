"""Runs the program against Pulumi's mocks and keeps what it asked for.

Mocks test wiring only: no provider looks at the inputs. What a cloud would say is for tests/engine.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pulumi.runtime import config as raw
from pulumi.runtime import mocks

from contract.stack_outputs import FoundationOutput
from infra.__main__ import build
from infra.config import read_inputs

STACKS = Path(__file__).resolve().parents[2] / "stacks"
SECRET = "4dabf18193072939515e22adb298388d"
ROLE = "arn:aws:iam::012345678912:role/nodes"
FOUNDATION: dict[str, object] = {
    FoundationOutput.ACK_CLUSTER_ID.value: "c" + "0" * 32,
    FoundationOutput.ACK_VSWITCH_IDS.value: {"cn-shanghai-l": "vsw-l", "cn-shanghai-m": "vsw-m"},
    FoundationOutput.EKS_CLUSTER_NAME.value: "cloud-gpu-b",
    FoundationOutput.EKS_NODE_ROLE_ARN.value: ROLE,
    FoundationOutput.EKS_SUBNET_IDS.value: {f"us-east-1{zone}": f"subnet-{zone}" for zone in "abd"},
}


@dataclass
class Recorder(mocks.Mocks):
    """Answers with made-up ids and remembers each resource."""

    foundation: Mapping[str, object] = field(default_factory=lambda: dict(FOUNDATION))
    resources: list[mocks.MockResourceArgs] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], list[tuple[str, str]] | None]:
        raise AssertionError(f"the program calls {args.token}")

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        if args.typ == "pulumi:pulumi:StackReference":
            return args.name, {**args.inputs, "outputs": dict(self.foundation)}
        self.resources.append(args)
        made = {"arn": f"arn:aws:iam::012345678912:role/{args.name}"}
        return f"{args.name}-id", {**args.inputs, **made, **_ids(args)}

    def of_type(self, token: str) -> dict[str, dict[str, Any]]:
        """Inputs of all resources of a type, by name."""
        return {item.name: item.inputs for item in self.resources if item.typ == token}

    def one(self, token: str) -> dict[str, Any]:
        """Inputs of the only resource of a type."""
        (found,) = self.of_type(token).values()
        return found


def _ids(args: mocks.MockResourceArgs) -> dict[str, object]:
    if args.typ == "aws:eks/nodeGroup:NodeGroup":
        return {"resources": [{"autoscalingGroups": [{"name": f"asg-{args.name}"}]}]}
    if args.typ == "alicloud:cs/nodePool:NodePool":
        return {"nodePoolId": f"np-{args.name}", "scalingGroupId": f"asg-{args.name}"}
    return {}


def stack_values(stack: str) -> dict[str, Any]:
    """The config of a stack file of the example company."""
    document = yaml.safe_load((STACKS / f"Pulumi.{stack}.yaml").read_text(encoding="utf-8"))
    return dict(document["config"])


def run_program(
    stack: str,
    values: Mapping[str, Any],
    recorder: Recorder | None = None,
    secret_keys: tuple[str, ...] = (),
    catalog: Path = STACKS / "catalog.yaml",
) -> Recorder:
    """Run a stack with this config; the exported outputs are resolved into the recorder."""
    kept = recorder or Recorder()
    set_config({**values, "spillway:catalog": str(catalog)}, secret_keys)

    def work() -> object:
        return pulumi.Output.all(**build(read_inputs())).apply(kept.outputs.update)

    run_under_mocks(stack, kept, work)
    return kept


def set_config(values: Mapping[str, Any], secret_keys: tuple[str, ...] = ()) -> None:
    """Hand the config over as the language host does: texts, and JSON for the rest."""
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in values.items()}
    raw.set_all_config(texts, list(secret_keys))


def run_under_mocks(stack: str, recorder: Recorder, work: Callable[[], object]) -> None:
    """Run a piece of a program to its end; its exceptions come out."""
    mocks.set_mocks(recorder, project="spillway", stack=stack, preview=False, organization="organization")
    run_to_the_end: Callable[[Callable[[], object]], Callable[[], None]] = mocks.test
    run_to_the_end(work)()
