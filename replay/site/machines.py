"""Rented machines of one pool: ordered, booting, ready, busy, taken back, given back; and what they cost.

Must not decide anything: sizes come from outside, machines and their bill follow.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.core.snapshot import LaunchFailure, NodePhase, NodeView, PoolState
from contract.catalog import PoolRow
from contract.units import Gpus, Nodes

SOLD_OUT = "InsufficientInstanceCapacity"


@dataclass(slots=True, eq=False)
class Machine:
    """One rented node; times in seconds of the trace. `ready_s` infinite: it never comes."""

    name: str
    row: PoolRow
    ordered_s: float
    ready_s: float
    free: int
    jobs: set[int] = field(default_factory=set)
    is_ready: bool = False
    reclaim_s: float | None = None
    gone_s: float | None = None
    empty_since_s: float | None = None
    empty_s: float = 0.0
    used_gpu_s: float = 0.0

    @property
    def takes_work(self) -> bool:
        """Whether a job may start on it."""
        return self.is_ready and self.gone_s is None and self.reclaim_s is None

    def ready(self, now_s: float) -> None:
        """Its GPUs are usable from now on."""
        self.is_ready, self.empty_since_s = True, now_s

    def hold(self, job: int, gpus: int, now_s: float) -> None:
        """A job, or a part of it, starts here."""
        self.jobs.add(job)
        self.free -= gpus
        if self.empty_since_s is not None:
            self.empty_s += now_s - self.empty_since_s
            self.empty_since_s = None

    def release(self, job: int, gpus: int, began_s: float, now_s: float) -> None:
        """A job ended, or was lost."""
        self.jobs.discard(job)
        self.free += gpus
        self.used_gpu_s += gpus * (now_s - began_s)
        if not self.jobs and self.gone_s is None:
            self.empty_since_s = now_s

    def leave(self, now_s: float) -> None:
        """It is gone; nothing more is paid."""
        self.gone_s = now_s
        if self.empty_since_s is not None:
            self.empty_s += now_s - self.empty_since_s
            self.empty_since_s = None

    def paid_s(self, minimum_s: float, now_s: float) -> float:
        """Seconds on the bill."""
        return max(minimum_s, (now_s if self.gone_s is None else self.gone_s) - self.ordered_s)


@dataclass(slots=True, eq=False)
class Pool:
    """A pool's desired size and its machines; gives the agent's view of them, made anew only when something changed."""

    row: PoolRow
    desired: int = 0
    standing: dict[str, Machine] = field(default_factory=dict)
    gone: list[Machine] = field(default_factory=list)
    failure: LaunchFailure | None = None
    _view: PoolState | None = None

    def touch(self) -> None:
        """Something changed: the next view is a new one."""
        self._view = None

    def remove(self, machine: Machine, now_s: float) -> None:
        """A machine leaves the books of the standing."""
        machine.leave(now_s)
        self.gone.append(self.standing.pop(machine.name))
        self._view = None

    def view(self, start: datetime) -> PoolState:
        """The pool as a snapshot holds it."""
        if self._view is None:
            size = Nodes(self.desired)
            self._view = PoolState(
                pool=self.row.pool,
                stack=f"burst-{self.row.provider}",
                configured=size,
                applied=size,
                observed=tuple(_node_view(machine, start) for machine in self.standing.values()),
                failure=self.failure,
            )
        return self._view


def _node_view(machine: Machine, start: datetime) -> NodeView:
    gpus = machine.row.gpus_per_node if machine.is_ready else 0
    reclaim = None if machine.reclaim_s is None else start + timedelta(seconds=machine.reclaim_s)
    return NodeView(
        name=f"node-{machine.name}",
        pool=machine.row.pool,
        phase=NodePhase.GPU_READY if machine.is_ready else NodePhase.BOOTING,
        since=start + timedelta(seconds=machine.ordered_s),
        gpus=Gpus(gpus),
        gpus_used=Gpus(machine.row.gpus_per_node - machine.free if machine.is_ready else 0),
        instance_id=machine.name,
        reclaim_at=reclaim,
    )
