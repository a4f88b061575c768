"""State and cloud apart: deleted behind the state, or made and never recorded (I10)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest

from sim.cloud.alicloud_kinds import NODE_POOL
from sim.cloud.aws_kinds import NODE_GROUP
from sim.cloud.mishaps import Mishap
from sim.world.group_spec import Group
from tests.engine.workbench import Workbench

KINDS = {"burst-aws": (NODE_GROUP, "eks-l4-spot"), "burst-alicloud": (NODE_POOL, "ack-a100-spot")}
stacks = pytest.mark.parametrize("stack", list(KINDS))


def resource_id(bench: Workbench, kind: str, pool: str) -> str:
    """The id in the cloud of a pool's resource."""
    (group,) = (item for item in bench.twin.world.groups.groups() if item.row.pool == pool)
    return next(item.id for item in bench.control.store.of_kind(kind) if item.id.endswith(group.group_id))


@stacks
def test_pool_deleted_behind_the_state_is_seen_gone_and_made_again(built: Workbench, stack: str) -> None:
    kind, pool = KINDS[stack]
    built.control.vanish(kind, resource_id(built, kind, pool))

    blind = built.pulumi("preview", "--stack", stack)
    refreshed = built.pulumi("refresh", "--stack", stack, "--yes")
    again = built.up(stack)

    assert blind.operations == {}
    assert refreshed.code == 0, refreshed.output
    assert again.operations == {"create": [pool]}, again.output
    assert resource_id(built, kind, pool)


def test_kill_after_the_cloud_made_the_pool_never_ends_with_two(built: Workbench) -> None:
    """I10: the state remembers a create that it cannot finish; the pool is found, imported, kept."""
    kind, pool = KINDS["burst-aws"]
    own_id = resource_id(built, kind, pool)
    built.control.vanish(kind, own_id)
    built.pulumi("refresh", "--stack", "burst-aws", "--yes")
    built.control.mishaps.ordered.append(Mishap(operation="create", kind=kind, hold_s=5))
    run = built.start("up", "--stack", "burst-aws", "--yes", "--skip-preview")
    wait_until(lambda: bool(pools_made(built, pool)))
    run.kill()
    run.communicate()

    locked = built.up("burst-aws")
    built.pulumi("cancel", "--stack", "burst-aws", "--yes")
    urn = f"urn:pulumi:burst-aws::spillway::spillway:aws:EksGpuPool${kind}::{pool}"
    adopted = adopt_pending(built, "burst-aws", own_id)
    found = built.pulumi("refresh", "--stack", "burst-aws", "--yes")
    after = built.pulumi("preview", "--stack", "burst-aws", "--expect-no-changes")

    assert "the stack is currently locked" in locked.output
    assert adopted == [urn]
    assert found.code == 0, found.output
    assert after.code == 0, after.output
    assert len(pools_made(built, pool)) == 1


def test_pool_that_the_state_does_not_know_is_refused_and_not_doubled(built: Workbench) -> None:
    kind, pool = KINDS["burst-alicloud"]
    built.control.vanish(kind, resource_id(built, kind, pool))
    built.pulumi("refresh", "--stack", "burst-alicloud", "--yes")
    built.control.mishaps.ordered.append(Mishap(operation="create", kind=kind, http_status=500, after=True))

    lost = built.up("burst-alicloud")
    again = built.up("burst-alicloud")
    made = len(pools_made(built, pool))
    built.control.vanish(kind, resource_id(built, kind, pool))
    healed = built.up("burst-alicloud")

    assert "InternalFailure" in lost.diagnostics
    assert "is already exist in cluster" in again.diagnostics
    assert made == 1
    assert healed.code == 0, healed.output


def adopt_pending(bench: Workbench, stack: str, own_id: str) -> list[str]:
    """Make the only pending create a resource of the state, as if its answer had come.

    `pulumi refresh --import-pending-creates` of CLI 3.274 forgets the operation instead.
    """
    state = json.loads(bench.pulumi("stack", "export", "--stack", stack).output)
    pending = state["deployment"].pop("pending_operations")
    (resource,) = (item["resource"] for item in pending)
    state["deployment"]["resources"].append({**resource, "id": own_id})
    path = bench.folder / "adopted.json"
    path.write_text(json.dumps(state))
    assert bench.pulumi("stack", "import", "--stack", stack, "--file", str(path)).code == 0
    return [resource["urn"]]


def pools_made(bench: Workbench, pool: str) -> list[Group]:
    """The pool's groups in the cloud."""
    return [group for group in bench.twin.world.groups.groups() if group.row.pool == pool]


def wait_until(is_so: Callable[[], bool]) -> None:
    """Until it is so, ten seconds at most."""
    deadline = time.monotonic() + 10
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)
