"""Carrying out one stack's change: preview, guard, drain, replace the file, apply, record. No arithmetic.

The intent is in the ledger before anything is touched, so that a kill at any point leaves a change
that agent/resume.py can finish or take back.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

from agent.core.config_change import ConfigChange, edit_desired
from agent.core.decision import Decision
from agent.core.drain import DrainPlan, drain_plan
from agent.core.explain import headline
from agent.core.guard import Refused, digest, guard
from agent.core.snapshot import NodePhase, NodeView, Snapshot
from agent.errors import ApplyFailed, ConfigConflict, DrainRefused, PreviewRefused, SpillwayError
from agent.ports import ChangeState, Clock, CloudReader, LedgerStore, NodeGate, StackDriver
from contract.catalog import Provider
from contract.problems import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class Actuators:
    """Everything that may be touched. Gates by cluster, clouds by provider."""

    clock: Clock
    stacks: StackDriver
    gates: Mapping[str, NodeGate]
    clouds: Mapping[Provider, CloudReader]
    ledger: LedgerStore


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReport:
    """How one stack's change ended."""

    stack: str
    state: ChangeState
    detail: str
    error: SpillwayError | None = None
    failed_pools: tuple[str, ...] = ()


def carry_out(
    change: ConfigChange, decision_id: int, decision: Decision, snapshot: Snapshot, hands: Actuators
) -> ChangeReport:
    """Do it, or leave everything as it was and say why. Raises LedgerBroken only: then nothing was touched."""
    try:
        before = hands.stacks.read_file(change.stack)
        candidate = edit_desired(before, f"Pulumi.{change.stack}.yaml", change)
    except (SpillwayError, InvalidInput) as error:
        known = error if isinstance(error, SpillwayError) else _conflict(change.stack, error)
        return ChangeReport(stack=change.stack, state=ChangeState.REFUSED, detail=str(known), error=known)
    change_id = hands.ledger.begin(decision_id, change, digest([candidate]), hands.clock.now())
    report = _attempt(change, (before, candidate), decision, snapshot, hands)
    hands.ledger.end(change_id, report.state, report.detail, hands.clock.now())
    return report


def _conflict(stack: str, error: InvalidInput) -> ConfigConflict:
    hint = "nothing was written; mend the file, the next tick decides again"
    return ConfigConflict(str(error), target=f"stack {stack}", hint=hint)


def _attempt(
    change: ConfigChange, texts: tuple[str, str], decision: Decision, snapshot: Snapshot, hands: Actuators
) -> ChangeReport:
    before, candidate = texts
    is_replaced = False
    try:
        check_preview(change, candidate, hands.stacks)
        _hold_still(change, snapshot, hands)
        _drain(change, snapshot, hands)
        hands.stacks.replace_file(change.stack, before, candidate)
        is_replaced = True
        hands.stacks.apply(change.stack, headline(decision))
    except SpillwayError as error:
        detail = f"{error}; {settle_file(change, hands.stacks)}" if is_replaced else str(error)
        let_work_in(change, snapshot, hands)
        state = ChangeState.FAILED if is_replaced else ChangeState.REFUSED
        failed = _failed_pools(change, error) if is_replaced else ()
        return ChangeReport(stack=change.stack, state=state, detail=detail, error=error, failed_pools=failed)
    return ChangeReport(stack=change.stack, state=ChangeState.APPLIED, detail=headline(decision))


def _failed_pools(change: ConfigChange, error: SpillwayError) -> tuple[str, ...]:
    """The pools that the cloud refused; all that should grow when it is not told which."""
    growing = tuple(item.pool for item in change.changes if item.delta > 0)
    named = error.failed if isinstance(error, ApplyFailed) else ()
    return tuple(pool for pool in growing if pool in named) or growing


def check_preview(change: ConfigChange, candidate: str, stacks: StackDriver) -> None:
    """Preview the candidate and pass the guard. Raises PreviewRefused and what a preview raises."""
    preview = stacks.preview(change.stack, candidate)
    verdict = guard(change, preview, candidate)
    if isinstance(verdict, Refused):
        hint = "run 'pulumi preview' on the stack; bring it up by hand until it shows no change, then the agent goes on"
        raise PreviewRefused("; ".join(verdict.why), target=f"stack {change.stack}", hint=hint)


def settle_file(change: ConfigChange, stacks: StackDriver) -> str:
    """After a failed apply: let the file say what the state says, so that no later `up` buys by surprise."""
    try:
        applied = stacks.bindings(change.stack)
        text = stacks.read_file(change.stack)
        back = replace(
            change,
            changes=tuple(
                replace(item, before=item.after, after=applied[item.pool].applied, victims=())
                for item in change.changes
                if item.pool in applied
            ),
        )
        stacks.replace_file(change.stack, text, edit_desired(text, f"Pulumi.{change.stack}.yaml", back))
    except (SpillwayError, InvalidInput) as error:
        return f"its file could not be set back ({error}); see 'spillway doctor'"
    return "its file was set back to what the state holds"


def let_work_in(change: ConfigChange, snapshot: Snapshot, hands: Actuators) -> None:
    """Uncordon the nodes that shall stay after all. A node that cannot be reached stays cordoned: that is safe."""
    for plan in _plans(change, snapshot):
        gate = hands.gates[snapshot.catalog.pools[plan.pool].cluster]
        for node in plan.leaving:
            with suppress(SpillwayError):
                gate.uncordon(node.name)


def _hold_still(change: ConfigChange, snapshot: Snapshot, hands: Actuators) -> None:
    """From now on the cloud moves no machine of these pools by itself. Raises cloud errors."""
    bindings = hands.stacks.bindings(change.stack)
    for item in change.changes:
        hands.clouds[snapshot.catalog.pools[item.pool].provider].hold_still(bindings[item.pool])


def _drain(change: ConfigChange, snapshot: Snapshot, hands: Actuators) -> None:
    """Cordon what leaves, see that it is empty, protect what stays (I29). Raises DrainRefused and cloud errors."""
    bindings = hands.stacks.bindings(change.stack)
    for plan in _plans(change, snapshot):
        row = snapshot.catalog.pools[plan.pool]
        gate, cloud, binding = hands.gates[row.cluster], hands.clouds[row.provider], bindings[plan.pool]
        for node in plan.leaving:
            _empty(node, gate)
        cloud.set_protection(binding, [node.instance_id for node in plan.staying], protected=True)
        cloud.set_protection(binding, [node.instance_id for node in plan.leaving], protected=False)


def _empty(node: NodeView, gate: NodeGate) -> None:
    if node.phase is NodePhase.BOOTING:
        return
    gate.cordon(node.name)
    busy = gate.busy_gpus(node.name)
    if busy:
        hint = "nothing was changed; the next tick decides again"
        raise DrainRefused(f"work holding {busy} GPUs arrived meanwhile", target=f"node {node.name}", hint=hint)


def _plans(change: ConfigChange, snapshot: Snapshot) -> tuple[DrainPlan, ...]:
    shrinks = (item for item in change.changes if item.delta < 0)
    return tuple(drain_plan(item, snapshot.pool(item.pool)) for item in shrinks)
