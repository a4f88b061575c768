"""When would each waiting task start on the owned nodes, if nobody else came? A plan by GPU slots, cheap to ask.

For every node the times at which its GPUs come free are kept in rising order, by columns: column k holds, node by
node, when the (k+1)-th GPU of the node comes free. A task of g GPUs starts where column g-1 is least, a gang above one
node when enough nodes are wholly free. Slots are used up in order: no one is planned into a hole before a later
start. That errs on the careful side and costs a few microseconds a task. Time in hours from any origin.

Working memory for one caller: it changes as jobs start. No clock, no policy.
"""

from __future__ import annotations

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
