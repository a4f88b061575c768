"""The last gate: one size update a changed pool, nothing else; what cannot be read is refused."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.core.config_change import ConfigChange
from agent.core.decision import PoolChange
from agent.core.guard import Accepted, Preview, PreviewStep, Refused, guard
from contract.units import Nodes

ACK = "alicloud:cs/nodePool:NodePool"
EKS = "aws:eks/nodeGroup:NodeGroup"


def step(
    op: str = "update", name: str = "ack-a100-od", kind: str = ACK, paths: tuple[str, ...] = ("desiredSize",)
) -> PreviewStep:
    return PreviewStep(op=op, urn=f"urn:pulumi:s::spillway::{kind}::{name}", type=kind, paths=paths, sizes=(0, 5))


def preview(*steps: PreviewStep, counts: dict[str, int] | None = None, complete: bool = True) -> Preview:
    told = counts if counts is not None else {"update": 1, "same": 9}
    return Preview(stack="s", steps=steps, counts=tuple(told.items()), is_complete=complete)


def change(*pools: str) -> ConfigChange:
    changes = tuple(PoolChange(pool=pool, stack="s", before=Nodes(0), after=Nodes(5)) for pool in pools)
    return ConfigChange(stack="s", changes=changes)


def test_the_expected_update_alone_is_accepted() -> None:
    verdict = guard(change("ack-a100-od"), preview(step(), step("same", "other")))
    assert isinstance(verdict, Accepted)


def test_the_other_clouds_size_property_is_known_too() -> None:
    eks = step(name="eks-a", kind=EKS, paths=("scalingConfig.desiredSize",))
    assert isinstance(guard(change("eks-a"), preview(eks)), Accepted)


@pytest.mark.parametrize(
    "steps",
    [
        (step("replace"),),
        (step("delete"),),
        (step("create"),),
        (step(), step("create", "new-pool")),
        (step(), step("update", "ack-h20-od")),
        (step(), step("delete", "vpc", "alicloud:vpc/network:Network")),
        (step(paths=("desiredSize", "instanceTypes[0]")),),
        (step(paths=("tags.owner",)),),
        (step(paths=()),),
        (step(kind="alicloud:vpc/switch:Switch"),),
        (step("create-replacement"), step("delete-replaced")),
        (step(), step()),
        (),
    ],
)
def test_any_other_step_is_refused(steps: tuple[PreviewStep, ...]) -> None:
    assert isinstance(guard(change("ack-a100-od"), preview(*steps)), Refused)


def test_a_preview_without_its_summary_is_refused() -> None:
    assert isinstance(guard(change("ack-a100-od"), preview(step(), complete=False)), Refused)


@pytest.mark.parametrize("counts", [{}, {"update": 2}, {"update": 1, "create": 1}, {"update": 1, "unheard-of": 1}])
def test_a_summary_that_counts_otherwise_is_refused(counts: dict[str, int]) -> None:
    assert isinstance(guard(change("ack-a100-od"), preview(step(), counts=counts)), Refused)


def test_a_preview_that_leaves_a_pool_out_is_refused() -> None:
    verdict = guard(change("ack-a100-od", "ack-h20-od"), preview(step(), counts={"update": 2}))
    assert isinstance(verdict, Refused)
    assert "does not change ack-h20-od" in "; ".join(verdict.why)


@pytest.mark.parametrize("sizes", [None, (2, 5), (0, 4), (9, 5)])
def test_a_size_that_was_not_decided_is_refused(sizes: tuple[int, int] | None) -> None:
    """A state that holds another size than the decision began with: busy nodes could go (I22)."""
    assert isinstance(guard(change("ack-a100-od"), preview(replace(step(), sizes=sizes))), Refused)
