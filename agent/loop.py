"""One tick: resume, sense, decide, recheck, record, act, verify. The only place that orders them.

No arithmetic and no opinion here. Whatever a tick meets becomes a TickReport; one exception of
unknown kind becomes one failed tick, at the edge in schedule.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.carry_out import Actuators, ChangeReport, carry_out
from agent.core.codec import to_json
from agent.core.config_change import config_changes
from agent.core.decide import decide, forget_attempt, remember_attempt, remember_failure
from agent.core.decision import Action, Decision
from agent.core.guard import digest
from agent.core.memory import Memory
from agent.core.phases import NodeEvent, node_events
from agent.core.policy import Policy
from agent.core.recheck import Withdrawn, recheck
from agent.core.snapshot import Snapshot
from agent.errors import SpillwayError
from agent.ports import Sensor, TickRecord
from agent.resume import resume_killed, verify_shrinks


@dataclass(frozen=True, slots=True, kw_only=True)
class TickReport:
    """What one tick did. `decision_id` is None for a dry run and for a tick that ended before deciding."""

    snapshot: Snapshot | None
    decision: Decision | None
    decision_id: int | None = None
    changes: tuple[ChangeReport, ...] = ()
    events: tuple[NodeEvent, ...] = ()
    notes: tuple[str, ...] = ()
    withdrawn: str | None = None
    error: SpillwayError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """The agent's parts, put together by bootstrap."""

    sensor: Sensor
    hands: Actuators
    policy: Policy

    def dry_run(self) -> TickReport:
        """Sense and decide on the stored memory; touch and record nothing."""
        snapshot = self.sensor.snapshot()
        decision, _ = decide(snapshot, self.policy, self.hands.ledger.memory())
        return TickReport(snapshot=snapshot, decision=decision)

    def tick(self) -> TickReport:
        """One whole tick. Raises LedgerBroken and what voids every decision (StackMissing, StackUnreadable)."""
        try:
            notes = resume_killed(self.hands)
        except SpillwayError as error:
            # Somebody alive holds the stack, or a person must look first: no decision may overtake that.
            return TickReport(snapshot=None, decision=None, error=error, notes=(f"open change: {error}",))
        before = self.hands.ledger.memory()
        snapshot = self.sensor.snapshot()
        decision, memory = decide(snapshot, self.policy, before)
        events = node_events(before.seen, snapshot)
        final, withdrawn = self._look_again(decision)
        if final.action is not Action.HOLD and withdrawn is None:
            memory = remember_attempt(memory, final, self.policy)
        record = TickRecord(
            snapshot=snapshot,
            policy_digest=_policy_digest(self.policy),
            memory_before=before,
            decision=final,
            memory_after=memory,
            events=events,
            withdrawn=withdrawn,
        )
        decision_id = self.hands.ledger.record(record)
        changes = () if withdrawn else self._act(final, decision_id, snapshot)
        self._learn(changes, memory, before, decision_id)
        return TickReport(
            snapshot=snapshot,
            decision=final,
            decision_id=decision_id,
            changes=changes,
            events=events,
            notes=(*notes, *verify_shrinks(snapshot, self.hands)),
            withdrawn=withdrawn,
            error=next((change.error for change in changes if change.error), None),
        )

    def _learn(self, changes: Sequence[ChangeReport], memory: Memory, before: Memory, decision_id: int) -> None:
        """Pools that the cloud refused back off; a decision of which nothing came starts no cool-down."""
        if all(change.error is None for change in changes):
            return
        failed = [pool for change in changes for pool in change.failed_pools]
        learnt = remember_failure(memory, failed, self.policy, self.hands.clock.now())
        if all(change.error for change in changes) and failed:
            learnt = forget_attempt(learnt, before)
        self.hands.ledger.remember(decision_id, learnt)

    def _look_again(self, decision: Decision) -> tuple[Decision, str | None]:
        if decision.action is Action.HOLD:
            return decision, None
        outcome = recheck(decision, self.sensor.snapshot())
        if isinstance(outcome, Withdrawn):
            return decision, outcome.why
        return outcome, None

    def _act(self, decision: Decision, decision_id: int, snapshot: Snapshot) -> tuple[ChangeReport, ...]:
        return tuple(
            carry_out(change, decision_id, decision, snapshot, self.hands) for change in config_changes(decision)
        )


def _policy_digest(policy: Policy) -> str:
    return digest([str(to_json(policy))])
