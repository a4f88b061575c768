"""Ended tasks in the ledger: each kept once, as many as teach something, and the book that they make.

Of each kin (how it ended, whose, what, how large) the newest stay, so many as the book keeps. Since the newest of a
wider kin are among the newest of its parts, the book loses nothing by what goes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import sqlalchemy as sa

from agent.core.ended_work import MOST_ENDED, EndedTask, TaskEnd, book_of, runtime_key, teach
from agent.core.runtime_estimate import KEPT, RuntimeBook
from agent.ledger.schema import ended_task as table
from contract.work import WorkKind

# Databases bound how many values one statement may name.
_AT_ONCE = 500
# So many too many may stand before the oldest of all go, since the book is then made anew.
_TOO_MANY = 1000
_NEWEST_FIRST = (table.c.ended_at.desc(), table.c.identity.desc())


class EndedTasks:
    """The table, and its book in memory: made once, then taught what comes; made anew when an end comes late."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._offered: frozenset[str] = frozenset()
        self._book: RuntimeBook | None = None
        self._newest: tuple[datetime, str] | None = None

    def keep(self, tasks: Sequence[EndedTask]) -> None:
        """Add those that the table does not have, and let go of what no longer teaches."""
        fresh = {task.identity: task for task in reversed(tasks) if task.identity not in self._offered}
        if fresh:
            with self._engine.begin() as connection:
                for identity in _known(connection, list(fresh)):
                    del fresh[identity]
                new = sorted(fresh.values(), key=lambda task: task.place)
                for some in _portions(new):
                    connection.execute(table.insert(), [_row(task) for task in some])
                gone = _old_of_kin(connection, sorted({task.kin for task in new}))
                old = _old_of_all(connection)
                for ids in _portions([*gone, *(old.keys() - gone.keys())]):
                    connection.execute(table.delete().where(table.c.id.in_(ids)))
            if old:
                self._book = None
            lost = {*gone.values(), *old.values()}
            self._learn([task for task in new if task.identity not in lost])
        self._offered = frozenset(task.identity for task in tasks)

    def all(self) -> tuple[EndedTask, ...]:
        """All rows, in the order in which the tasks ended."""
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(table).order_by(table.c.ended_at, table.c.identity))
            return tuple(_task(row) for row in rows)

    def book(self) -> RuntimeBook:
        """What the rows teach."""
        if self._book is None:
            tasks = self.all()
            self._book, self._newest = book_of(tasks), tasks[-1].place if tasks else None
        return self._book

    def _learn(self, tasks: Sequence[EndedTask]) -> None:
        if self._book is None or not tasks:
            return
        if self._newest is not None and tasks[0].place < self._newest:
            self._book = None
            return
        for task in tasks:
            teach(self._book, task)
        self._newest = tasks[-1].place


def _known(connection: sa.Connection, identities: Sequence[str]) -> Iterator[str]:
    for some in _portions(identities):
        yield from connection.execute(sa.select(table.c.identity).where(table.c.identity.in_(some))).scalars()


def _old_of_kin(connection: sa.Connection, kins: Sequence[str]) -> dict[int, str]:
    """Rows that are too old of their kin for any book to look at, by id."""
    found: dict[int, str] = {}
    for some in _portions(kins):
        place = sa.func.row_number().over(partition_by=table.c.kin, order_by=_NEWEST_FIRST).label("place")
        ranked = sa.select(table.c.id, table.c.identity, place).where(table.c.kin.in_(some)).subquery()
        rows = connection.execute(sa.select(ranked.c.id, ranked.c.identity).where(ranked.c.place > KEPT))
        found |= {row.id: row.identity for row in rows}
    return found


def _old_of_all(connection: sa.Connection) -> dict[int, str]:
    """Rows above the number that is kept in all, by id; none until there are many."""
    oldest = sa.select(table.c.id, table.c.identity).order_by(*_NEWEST_FIRST).offset(MOST_ENDED)
    found = {row.id: row.identity for row in connection.execute(oldest)}
    return found if len(found) > _TOO_MANY else {}


def _portions(items: Sequence[Any]) -> Iterator[list[Any]]:
    rest = iter(items)
    while some := list(islice(rest, _AT_ONCE)):
        yield some


def _row(task: EndedTask) -> dict[str, object]:
    return {
        "identity": task.identity,
        "task": task.task,
        "department": task.key.department,
        "submitter": task.key.user,
        "kind": task.key.kind.value,
        "gpus": task.key.gpus,
        "started_at": _text(task.started_at),
        "ended_at": _text(task.ended_at),
        "outcome": task.outcome.value,
        "kin": task.kin,
    }


def _text(at: datetime) -> str:
    """One zone and one width, so that the order of texts is the order of times."""
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _task(row: sa.Row[Any]) -> EndedTask:
    return EndedTask(
        identity=row.identity,
        task=row.task,
        key=runtime_key(row.department, WorkKind(row.kind), row.gpus, row.submitter),
        started_at=datetime.fromisoformat(row.started_at),
        ended_at=datetime.fromisoformat(row.ended_at),
        outcome=TaskEnd(row.outcome),
    )
