"""Growing and shrinking one pool with the real engine: one update, nothing else, every time alike."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from sim.cloud import groups
from sim.cloud.alicloud_kinds import NODE_POOL
from sim.cloud.aws_kinds import NODE_GROUP
from sim.world.group_spec import Group
from tests.engine.conftest import BURST
from tests.engine.workbench import Workbench

POOLS = {"aws": "eks-a100-od", "alicloud": "ack-a100-od"}
KINDS = {"aws": NODE_GROUP, "alicloud": NODE_POOL}
clouds = pytest.mark.parametrize("cloud", ["aws", "alicloud"])


@pytest.fixture(autouse=True)
def back_to_zero(built: Workbench) -> Iterator[None]:
    yield
    for cloud, stack in BURST.items():
        built.set_desired(stack, POOLS[cloud], 0)
        if desired(built, cloud):
            assert built.up(stack, "--refresh").code == 0


def group_of(bench: Workbench, cloud: str) -> Group:
    """The pool's group in the cloud itself."""
    (group,) = (item for item in bench.twin.world.groups.groups() if item.row.pool == POOLS[cloud])
    return group


def desired(bench: Workbench, cloud: str) -> int:
    """What the cloud itself holds."""
    return group_of(bench, cloud).desired


@clouds
def test_change_of_desired_is_one_update_and_every_cycle_is_alike(built: Workbench, cloud: str) -> None:
    """I33: the pool's labels come from the catalogue, so the second growth is like the first."""
    stack, pool = BURST[cloud], POOLS[cloud]
    built.set_desired(stack, pool, 3)
    foreseen = built.pulumi("preview", "--stack", stack)
    seen = []
    for nodes in (3, 0, 3):
        built.set_desired(stack, pool, nodes)
        done = built.up(stack)
        assert done.code == 0, done.output
        assert done.operations == foreseen.operations == {"update": [pool]}
        assert desired(built, cloud) == nodes
        spec = group_of(built, cloud).spec
        seen.append((dict(spec.labels), spec.taints, spec.instance_types))

    assert seen[0] == seen[1] == seen[2]
    assert built.outputs(stack)["pools"][pool]["desired"] == 3


def test_size_set_by_somebody_else_shows_up_and_is_never_ignored(built: Workbench) -> None:
    """I22: config owns desired; eight nodes made past it are a visible difference, not a silent one."""
    built.twin.world.groups.set_desired(group_of(built, "aws").group_id, 8)

    blind = built.pulumi("preview", "--stack", "burst-aws")
    seen = built.pulumi("preview", "--refresh", "--stack", "burst-aws", "--diff")

    assert blind.operations == {}
    assert seen.operations["update"] == [POOLS["aws"]]
    assert "8 => 0" in seen.output
    assert desired(built, "aws") == 8


@clouds
def test_change_of_tags_leaves_the_size_alone(built: Workbench, cloud: str) -> None:
    path = built.stacks / f"Pulumi.{BURST[cloud]}.yaml"
    before = path.read_text()
    path.write_text(before.replace("spillway:department: platform", "spillway:department: research"))

    seen = built.pulumi("preview", "--stack", BURST[cloud], "--diff")
    path.write_text(before)

    assert set(seen.operations) == {"update"}, seen.output
    assert "esiredSize" not in seen.output


@clouds
def test_pool_of_the_cloud_is_what_the_catalogue_says(built: Workbench, cloud: str) -> None:
    world = built.twin.world
    found = [group for group in world.groups.groups() if group.spec.provider.value == cloud]

    for group in found:
        row = world.ground.catalog.pools[group.spec.pool]
        assert group.spec.zones == row.zones
        assert group.spec.is_spot is row.is_preemptible
        assert (group.spec.minimum, group.spec.maximum) == (0, row.quota)
    kind = KINDS[cloud]
    assert len(built.control.store.of_kind(kind)) == len(found) == 3
    assert kind in groups.GROUP_KINDS
