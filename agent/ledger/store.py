"""The ledger on SQLAlchemy: appends and reads, nothing else; every failure becomes LedgerBroken.

On SQLite it runs in WAL mode with full sync: a row that was acknowledged outlives a power cut.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa

from agent.core.codec import CodecError, from_json, left_out, to_json
from agent.core.config_change import ConfigChange
from agent.core.decision import Action, Decision
from agent.core.ended_work import EndedTask
from agent.core.memory import Memory
from agent.core.phases import NodeEvent
from agent.core.policy import Policy
from agent.core.runtime_estimate import RuntimeBook
from agent.core.snapshot import Order, OrderKind, Snapshot
from agent.errors import InputsUnreadable, LedgerBroken
from agent.ledger import schema
from agent.ledger.ended import EndedTasks
from agent.ports import Cancellation, ChangeState, StoredChange, StoredDecision, StoredInputs, StoredOrder, TickRecord
from contract.units import Nodes

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inputs:
    """What a decision is rerun from."""

    snapshot: Snapshot
    policy: Policy
    memory: Memory
    decided: Decision


_CANCELLED = "cancelled"
# Without the inputs: they are nine tenths of a row, and only a rerun reads them.
_DECISIONS: sa.Select[Any] = sa.select(schema.tick.c.id, schema.tick.c.withdrawn, schema.tick.c.decision)


class SqlLedger:
    """A LedgerStore on any database that SQLAlchemy reaches."""

    def __init__(self, url: str) -> None:
        """Open, and bring the schema up to date. Raises LedgerBroken."""
        # The newest memory by its row, so that a tick need not read back what it wrote.
        self._newest: tuple[int, Memory] = (0, Memory())
        self._name = "(its address cannot be read)"
        with self._guarded():
            self._name = sa.make_url(url).render_as_string(hide_password=True)
            self._engine = sa.create_engine(url)
            if self._engine.dialect.name == "sqlite":
                _prepare_sqlite(self._engine)
            if not schema.is_current(self._engine):
                schema.upgrade(self._engine)
            self._ended = EndedTasks(self._engine)

    def close(self) -> None:
        """Give the connections back."""
        self._engine.dispose()

    def memory(self) -> Memory:
        newest = sa.select(sa.func.max(schema.memory.c.id))
        with self._guarded(), self._engine.connect() as connection:
            number = connection.execute(newest).scalar()
            if number is None:
                return Memory()
            if number != self._newest[0]:
                query = sa.select(schema.memory.c.content).where(schema.memory.c.id == number)
                self._newest = (number, _unpack(Memory, connection.execute(query).scalar_one()))
            return self._newest[1]

    def remember(self, decision_id: int, memory: Memory) -> None:
        with self._guarded(), self._engine.begin() as connection:
            number = _append_memory(connection, decision_id, memory)
        self._newest = (number, memory)

    def record(self, tick: TickRecord) -> int:
        with self._guarded(), self._engine.begin() as connection:
            row = {
                "taken_at": tick.snapshot.taken_at.isoformat(),
                "action": tick.decision.action.value,
                "withdrawn": tick.withdrawn,
                "inputs": _pack(_inputs(tick)),
                "decision": _pack(tick.decision),
            }
            tick_id = _new_id(connection.execute(schema.tick.insert().values(row)))
            number = _append_memory(connection, tick_id, tick.memory_after)
            if tick.events:
                connection.execute(schema.node_event.insert(), [_event_row(tick_id, event) for event in tick.events])
        self._newest = (number, tick.memory_after)
        return tick_id

    def begin(self, decision_id: int, change: ConfigChange, candidate_digest: str, at: datetime) -> int:
        with self._guarded(), self._engine.begin() as connection:
            row = {
                "tick_id": decision_id,
                "stack": change.stack,
                "sizes_before": change.sizes_before(),
                "sizes_after": change.sizes_after(),
                "victims": {item.pool: list(item.victims) for item in change.changes if item.delta < 0},
                "candidate_digest": candidate_digest,
            }
            change_id = _new_id(connection.execute(schema.change.insert().values(row)))
            connection.execute(
                schema.change_event.insert().values(_change_event(change_id, ChangeState.STARTED, "", at))
            )
            return change_id

    def end(self, change_id: int, state: ChangeState, detail: str, at: datetime) -> None:
        with self._guarded(), self._engine.begin() as connection:
            connection.execute(schema.change_event.insert().values(_change_event(change_id, state, detail, at)))

    def open_changes(self) -> tuple[StoredChange, ...]:
        open_states = [state.value for state in (ChangeState.STARTED, ChangeState.UNSETTLED, ChangeState.APPLIED)]
        newest = self._last_words().where(schema.change_event.c.state.in_(open_states))
        with self._guarded(), self._engine.connect() as connection:
            stored = tuple(_stored_change(row) for row in connection.execute(newest.order_by(schema.change.c.id)))
        return tuple(change for change in stored if change.is_open)

    def changes(self, limit: int) -> tuple[StoredChange, ...]:
        newest = self._last_words().order_by(schema.change.c.id.desc()).limit(limit)
        with self._guarded(), self._engine.connect() as connection:
            return tuple(_stored_change(row) for row in connection.execute(newest))

    def decisions(self, limit: int, *, actions_only: bool) -> tuple[StoredDecision, ...]:
        query = _DECISIONS.order_by(schema.tick.c.id.desc()).limit(limit)
        if actions_only:
            query = query.where(schema.tick.c.action != Action.HOLD.value)
        with self._guarded(), self._engine.connect() as connection:
            return tuple(_stored_decision(row) for row in connection.execute(query))

    def decision(self, decision_id: int) -> StoredDecision | None:
        query = _DECISIONS.where(schema.tick.c.id == decision_id)
        with self._guarded(), self._engine.connect() as connection:
            row = connection.execute(query).one_or_none()
            return None if row is None else _stored_decision(row)

    def inputs(self, decision_id: int) -> StoredInputs | None:
        query = sa.select(schema.tick.c.inputs).where(schema.tick.c.id == decision_id)
        with self._guarded(), self._engine.connect() as connection:
            packed = connection.execute(query).scalar()
            stored = None if packed is None else json.loads(zlib.decompress(packed))
        return None if stored is None else _read_inputs(stored, f"decision {decision_id}")

    def keep_ended(self, tasks: Sequence[EndedTask]) -> None:
        with self._guarded():
            self._ended.keep(tasks)

    def ended_tasks(self) -> tuple[EndedTask, ...]:
        with self._guarded():
            return self._ended.all()

    def runtimes(self) -> RuntimeBook:
        with self._guarded():
            return self._ended.book()

    def give_order(self, order: Order) -> Order:
        row = {
            "kind": order.kind.value,
            "nodes": order.nodes,
            "base": order.base,
            "who": order.who,
            "why": order.why,
            "since": order.since.isoformat(),
            "until": order.until.isoformat(),
        }
        with self._guarded(), self._engine.begin() as connection:
            return replace(order, number=_new_id(connection.execute(schema.manual_order.insert().values(row))))

    def cancel_order(self, number: int, cancellation: Cancellation) -> None:
        row = {
            "order_id": number,
            "state": _CANCELLED,
            "who": cancellation.who,
            "why": cancellation.why,
            "at": cancellation.at.isoformat(),
        }
        with self._guarded(), self._engine.begin() as connection:
            connection.execute(schema.manual_order_event.insert().values(row))

    def orders(self) -> tuple[StoredOrder, ...]:
        events = schema.manual_order_event
        ends = sa.select(events).where(events.c.state == _CANCELLED).order_by(events.c.id.desc())
        with self._guarded(), self._engine.connect() as connection:
            # The earliest stays: it is written last.
            cancelled = {row.order_id: _cancellation(row) for row in connection.execute(ends)}
            given = connection.execute(sa.select(schema.manual_order).order_by(schema.manual_order.c.id))
            return tuple(StoredOrder(order=_order(row), cancelled=cancelled.get(row.id)) for row in given)

    def _last_words(self) -> sa.Select[Any]:
        """Each change with the newest event about it."""
        events = schema.change_event
        newest = sa.select(sa.func.max(events.c.id)).group_by(events.c.change_id).scalar_subquery()
        joined = schema.change.join(events, events.c.change_id == schema.change.c.id)
        return (
            sa.select(schema.change, events.c.state, events.c.detail, events.c.at)
            .select_from(joined)
            .where(events.c.id.in_(newest))
        )

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        try:
            yield
        except (sa.exc.SQLAlchemyError, CodecError, zlib.error, OSError, ImportError) as error:
            hint = "check that its folder exists, is writable and has room; then try again"
            raise LedgerBroken(str(error).splitlines()[0], target=f"ledger {self._name}", hint=hint) from error


def sqlite_url(path: Path) -> str:
    """The URL of a SQLite ledger in a file; makes its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{path}"


