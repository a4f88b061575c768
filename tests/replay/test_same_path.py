"""The replay decides as the live agent does: same samples in, same decisions out, byte for byte."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from agent.carry_out import Actuators
from agent.core.codec import to_json
from agent.core.decision import Action, Decision
from agent.core.memory import Memory
from agent.core.policy import Policy, parse_policy
from agent.core.snapshot import Snapshot
from agent.loop import Agent
from contract.catalog import Catalog, read_catalog
from contract.yaml_document import read_document
from replay.site.hosting import hosting
from replay.site.run import Ground, Replay, SiteRun
from replay.site.truth import Truth
from replay.spot_history import shipped_history
from replay.synthetic import example_company_month
from replay.traces.shape import first_days
from tests.fakes.clock import FakeClock
from tests.fakes.hands import FakeSensor
from tests.fakes.ledger import FakeLedger
from tests.fakes.stacks import FakeStacks

_STACKS = Path(__file__).parents[2] / "stacks"
_POLICIES = ("policy.yaml", "policies/economy.yaml", "policies/responsive.yaml")


def _catalog() -> Catalog:
    return read_catalog(_STACKS / "catalog.yaml")


def _policy(name: str) -> Policy:
    return parse_policy(*read_document(_STACKS / name))


def _run(policy: Policy, days: float = 1.0) -> SiteRun:
    catalog = _catalog()
    trace = first_days(example_company_month(0), days)
    # Long jobs would only add quiet ticks at the end.
    jobs = tuple(replace(job, runtime_s=min(job.runtime_s, 7200.0)) for job in trace.jobs)
    ground = Ground(
        trace=replace(trace, jobs=jobs),
        catalog=catalog,
        owned_nodes=2,
        truth=Truth(spot={row.pool: shipped_history() for row in catalog.cloud_pools() if row.is_preemptible}),
        may_host=hosting(policy.placement),
    )
    return SiteRun(ground, policy)


def _text(decision: Decision) -> str:
    return json.dumps(to_json(decision), sort_keys=True)


def _live(snapshot: Snapshot, memory: Memory, policy: Policy) -> Decision:
    """What the live agent decides on the same sample, with the same memory in its ledger."""
    ledger = FakeLedger()
    ledger.remember(0, memory)
    hands = Actuators(clock=FakeClock(), stacks=FakeStacks({}), gates={}, clouds={}, ledger=ledger)
    report = Agent(sensor=FakeSensor([snapshot]), hands=hands, policy=policy).dry_run()
    assert report.decision is not None
    return report.decision


@pytest.mark.parametrize("name", _POLICIES)
def test_live_tick_and_replay_decide_the_same(name: str) -> None:
    policy, run = _policy(name), _run(_policy(name), days=0.6)
    acted = 0

    def hear(snapshot: Snapshot, memory: Memory, decision: Decision) -> None:
        """Every decision that does something, and one in eighty that holds."""
        nonlocal acted
        acts = decision.action is not Action.HOLD
        acted += acts
        if acts or snapshot.taken_at.minute == 0:
            assert _text(_live(snapshot, memory, policy)) == _text(decision)

    run.on_tick = hear
    run.run(name)
    assert acted


@pytest.mark.parametrize("name", ["policy.yaml", "policies/economy.yaml"])
def test_ticks_passed_over_would_have_decided_nothing(name: str) -> None:
    quick, slow = _run(_policy(name)), _run(_policy(name))
    slow.may_skip = False
    assert quick.may_skip
    one, other = quick.run(name), slow.run(name)
    assert [_turn(turn) for turn in one.turns] == [_turn(turn) for turn in other.turns]
    assert [story.ended_s for story in one.stories] == [story.ended_s for story in other.stories]


def _turn(turn: object) -> str:
    return json.dumps(to_json(turn), sort_keys=True)


def test_the_same_seed_gives_the_same_month_and_another_seed_another() -> None:
    policy = _policy("policies/economy.yaml")
    first, again = _run(policy).run("x"), _run(policy).run("x")
    assert _figures(first) == _figures(again)
    run = _run(policy)
    ground = replace(run.ground, truth=replace(run.ground.truth, seed=1))
    assert _figures(SiteRun(ground, policy).run("x")) != _figures(first)


def _figures(replay: Replay) -> object:
    return [(machine.name, machine.ordered_s, machine.gone_s) for machine in replay.machines]


def test_no_machine_is_left_no_job_is_lost_and_no_gpu_given_out_twice() -> None:
    replay = _run(_policy("policy.yaml")).run("x")
    assert all(story.ended_s < float("inf") for story in replay.stories)
    assert all(machine.gone_s is not None for machine in replay.machines)
    assert all(machine.free == machine.row.gpus_per_node for machine in replay.machines)
    assert max(step[3] for step in replay.steps) <= 16
