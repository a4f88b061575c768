"""One tick: sense, reconcile, decide, recheck, record, act, learn. The only place that orders them.

No arithmetic and no opinion here. Whatever a tick meets becomes a TickReport; one exception of
unknown kind becomes one failed tick, at the edge in schedule.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.carry_out import Actuators, ChangeReport, carry_out
from agent.core.config_change import config_changes
from agent.core.decide import (
    decide,
    forget_attempt,
    remember_attempt,
    remember_failure,
    remember_refusal,
    remember_released,
    remember_success,
)
from agent.core.decision import Action, Decision
from agent.core.learned_runtimes import with_runtimes
from agent.core.memory import Memory
from agent.core.phases import NodeEvent, node_events
from agent.core.policy import Policy
from agent.core.recheck import Withdrawn, recheck
from agent.core.snapshot import Snapshot
from agent.errors import SpillwayError
from agent.ports import Sensor, TickRecord
from agent.reconcile import hold_pools, reconcile
from agent.vacate import vacate


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
        open_pools = {
            pool: f"change {change.id} is still open"
            for change in self.hands.ledger.open_changes()
            for pool in change.after
        }
        snapshot = self._filled(self._with_orders(hold_pools(snapshot, open_pools)))
        decision, _ = decide(snapshot, self.policy, self.hands.ledger.memory())
        return TickReport(snapshot=snapshot, decision=decision, notes=snapshot.notes)

    def tick(self) -> TickReport:
        """One whole tick. Raises LedgerBroken and what voids every decision (StackMissing, StackUnreadable)."""
        before = self.hands.ledger.memory()
        snapshot, notes = self._settled_snapshot()
        decision, memory = decide(snapshot, self.policy, before)
        final, withdrawn = self._look_again(decision, snapshot)
        acts = final.action is not Action.HOLD and withdrawn is None
        record = TickRecord(
            snapshot=snapshot,
            policy=self.policy,
            memory_before=before,
            decided=decision,
            decision=final,
            memory_after=remember_attempt(memory, final, self.policy) if acts else memory,
            events=node_events(before.seen, snapshot),
            withdrawn=withdrawn,
        )
        decision_id = self.hands.ledger.record(record)
        if acts and final.action is Action.VACATE:
            return self._vacate(record, decision_id, notes)
        changes = self._act(record, decision_id) if acts else ()
        return TickReport(
            snapshot=snapshot,
            decision=final,
            decision_id=decision_id,
            changes=changes,
            events=record.events,
            notes=(*snapshot.notes, *notes),
            withdrawn=withdrawn,
            error=next((change.error for change in changes if change.error), None),
        )

    def look(self) -> Snapshot:
        """The picture as it is now, people's orders in it; nothing is decided and nothing touched."""
        return self._with_orders(self.sensor.snapshot())

    def _settled_snapshot(self) -> tuple[Snapshot, tuple[str, ...]]:
        """A picture after every open change was taken as far as it goes; what stays open holds its pools."""
        snapshot = self.sensor.snapshot()
        outcome = reconcile(snapshot, self.hands)
        if outcome.is_touched:
            self.sensor.forget()
            snapshot = self.sensor.snapshot()
        self.hands.ledger.keep_ended(self.sensor.work().ended)
        return self._filled(self._with_orders(hold_pools(snapshot, outcome.held))), outcome.said

    def _with_orders(self, snapshot: Snapshot) -> Snapshot:
        """What people ordered is part of the picture, so that a rerun of the decision needs nothing else."""
        given = self.hands.ledger.orders()
        return replace(
            snapshot, orders=tuple(stored.order for stored in given if stored.is_in_force(snapshot.taken_at))
        )

    def _filled(self, snapshot: Snapshot) -> Snapshot:
        """What was learned of run times is part of the picture too: a rerun asks no book."""
        return with_runtimes(snapshot, self.sensor.work(), self.hands.ledger.runtimes())

    def _look_again(self, decision: Decision, snapshot: Snapshot) -> tuple[Decision, str | None]:
        if decision.action is Action.HOLD:
            return decision, None
        held = {pool.pool: pool.held for pool in snapshot.pools}
        outcome = recheck(decision, hold_pools(self.look(), held))
        if isinstance(outcome, Withdrawn):
            return decision, outcome.why
        return outcome, None

    def _act(self, tick: TickRecord, decision_id: int) -> tuple[ChangeReport, ...]:
        changes = tuple(
            carry_out(change, decision_id, tick.decision, tick.snapshot, self.hands)
            for change in config_changes(tick.decision)
        )
        self.sensor.forget()
        self.hands.ledger.remember(decision_id, self._learnt(changes, tick))
        return changes

    def _vacate(self, tick: TickRecord, decision_id: int, notes: tuple[str, ...]) -> TickReport:
        """Move work off nodes. What was cordoned is remembered before, so that it takes work again one day."""
        done = vacate(tick.decision.chosen, tick.snapshot.catalog, self.hands.gates)
        self.sensor.forget()
        memory = remember_released(tick.memory_after, done.released)
        self.hands.ledger.remember(decision_id, replace(memory, busy_until=self.hands.clock.now()))
        return TickReport(
            snapshot=tick.snapshot,
            decision=tick.decision,
            decision_id=decision_id,
            events=tick.events,
            notes=(*tick.snapshot.notes, *notes, *done.notes),
            error=done.error,
        )

    def _learnt(self, changes: Sequence[ChangeReport], tick: TickRecord) -> Memory:
        """What acting taught: who refused, who did not, and that the agent was busy and not away."""
        now, memory = self.hands.clock.now(), tick.memory_after
        for change in changes:
            if change.error is None:
                memory = remember_success(memory, change.pools)
            elif change.failed_pools:
                memory = remember_failure(memory, change.failed_pools, self.policy, now)
            else:
                memory = remember_refusal(memory, change.pools, self.policy, now)
        if all(change.failed_pools for change in changes):
            memory = forget_attempt(memory, tick.memory_before)
        return replace(memory, busy_until=now)
