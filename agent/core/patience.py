"""Wait-or-pay on a snapshot: the owned nodes and the queue as it reads them, and who leaves, each with its reason.

Time runs from the snapshot's moment, in hours. Knows no thresholds and no pools.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf

from agent.core.outlook import Need, Outlook
from agent.core.rules.wait_or_pay import WaitOrPay
from agent.core.snapshot import LocalState, QueuedTask, Snapshot, Unknown
from agent.core.wait_or_pay import Waiting, WaitingRoom, waiting
from contract.units import show_duration

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stay:
    """A task that waits, and why: `starts_in` is when it would start at home if nobody else came."""

    task: QueuedTask
    starts_in: timedelta
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Of the queue, in its order: who leaves for the cloud and who stays."""

    leaving: tuple[QueuedTask, ...]
    staying: tuple[Stay, ...]


def part(snapshot: Snapshot, queue: tuple[QueuedTask, ...], rules: WaitOrPay) -> Parting | Unknown:
    """Judge the queue. Unknown when the owned nodes are, so that no start can be predicted."""
    local = snapshot.local
    if isinstance(local, Unknown):
        return Unknown(f"nobody can say when a task would start at home: {local.why}")
    if not local.nodes:
        return Unknown("nobody can say when a task would start at home: its nodes were not read")
    outlook = _outlook(local, snapshot.taken_at, rules)
    room = WaitingRoom(outlook, rules.patience / _HOUR, _start_up(snapshot), weary_hours(rules))
    # Work without GPUs waits for none: no plan can hold it, and placement says what becomes of it.
    gone = {number for number, task in enumerate(queue) if task.gpus <= 0}
    lined = (_waiting(number, task, snapshot, rules) for number, task in enumerate(queue) if number not in gone)
    room.line = sorted(lined, key=_due)[: rules.look_at]
    gone |= {int(task.name) for task in _too_late(room, queue, snapshot, rules)}
    room.line = [task for task in room.line if task.name not in gone]
    gone |= {int(task.name) for task in room.judge_all(0.0)}
    starts = dict(zip((int(task.name) for task in room.line), _starts(room), strict=True))
    staying = tuple(_stay(task, starts.get(number), rules) for number, task in enumerate(queue) if number not in gone)
    return Parting(leaving=tuple(task for number, task in enumerate(queue) if number in gone), staying=staying)


def weary_hours(rules: WaitOrPay) -> float:
    """Hours after which a further hour counts twice; infinite: never."""
    return inf if rules.weary_after is None else rules.weary_after / _HOUR


def _outlook(local: LocalState, now: datetime, rules: WaitOrPay) -> Outlook:
    """The owned nodes, each GPU held until its task's end; what nobody can tell is assumed to end late, not soon."""
    per_node = max(node.gpus for node in local.nodes)
    outlook = Outlook(len(local.nodes), per_node)
    place = {node.name: number for number, node in enumerate(local.nodes)}
    # A card may have failed under its work, and shared cards count more than once: nobody holds more than there is.
    left = {node.name: int(node.gpus) for node in local.nodes}
    for until, name, gpus in _holds(local, now, rules):
        if (held := min(gpus, left.get(name, 0))) > 0:
            outlook.hold(place[name], held, until)
            left[name] -= held
    for node in local.nodes:
        if (unexplained := left[node.name] - node.free) > 0:
            outlook.hold(place[node.name], unexplained, rules.assumed_runtime / _HOUR)
        outlook.hold(place[node.name], per_node - node.gpus, inf)
    return outlook


def _holds(local: LocalState, now: datetime, rules: WaitOrPay) -> list[tuple[float, str, int]]:
    """Hours until its end, node and GPUs of everything that runs, what ends last first."""
    found = []
    for task in local.running:
        until = max(0.0, _ends_at(task.started_at, task.ends_at, now, rules) / _HOUR)
        found += [(until, name, int(gpus)) for name, gpus in task.nodes]
    return sorted(found, key=lambda hold: (-hold[0], hold[1]))


def _ends_at(started: datetime, ends: datetime | None, now: datetime, rules: WaitOrPay) -> timedelta:
    """From now to the end. Past its estimate, or without one, a task is taken to run as long again as it has."""
    if ends is not None and ends > now:
        return ends - now
    return max(now - started, rules.assumed_runtime)


def _start_up(snapshot: Snapshot) -> float:
    """Hours until a rented node takes work: the slower end of the quickest pool."""
    boots = [row.boot.slowest for row in snapshot.catalog.cloud_pools()]
    return min(boots, default=timedelta(0)) / _HOUR


def _waiting(number: int, task: QueuedTask, snapshot: Snapshot, rules: WaitOrPay) -> Waiting:
    hours = (task.runtime or rules.assumed_runtime) / _HOUR
    arrived = (task.queued_since - snapshot.taken_at) / _HOUR
    made = waiting(number, Need(task.gpus, hours), arrived, rules.patience / _HOUR)
    made.due = min(made.due, arrived + rules.longest[task.tier] / _HOUR)
    if task.deadline is not None:
        made.due = min(made.due, (task.deadline - snapshot.taken_at) / _HOUR - hours)
    return made


def _too_late(room: WaitingRoom, queue: tuple[QueuedTask, ...], snapshot: Snapshot, rules: WaitOrPay) -> list[Waiting]:
    """Those that would wait longer in all than their tier allows, were they to stay, or end after their deadline."""
    late = []
    for task, start in zip(room.line, _starts(room), strict=True):
        queued = queue[int(task.name)]
        misses = queued.deadline is not None and _misses(
            (queued.deadline - snapshot.taken_at) / _HOUR - task.need.hours, start, _start_up(snapshot)
        )
        if start > 0 and (misses or start - task.arrived > rules.longest[queued.tier] / _HOUR):
            late.append(task)
    return late


def _misses(latest_start: float, start: float, start_up: float) -> bool:
    """Whether it would begin too late at home and could begin in time on a rented node; what is lost is lost."""
    return start_up <= latest_start < start


def _starts(room: WaitingRoom) -> list[float]:
    plan = room.outlook.copy()
    return [plan.book(task.need, 0.0) for task in room.line]


def _stay(task: QueuedTask, start: float | None, rules: WaitOrPay) -> Stay:
    if start is None:
        return Stay(
            task=task, starts_in=rules.longest[task.tier], why=f"more than {rules.look_at} tasks come before it"
        )
    starts_in = start * _HOUR
    text = f"it would start at home in {show_duration(starts_in)}, and leaving saves less than its GPU-hours are worth"
    return Stay(task=task, starts_in=starts_in, why=text)


def _due(task: Waiting) -> float:
    return task.due
