"""When would each waiting task start on the owned nodes, if nobody else came? A plan by GPU slots, cheap to ask.

For every node the times at which its GPUs come free are kept in rising order, by columns: column k holds, node by
node, when the (k+1)-th GPU of the node comes free. A task of g GPUs starts where column g-1 is least, a gang above one
node when enough nodes are wholly free. Slots are used up in order: no one is planned into a hole before a later
start. That errs on the careful side and costs a few microseconds a task. Time in hours from any origin.

Working memory for one caller: it changes as jobs start. No clock, no policy. A line is booked on a `Plan`, which is
made for that line and forgets all that the line does not ask for.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

# (node, GPUs) for each node that a task holds.
Shares = tuple[tuple[int, int], ...]

# How much an hour by which a task outlives its node's other work counts against a GPU left over beside it; an hour
# of the opposite; and what breaking into a wholly free node costs. Tuned on ITP 03, ITP 04 and Philly (docs/decisions).
_OUTLIVES, _OUTLIVED, _BREAKS_IN = 2.0, 0.1, 4.0


class Need(NamedTuple):
    """What a plan must know of a task: GPUs in all, and hours it will run."""

    gpus: int
    hours: float


class Outlook:
    """Free-at times of `nodes` equal nodes of `per_node` GPUs, all free since time 0 unless said otherwise."""

    __slots__ = ("_columns", "per_node")

    def __init__(self, nodes: int, per_node: int = 8) -> None:
        self.per_node = per_node
        self._columns = [[0.0] * nodes for _ in range(per_node)]

    def copy(self) -> Outlook:
        """The same, to plan on."""
        twin = Outlook.__new__(Outlook)
        twin.per_node, twin._columns = self.per_node, [column[:] for column in self._columns]
        return twin

    def hold(self, node: int, gpus: int, until: float) -> None:
        """GPUs of a node are in use until then: the ones that came free first."""
        columns = self._columns
        last, at = len(columns) - 1, 0
        # A sorted insert from below: what is later than `until` stays, the rest moves down by `gpus`.
        while at + gpus <= last and columns[at + gpus][node] < until:
            columns[at][node] = columns[at + gpus][node]
            at += 1
        for level in range(at, at + gpus):
            columns[level][node] = until

    def correct(self, shares: Shares, before: float, after: float) -> None:
        """What was held until `before` is held until `after`: a task ended early, or goes on beyond its estimate."""
        for node, gpus in shares:
            slots = [column[node] for column in self._columns]
            at = slots.index(before)
            slots[at : at + gpus] = [after] * gpus
            slots.sort()
            for column, free_at in zip(self._columns, slots, strict=True):
                column[node] = free_at

    def plan(self, latest: Mapping[int, float]) -> Plan:
        """Paper to book a line on. `latest`: for each size of task, when the last of that size will start at most.

        Nodes that come free for none of them by then are left out; infinite keeps them all.
        """
        top = self.per_node - 1
        by_level: dict[int, float] = {}
        for gpus, until in latest.items():
            level = min(gpus - 1, top)
            by_level[level] = max(until, by_level.get(level, until))
        rows = list(zip(*self._columns, strict=True))
        if inf not in by_level.values():
            limits = tuple(by_level.items())
            rows = [row for row in rows if any(row[level] <= until for level, until in limits)]
        return Plan(rows, tuple(by_level), self.per_node)

    def fits(self, gpus: int, now: float) -> bool:
        """Whether a task of so many GPUs could start now."""
        if gpus <= self.per_node:
            return min(self._columns[gpus - 1]) <= now
        return len(self._wholly_free(gpus, now)) >= -(-gpus // self.per_node)

    def start(self, need: Need, now: float) -> Shares | None:
        """Place a task now, where it disturbs least; None when there is no room.

        Tight nodes before loose ones; beside work that ends when it ends; a wholly free node last. So whole nodes
        come free together, for the gangs that need them.
        """
        end = now + need.hours
        if need.gpus > self.per_node:
            nodes = self._wholly_free(need.gpus, now)
            count = -(-need.gpus // self.per_node)
            if len(nodes) < count:
                return None
            sizes = [self.per_node] * (count - 1) + [need.gpus - self.per_node * (count - 1)]
            shares = tuple(zip(nodes[:count], sizes, strict=True))
        else:
            node = self._best_node(need.gpus, now, end)
            if node is None:
                return None
            shares = ((node, need.gpus),)
        for node, gpus in shares:
            self.hold(node, gpus, end)
        return shares

    def book(self, need: Need, now: float) -> float:
        """Plan a task at the earliest time left for it from now on; gives its start, infinite if it never fits."""
        gpus, hours = need
        columns = self._columns
        if gpus <= self.per_node:
            column = columns[gpus - 1]
            free_at = min(column)
            begin = free_at if free_at > now else now
            self.hold(column.index(free_at), gpus, begin + hours)
            return begin
        latest, count = columns[-1], -(-gpus // self.per_node)
        if count > len(latest):
            return inf
        last = sorted(latest)[count - 1]
        nodes = [node for node, at in enumerate(latest) if at < last]
        nodes += [node for node, at in enumerate(latest) if at == last][: count - len(nodes)]
        begin = max(now, last)
        for node in nodes:
            for column in columns:
                column[node] = begin + hours
        return begin

    def _wholly_free(self, gpus: int, now: float) -> list[int]:
        count = -(-gpus // self.per_node)
        found: list[int] = []
        for node, at in enumerate(self._columns[-1]):
            if at <= now:
                found.append(node)
                if len(found) == count:
                    break
        return found

    def _best_node(self, gpus: int, now: float, end: float) -> int | None:
        columns = self._columns
        if min(columns[gpus - 1]) > now:
            return None
        latest, best, least = columns[-1], None, 0.0
        seen_empty = False
        for node in [node for node, at in enumerate(columns[gpus - 1]) if at <= now]:
            last = latest[node]
            if last <= now:
                # Wholly free nodes are all alike.
                if seen_empty:
                    continue
                seen_empty = True
                score = _OUTLIVES * (end - now) + self.per_node - gpus
                score += _BREAKS_IN if gpus < self.per_node else 0.0
            else:
                free = gpus
                while columns[free][node] <= now:
                    free += 1
                score = (_OUTLIVES * (end - last) if end > last else _OUTLIVED * (last - end)) + free - gpus
            if best is None or score < least:
                best, least = node, score
        return best


class Plan:
    """A line booked on paper as `Outlook.book` would, and quicker: a row a node, columns only for the line's sizes."""

    __slots__ = ("_columns", "_levels", "_rows", "per_node")

    def __init__(self, rows: list[tuple[float, ...]], levels: tuple[int, ...], per_node: int) -> None:
        """`rows`: free-at times of each node, rising; `levels`: the columns that the line's sizes ask for."""
        self.per_node = per_node
        self._levels = levels
        self._rows = rows
        self._columns = [[row[level] for row in rows] for level in levels]

    def copy(self) -> Plan:
        """The same, to go on from."""
        twin = Plan.__new__(Plan)
        twin.per_node, twin._levels, twin._rows = self.per_node, self._levels, self._rows[:]
        twin._columns = [column[:] for column in self._columns]
        return twin

    def when(self, gpus: int, now: float) -> float:
        """When a task of so many GPUs would start; infinite if never."""
        column = self._columns[self._levels.index(min(gpus, self.per_node) - 1)]
        if gpus <= self.per_node:
            return max(now, min(column))
        count = -(-gpus // self.per_node)
        return max(now, sorted(column)[count - 1]) if count <= len(column) else inf

    def book(self, needs: Iterable[Need], now: float) -> list[float]:
        """Book the tasks one after the other, each at the earliest time left for it; gives their starts."""
        rows, per_node = self._rows, self.per_node
        columns = list(zip(self._levels, self._columns, strict=True))
        by_gpus = {level + 1: column for level, column in columns}
        starts: list[float] = []
        for gpus, hours in needs:
            if gpus > per_node:
                starts.append(self._book_gang(by_gpus[per_node], Need(gpus, hours), now))
                continue
            column = by_gpus[gpus]
            begin = min(column)
            node = column.index(begin)
            if begin < now:
                begin = now
            starts.append(begin)
            end = begin + hours
            rest = rows[node][gpus:]
            at = bisect_left(rest, end)
            rows[node] = row = rest[:at] + (end,) * gpus + rest[at:]
            for level, each in columns:
                each[node] = row[level]
        return starts

    def _book_gang(self, latest: list[float], need: Need, now: float) -> float:
        count = -(-need.gpus // self.per_node)
        if count > len(latest):
            return inf
        nodes: list[int] = []
        node, before = 0, -inf
        soonest = sorted(latest)[:count]
        for free_at in soonest:
            node = latest.index(free_at, node + 1 if free_at == before else 0)
            nodes.append(node)
            before = free_at
        begin = max(now, before)
        end = begin + need.hours
        row = (end,) * self.per_node
        for node in nodes:
            self._rows[node] = row
            for column in self._columns:
                column[node] = end
        return begin
