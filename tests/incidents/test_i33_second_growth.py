"""I33 (kubernetes/autoscaler#8799): growing from zero works the second time as the first, restarts in between."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from agent.core.decision import Action, Decision
from contract import labels
from tests.incidents.stage import Stage, StageHand
from tests.sim.builders import ROWS, a_job

pools = pytest.mark.parametrize("pool", ["eks-h100", "ack-a100"])


def growth(stage: Stage, number: int) -> tuple[Decision, dict[str, object]]:
    """One cycle 0 -> 1 -> 0: the decision to grow, and what the node was."""
    stage.submit(a_job(f"fill-{number}", gpus=16, duration_s=1200.0), a_job(f"task-{number}", duration_s=120.0))
    begun = len(stage.acted())
    stage.run_until(lambda: len(stage.acted()) > begun)
    decision = stage.acted()[begun]
    stage.run_until(lambda: stage.ready() == 1)
    [node] = stage.group.standing()
    shape = {
        "labels": {key: value for key, value in node.labels.items() if key.startswith("spillway.dev/")},
        "taints": tuple(node.taints),
        "gpus": node.machine.gpus,
        "type": node.machine.name,
    }
    stage.run_until(lambda: not stage.group.present(), at_most=timedelta(hours=2))
    return decision, shape


def timeless(decision: Decision) -> object:
    """A decision without what must differ from one day to the next."""
    chosen = decision.chosen
    offers = tuple(replace(other, lost_because=replace(other.lost_because, text="")) for other in chosen.alternatives)
    return (
        decision.action,
        chosen.policy,
        chosen.reason,
        decision.changes,
        decision.cost_per_hour,
        decision.caps,
        offers,
    )


@pools
def test_every_growth_from_zero_is_like_the_first_with_a_restart_in_between(hand: StageHand, pool: str) -> None:
    stage = hand.stage(pool, durable=True)
    cycles = []
    for number in range(3):
        cycles.append(growth(stage, number))
        stage.restart_agent()

    decisions = [timeless(decision) for decision, _ in cycles]
    shapes = [shape for _, shape in cycles]
    assert decisions[0] == decisions[1] == decisions[2]
    assert shapes[0] == shapes[1] == shapes[2]
    assert shapes[0]["labels"] == ROWS[pool].node_labels()
    assert shapes[0]["gpus"] == ROWS[pool].gpus_per_node
    assert stage.bought() == 3
    assert [decision.action for decision in stage.acted()] == [Action.GROW, Action.SHRINK] * 3


@pools
def test_a_node_that_lied_about_itself_teaches_the_planner_nothing(hand: StageHand, pool: str) -> None:
    """The last node of the past showed no GPU and other labels: model, count and memory come from the catalogue."""
    stage = hand.stage(pool, durable=True)
    stage.submit(a_job("fill-0", gpus=16, duration_s=1200.0), a_job("task-0", duration_s=120.0))
    stage.run_until(lambda: stage.ready() == 1)
    [node] = stage.group.standing()
    node.labels |= {labels.GPU_MODEL: "T4", labels.GPU_MEMORY: "16", "nvidia.com/gpu.count": "0"}
    stage.run_until(lambda: not stage.group.present(), at_most=timedelta(hours=2))
    stage.restart_agent()
    decision, shape = growth(stage, 1)
    assert [change.delta for change in decision.changes] == [1]
    assert shape["labels"] == ROWS[pool].node_labels()
