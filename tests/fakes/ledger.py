"""An append-only ledger in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from agent.core.config_change import ConfigChange
from agent.core.decision import Action
from agent.core.ended_work import MOST_ENDED, EndedTask, book_of
from agent.core.memory import Memory
from agent.core.runtime_estimate import KEPT, RuntimeBook
from agent.core.snapshot import Order
from agent.errors import LedgerBroken
from agent.ports import Cancellation, ChangeState, StoredChange, StoredDecision, StoredInputs, StoredOrder, TickRecord


@dataclass
class FakeLedger:
    """Satisfies ports.LedgerStore. `broken` makes every write fail."""

    broken: bool = False
    _memories: list[Memory] = field(default_factory=list)
    _ticks: list[TickRecord] = field(default_factory=list)
    _changes: list[StoredChange] = field(default_factory=list)
    _orders: list[StoredOrder] = field(default_factory=list)
    _ended: dict[str, EndedTask] = field(default_factory=dict)

    def memory(self) -> Memory:
        return self._memories[-1] if self._memories else Memory()

    def remember(self, decision_id: int, memory: Memory) -> None:
        self._check()
        self._memories.append(memory)

    def record(self, tick: TickRecord) -> int:
        self._check()
        self._ticks.append(tick)
        self._memories.append(tick.memory_after)
        return len(self._ticks)

    def begin(self, decision_id: int, change: ConfigChange, candidate_digest: str, at: datetime) -> int:
        self._check()
        stored = StoredChange(
            id=len(self._changes) + 1,
            decision_id=decision_id,
            stack=change.stack,
            before=change.sizes_before(),
            after=change.sizes_after(),
            victims={item.pool: item.victims for item in change.changes if item.delta < 0},
            candidate_digest=candidate_digest,
            state=ChangeState.STARTED,
            detail="",
            at=at,
        )
        self._changes.append(stored)
        return stored.id

    def end(self, change_id: int, state: ChangeState, detail: str, at: datetime) -> None:
        self._check()
        self._changes[change_id - 1] = replace(self._changes[change_id - 1], state=state, detail=detail, at=at)

    def open_changes(self) -> tuple[StoredChange, ...]:
        return tuple(change for change in self._changes if change.is_open)

    def changes(self, limit: int) -> tuple[StoredChange, ...]:
        return tuple(self._changes[::-1][:limit])

    def decisions(self, limit: int, *, actions_only: bool) -> tuple[StoredDecision, ...]:
        numbers = range(len(self._ticks), 0, -1)
        stored = (self._stored(number) for number in numbers)
        wanted = [item for item in stored if not actions_only or item.decision.action is not Action.HOLD]
        return tuple(wanted[:limit])

    def decision(self, decision_id: int) -> StoredDecision | None:
        return self._stored(decision_id) if 1 <= decision_id <= len(self._ticks) else None

    def inputs(self, decision_id: int) -> StoredInputs | None:
        if not 1 <= decision_id <= len(self._ticks):
            return None
        tick = self._ticks[decision_id - 1]
        return StoredInputs(snapshot=tick.snapshot, policy=tick.policy, memory=tick.memory_before, decided=tick.decided)

    def keep_ended(self, tasks: Sequence[EndedTask]) -> None:
        self._check()
        for task in tasks:
            self._ended.setdefault(task.identity, task)
        newest: Counter[str] = Counter()
        for number, task in enumerate(sorted(self._ended.values(), key=lambda task: task.place, reverse=True)):
            newest[task.kin] += 1
            if newest[task.kin] > KEPT or number >= MOST_ENDED:
                del self._ended[task.identity]

    def ended_tasks(self) -> tuple[EndedTask, ...]:
        return tuple(sorted(self._ended.values(), key=lambda task: task.place))

    def runtimes(self) -> RuntimeBook:
        return book_of(self.ended_tasks())

    def give_order(self, order: Order) -> Order:
        self._check()
        given = replace(order, number=len(self._orders) + 1)
        self._orders.append(StoredOrder(order=given, cancelled=None))
        return given

    def cancel_order(self, number: int, cancellation: Cancellation) -> None:
        self._check()
        if not 1 <= number <= len(self._orders):
            raise LedgerBroken(f"there is no order {number}", target="ledger", hint="list them")
        stored = self._orders[number - 1]
        self._orders[number - 1] = replace(stored, cancelled=stored.cancelled or cancellation)

    def orders(self) -> tuple[StoredOrder, ...]:
        return tuple(self._orders)

    def _stored(self, number: int) -> StoredDecision:
        tick = self._ticks[number - 1]
        return StoredDecision(id=number, decision=tick.decision, withdrawn=tick.withdrawn)

    def _check(self) -> None:
        if self.broken:
            raise LedgerBroken("disk is full", target="ledger", hint="make room")
