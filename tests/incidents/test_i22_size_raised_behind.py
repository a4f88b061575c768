"""I22 (pulumi/pulumi#16391): a size that somebody raised past Pulumi is never pushed back to an old number.

In this design Pulumi owns the desired size and nothing is ignored, so that a person's `pulumi up` shows
"9 => 2" in its preview. What must hold for the agent: a pool whose cloud holds more machines than its
stack file says is nobody's ground to decide on. No growth, no shrink, until a person has settled it.
"""

from __future__ import annotations

from datetime import timedelta

import pytest

from agent.core.config_change import ConfigChange, config_changes
from agent.core.decision import Action, PoolChange
from agent.core.guard import Accepted, Preview, PreviewStep, Refused, guard
from contract.pool_resources import ACK_POOL
from contract.units import Nodes
from tests.builders import a_node, a_pool, a_snapshot, decided, tasks
from tests.incidents.engine_bench import POOL, Driven
from tests.incidents.stage import StageHand
from tests.sim.builders import a_job

STACK = "burst-aws"
PRIME = POOL[STACK]
FILL = a_job("fill", gpus=16, duration_s=9e5)


@pytest.mark.parametrize("waiting", [0, 2, 12], ids=["nobody waits", "two wait", "a crowd waits"])
def test_nine_nodes_stay_though_the_file_says_two(hand: StageHand, waiting: int) -> None:
    stage = hand.stage("eks-h100")
    stage.submit(FILL, *(a_job(f"task-{number}", duration_s=9e5) for number in range(2)))
    stage.run_until(lambda: len(stage.busy()) == 2)
    stage.world.groups.set_desired(stage.group.group_id, 9)
    stage.submit(*(a_job(f"more-{number}", duration_s=9e5) for number in range(waiting)))
    stage.run_for(timedelta(minutes=25))
    assert len(stage.standing()) == 9
    assert stage.world.results().jobs_lost == 0


@pytest.fixture
def raised(driven: Driven) -> Driven:
    """The file and the state say 0; somebody set the cloud's own group to 9."""
    driven.bench.twin.world.groups.set_desired(driven.group(STACK).group_id, 9)
    return driven


@pytest.mark.engine
def test_a_refresh_makes_the_raised_size_everybodys_business_and_pushes_nothing(raised: Driven) -> None:
    assert raised.bench.pulumi("refresh", "--stack", STACK, "--yes").code == 0
    stacks = raised.driver()
    assert stacks.bindings(STACK)[PRIME].applied == 9, "the file says 0: not settled, no policy touches the pool"

    foreseen = stacks.preview(STACK, raised.candidate(STACK, 3)[1])

    [step] = [step for step in foreseen.steps if step.op == "update" and step.name == PRIME]
    assert step.sizes == (9, 3)
    growth = PoolChange(pool=PRIME, stack=STACK, before=Nodes(0), after=Nodes(3))
    assert isinstance(guard(ConfigChange(stack=STACK, changes=(growth,)), foreseen), Refused), "9 => 3 is no growth"
    assert raised.desired(STACK) == 9


@pytest.mark.engine
def test_a_change_of_tags_leaves_the_raised_size_alone(raised: Driven) -> None:
    """hashicorp/terraform-provider-aws, eks/node_group.go: ScalingConfig is sent only if scaling_config changed."""
    file = raised.bench.stacks / f"Pulumi.{STACK}.yaml"
    before = file.read_text(encoding="utf-8")
    file.write_text(before.replace("department: platform", "department: research"), encoding="utf-8")
    tagged = raised.bench.up(STACK)
    left = raised.desired(STACK)
    file.write_text(before, encoding="utf-8")
    assert raised.bench.up(STACK).code == 0, "the tags are as they were"
    assert tagged.code == 0, tagged.output
    assert left == 9


def test_idle_nodes_past_the_file_are_not_asked_of_a_size_that_never_held_them() -> None:
    nodes = [a_node(number) for number in range(9)]
    snapshot = a_snapshot(use=2.0, pools=[a_pool(*nodes, configured=2, applied=2), a_pool(pool="eks-l4-spot")])
    decision = decided(snapshot)
    assert all(change.before - change.after == len(change.victims) for change in decision.changes)


def a_preview(*paths: str, sizes: tuple[int, int]) -> Preview:
    step = PreviewStep(op="update", urn="urn::ack-a100-od", type=ACK_POOL.type, paths=paths, sizes=sizes)
    return Preview(stack="burst-alicloud", steps=(step,), counts=(("update", 1),))


def test_the_guard_lets_through_the_decided_step_alone() -> None:
    """After a refresh the state says nine: an update "9 => 7" is not the growth "0 => 7" that was decided."""
    decision = decided(a_snapshot(queue=tasks(7)))
    assert decision.action is Action.GROW
    [change] = config_changes(decision)
    size = ACK_POOL.size_property
    assert isinstance(guard(change, a_preview(size, sizes=(0, 7))), Accepted)
    pushed_back = guard(change, a_preview(size, sizes=(9, 7)))
    assert isinstance(pushed_back, Refused)
    assert "9" in " ".join(pushed_back.why)
    labels = guard(change, a_preview("labels", size, sizes=(0, 7)))
    assert isinstance(labels, Refused)
    assert "would also change labels" in " ".join(labels.why)