def _prepare_sqlite(engine: sa.Engine) -> None:
    @sa.event.listens_for(engine, "connect")
    def on_connect(connection: Any, _record: object) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=5000"):
            connection.execute(f"PRAGMA {pragma}")


def _pack(value: object) -> bytes:
    return zlib.compress(json.dumps(to_json(value), separators=(",", ":")).encode(), level=1)


def _unpack(kind: type[T], packed: bytes) -> T:
    return from_json(kind, json.loads(zlib.decompress(packed)))


def _inputs(tick: TickRecord) -> _Inputs:
    return _Inputs(snapshot=tick.snapshot, policy=tick.policy, memory=tick.memory_before, decided=tick.decided)


def _append_memory(connection: sa.Connection, tick_id: int, memory: Memory) -> int:
    row = {"tick_id": tick_id, "content": _pack(memory)}
    return _new_id(connection.execute(schema.memory.insert().values(row)))


def _new_id(result: sa.CursorResult[Any]) -> int:
    key = result.inserted_primary_key
    if key is None:
        raise sa.exc.InvalidRequestError("the database gave no id for a new row")
    return int(key[0])


def _change_event(change_id: int, state: ChangeState, detail: str, at: datetime) -> dict[str, object]:
    return {"change_id": change_id, "state": state.value, "detail": detail, "at": at.isoformat()}


