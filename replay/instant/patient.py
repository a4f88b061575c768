"""Discrete events of a trace under the shipped wait-or-pay rule (agent/core/wait_or_pay.py), cloud without limit.

Same instants and same books as engine.py, so that the two can be compared job by job. Decides nothing itself.
"""

from __future__ import annotations

from heapq import heappop, heappush
from math import inf

from agent.core.outlook import Need, Outlook
from agent.core.wait_or_pay import Waiting, WaitingRoom, waiting
from replay.instant.jobs import Columns, Outcome


def run_patient(columns: Columns, nodes: int, patience: float, per_node: int = 8) -> Outcome:
    """Every job's start and place. `patience`: hours of wait that one GPU-hour of cloud is worth."""
    room = WaitingRoom(Outlook(nodes, per_node), patience)
    arrivals, runtimes, gpus = columns.arrival_h, columns.runtime_h, columns.gpus
    count, coming = len(gpus), 0
    start, cloud = [0.0] * count, [False] * count
    ends: list[float] = []

    def begin(job: int, now: float) -> None:
        start[job] = now
        heappush(ends, now + runtimes[job])

    def leave(task: Waiting, now: float) -> None:
        job = int(task.name)
        start[job], cloud[job] = now, True

    while coming < count or ends:
        now = min(ends[0] if ends else inf, arrivals[coming] if coming < count else inf)
        came_free = False
        while ends and ends[0] <= now:
            heappop(ends)
            came_free = True
        if came_free:
            for task, _ in room.freed(now):
                begin(int(task.name), now)
        while coming < count and arrivals[coming] <= now:
            task = waiting(coming, Need(gpus[coming], runtimes[coming]), now, patience)
            verdict = room.arrive(task, now)
            if verdict.started is not None:
                begin(coming, now)
            for other in verdict.leaving:
                leave(other, now)
            coming += 1
    return Outcome(columns=columns, nodes=nodes, per_node=per_node, start_h=start, in_cloud=cloud)
