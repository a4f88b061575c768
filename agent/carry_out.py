"""Carrying out one stack's change: preview, guard, drain, replace the file, apply, record. No arithmetic.

The intent is in the ledger before anything is touched. Whatever is not known to have ended well stays
open, and agent/reconcile.py brings it to an end in later ticks: nothing is cleaned up by guessing here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agent.core.config_change import ConfigChange, edit_desired
from agent.core.decision import Decision
from agent.core.drain import DrainPlan, drain_plan
from agent.core.explain import headline
from agent.core.guard import Refused, digest, guard
from agent.core.snapshot import NodeView, Snapshot
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
    """How far one stack's change came. `failed_pools`: those that the cloud itself refused."""

    stack: str
    pools: tuple[str, ...]
    state: ChangeState
    detail: str
    error: SpillwayError | None = None
    failed_pools: tuple[str, ...] = ()


def carry_out(
    change: ConfigChange, decision_id: int, decision: Decision, snapshot: Snapshot, hands: Actuators
) -> ChangeReport:
    """Do it, or say how far it came and why no further. Raises LedgerBroken."""
    try:
        before = hands.stacks.read_file(change.stack)
        candidate = edit_desired(before, f"Pulumi.{change.stack}.yaml", change)
    except (SpillwayError, InvalidInput) as error:
        return _report(change, ChangeState.REFUSED, error=_known(error, change.stack))
    change_id = hands.ledger.begin(decision_id, change, digest([candidate]), hands.clock.now())
    report = _attempt(change, (before, candidate), decision, snapshot, hands)
    hands.ledger.end(change_id, report.state, report.detail, hands.clock.now())
    return report


def _attempt(
    change: ConfigChange, texts: tuple[str, str], decision: Decision, snapshot: Snapshot, hands: Actuators
) -> ChangeReport:
    before, candidate = texts
    try:
        check_preview(change, candidate, hands.stacks)
    except SpillwayError as error:
        # Nothing was touched yet, so that nothing is left to clean up.
        return _report(change, ChangeState.REFUSED, error=error)
    try:
        _hold_still(change, snapshot, hands)
        _drain(change, snapshot, hands)
        hands.stacks.replace_file(change.stack, before, candidate)
        hands.stacks.apply(change.stack, headline(decision))
    except SpillwayError as error:
        return _report(change, ChangeState.UNSETTLED, error=error)
    return _report(change, ChangeState.APPLIED, detail=headline(decision))


def check_preview(change: ConfigChange, candidate: str, stacks: StackDriver) -> None:
    """Preview the candidate and pass the guard. Raises PreviewRefused and what a preview raises."""
    verdict = guard(change, stacks.preview(change.stack, candidate))
    if isinstance(verdict, Refused):
        hint = "run 'pulumi preview' on the stack; bring it up by hand until it shows no change, then the agent goes on"
        raise PreviewRefused("; ".join(verdict.why), target=f"stack {change.stack}", hint=hint)


def _report(
    change: ConfigChange, state: ChangeState, *, detail: str = "", error: SpillwayError | None = None
) -> ChangeReport:
    return ChangeReport(
        stack=change.stack,
        pools=tuple(item.pool for item in change.changes),
        state=state,
        detail=str(error) if error else detail,
        error=error,
        failed_pools=error.failed if isinstance(error, ApplyFailed) else (),
    )


def _known(error: SpillwayError | InvalidInput, stack: str) -> SpillwayError:
    if isinstance(error, SpillwayError):
        return error
    hint = "nothing was written; mend the file, the next tick decides again"
    return ConfigConflict(str(error), target=f"stack {stack}", hint=hint)


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
    if not node.has_joined:
        return
    gate.cordon(node.name)
    busy = gate.busy_gpus(node.name)
    if busy:
        hint = "nothing was given back; the next tick decides again"
        raise DrainRefused(f"work holding {busy} GPUs arrived meanwhile", target=f"node {node.name}", hint=hint)


def _plans(change: ConfigChange, snapshot: Snapshot) -> tuple[DrainPlan, ...]:
    shrinks = (item for item in change.changes if item.delta < 0)
    return tuple(drain_plan(item, snapshot.pool(item.pool)) for item in shrinks)