def _event_row(tick_id: int, event: NodeEvent) -> dict[str, object]:
    return {
        "tick_id": tick_id,
        "node": event.node,
        "pool": event.pool,
        "before": event.before.value if event.before else None,
        "after": event.after.value,
        "is_legal": event.is_legal,
        "at": event.at.isoformat(),
    }


def _stored_decision(row: sa.Row[Any]) -> StoredDecision:
    return StoredDecision(id=row.id, decision=_unpack(Decision, row.decision), withdrawn=row.withdrawn)


def _read_inputs(stored: object, name: str) -> StoredInputs:
    """Whole or not at all: inputs that lost a field on the way in would make another decision."""
    hint = "run the version of Spillway that made it; 'spillway explain' without --rerun tells the stored decision"
    try:
        inputs = from_json(_Inputs, stored)
    except CodecError as error:
        why = f"its inputs were stored by another version: {error}"
        raise InputsUnreadable(why, target=name, hint=hint) from error
    if lost := left_out(stored, to_json(inputs)):
        raise InputsUnreadable(f"its inputs hold what this version does not know: {lost[0]}", target=name, hint=hint)
    return StoredInputs(snapshot=inputs.snapshot, policy=inputs.policy, memory=inputs.memory, decided=inputs.decided)


def _stored_change(row: sa.Row[Any]) -> StoredChange:
    return StoredChange(
        id=row.id,
        decision_id=row.tick_id,
        stack=row.stack,
        before=_sizes(row.sizes_before),
        after=_sizes(row.sizes_after),
        victims={pool: tuple(victims) for pool, victims in row.victims.items()},
        candidate_digest=row.candidate_digest,
        state=ChangeState(row.state),
        detail=row.detail,
        at=datetime.fromisoformat(row.at),
    )


def _order(row: sa.Row[Any]) -> Order:
    return Order(
        number=row.id,
        kind=OrderKind(row.kind),
        nodes=Nodes(row.nodes),
        base=Nodes(row.base),
        who=row.who,
        why=row.why,
        since=datetime.fromisoformat(row.since),
        until=datetime.fromisoformat(row.until),
    )


def _cancellation(row: sa.Row[Any]) -> Cancellation:
    return Cancellation(who=row.who, why=row.why, at=datetime.fromisoformat(row.at))


def _sizes(stored: Mapping[str, int]) -> dict[str, Nodes]:
    return {pool: Nodes(size) for pool, size in stored.items()}
