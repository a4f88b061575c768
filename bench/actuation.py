"""One pool change through the agent on the twin: preview, guard, file, up; and the agent's memory."""

from __future__ import annotations

import resource
import tempfile
import time
from pathlib import Path
from statistics import median

from agent.bootstrap import Wired, build
from agent.carry_out import carry_out
from agent.core.config_change import ConfigChange
from agent.core.decision import Action, Decision, PoolChange, Proposal, Reason, ReasonCode
from agent.core.snapshot import Snapshot
from agent.loop import TickReport
from agent.settings import read_settings
from contract.units import Nodes, zero
from sim.client import TwinClient
from spillway.build_out import build_out, pulumi_cli
from spillway.demo.scenario import Scenario
from spillway.rehearsal_site import enter, make_site, site_environment
from spillway.twin_process import TwinPlan, start_twin

_TICKS = 120
_POOL = "ack-a100-od"


def measure() -> list[tuple[str, str]]:
    """Rows of (what, figure)."""
    with tempfile.TemporaryDirectory(prefix="spillway-bench-") as folder:
        site = make_site(Path(folder) / "site")
        scenario = Scenario()
        plan = TwinPlan(
            home=site.home / "twin",
            stacks=site.stacks,
            workload=scenario.workload,
            start=scenario.start,
            speed="virtual",
            seed=scenario.seed,
        )
        twin = start_twin(plan, die_with_parent=True)
        try:
            environment = enter(site_environment(site, twin.address))
            build_out(pulumi_cli(site, environment), lambda _: None)
            wired = build(read_settings(environment))
            with TwinClient(twin.address.url) as client:
                return [*_ticks(wired, client), *_changes(wired)]
        finally:
            twin.stop()


def _ticks(wired: Wired, client: TwinClient) -> list[tuple[str, str]]:
    quiet: list[float] = []
    for _ in range(_TICKS):
        started = time.perf_counter()
        report: TickReport = wired.agent.tick()
        if not report.changes:
            quiet.append(time.perf_counter() - started)
        client.jump(30)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    tick = f"{median(quiet) * 1000:.0f} ms wall, median"
    return [
        ("a tick that changes nothing, 12 owned nodes and the demo's queue", tick),
        (f"peak memory after {_TICKS} ticks, bench included", f"{peak:.0f} MiB (bound for the agent: 200)"),
    ]


def _changes(wired: Wired) -> list[tuple[str, str]]:
    snapshot = wired.agent.sensor.snapshot()
    taken = []
    for _ in range(5):
        size = wired.stacks.bindings("burst-alicloud")[_POOL].applied
        started = time.perf_counter()
        _grow(wired, snapshot, size)
        taken.append(time.perf_counter() - started)
    return [("one pool change through the agent: preview, guard, file, up", f"{median(taken):.1f} s wall (bound: 6 s)")]


def _grow(wired: Wired, snapshot: Snapshot, size: Nodes) -> None:
    change = PoolChange(pool=_POOL, stack="burst-alicloud", before=size, after=Nodes(size + 1))
    reason = Reason(code=ReasonCode.TRIGGERED, text="bench")
    proposal = Proposal(policy="bench", action=Action.GROW, reason=reason, changes=(change,))
    decision = Decision(taken_at=snapshot.taken_at, chosen=proposal, cost_per_hour=zero("CNY"))
    one = ConfigChange(stack="burst-alicloud", changes=(change,))
    report = carry_out(one, 1, decision, snapshot, wired.agent.hands)
    if report.error:
        raise report.error
