"""The doors of the agent: Protocols that adapters satisfy and that tests fill with small fakes.

A method raises the errors named in its docstring, all from agent.errors, and no others.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from agent.core.config_change import ConfigChange
from agent.core.decision import Decision
from agent.core.ended_work import EndedPod, EndedTask, SeenWork
from agent.core.guard import Preview
from agent.core.memory import Memory
from agent.core.phases import NodeEvent
from agent.core.policy import Policy
from agent.core.readings import ClusterReading, PoolBinding, PoolReading, UseReading
from agent.core.runtime_estimate import RuntimeBook
from agent.core.snapshot import Order, Snapshot
from contract.units import Nodes


class Clock(Protocol):
    """Where the shell gets the time; the core gets it as a field of the snapshot."""

    def now(self) -> datetime:
        """The current time, with its zone."""


class MetricsReader(Protocol):
    """Prometheus."""

    def local_use(self, now: datetime) -> UseReading:
        """GPU use of the owned site. Never raises: what cannot be believed is Unknown in the reading."""


class ClusterReader(Protocol):
    """One Kubernetes cluster, read only."""

    def read(self) -> ClusterReading:
        """Nodes and the pods that ask for GPUs. Raises SignalUnavailable, NotAuthorised."""


class EndedReader(Protocol):
    """One Kubernetes cluster, what has ended there."""

    def read(self) -> tuple[EndedPod, ...]:
        """Pods with GPUs that have ended and are still shown. Raises SignalUnavailable, NotAuthorised."""


class NodeGate(Protocol):
    """One Kubernetes cluster, the writes that a drain needs."""

    def cordon(self, node: str) -> None:
        """Keep new work off a node; harmless when already so. Raises DrainRefused, SignalUnavailable."""

    def uncordon(self, node: str) -> None:
        """Let work onto a node again; harmless when the node is gone. Raises SignalUnavailable."""

    def busy_gpus(self, node: str) -> int:
        """GPUs held on a node right now. Raises SignalUnavailable."""

    def evict(self, node: str, tasks: Collection[str]) -> tuple[str, ...]:
        """Ask the cluster to end the pods of these tasks on a node; gives those that a disruption budget keeps.

        Only pods that hold GPUs, and of no other task. Raises SignalUnavailable.
        """


class CloudReader(Protocol):
    """One cloud: what it counts to a pool, and protection against its own scale-in."""

    def read_pools(self, bindings: Sequence[PoolBinding]) -> Mapping[str, PoolReading]:
        """Instances and the last launch failure by pool, all pools of one region in as few calls as it takes.

        Raises CloudUnavailable, CloudRefused, NotAuthorised.
        """

    def set_protection(self, binding: PoolBinding, instance_ids: Sequence[str], *, protected: bool) -> None:
        """Protect instances against scale-in, or end it; harmless when already so. Raises as read_pools."""

    def hold_still(self, binding: PoolBinding) -> None:
        """Keep the cloud from moving machines of a pool by itself, such as for zone balance (I29).

        Harmless when already so. Raises as read_pools.
        """


class StackDriver(Protocol):
    """Pulumi. One writer a stack; every call names its stack."""

    def read_file(self, stack: str) -> str:
        """The stack file's text. Raises StackMissing, StackUnreadable."""

    def bindings(self, stack: str) -> Mapping[str, PoolBinding]:
        """The pools that the stack's state holds. Raises StackMissing, StackUnreadable, PulumiTimeout."""

    def preview(self, stack: str, candidate: str) -> Preview:
        """What `candidate` as the stack's file would do; touches nothing.

        Raises StackMissing, StackUnreadable, PreviewRefused, PulumiTimeout.
        """

    def replace_file(self, stack: str, expected: str, candidate: str) -> None:
        """Put `candidate` in place atomically if the file still holds `expected`. Raises ConfigConflict."""

    def apply(self, stack: str, message: str) -> Mapping[str, PoolBinding]:
        """`pulumi up`; gives the new bindings. Raises StackLocked, ApplyFailed, PulumiTimeout and as preview."""

    def recover(self, stack: str) -> tuple[str, ...]:
        """Release a lock whose owner is proven dead and refresh a state with updates cut short; says what was done.

        Raises StackLocked, PendingOperations, and what a refresh raises.
        """


class ChangeState(StrEnum):
    """How far the carrying out of one stack's change came.

    Open: STARTED (alone: killed in between), UNSETTLED (its outcome or its clean-up is not known yet),
    APPLIED for a shrink (its nodes are still to be seen gone). The others are final.
    """

    STARTED = "started"
    UNSETTLED = "unsettled"
    APPLIED = "applied"
    REFUSED = "refused"
    FAILED = "failed"
    WITHDRAWN = "withdrawn"
    VERIFIED = "verified"


@dataclass(frozen=True, slots=True, kw_only=True)
class TickRecord:
    """One tick as the ledger keeps it: inputs, decision, and the memory that the next tick starts from.

    `decided` is what decide() said on these inputs; `decision` what the second look left of it.
    """

    snapshot: Snapshot
    policy: Policy
    memory_before: Memory
    decided: Decision
    decision: Decision
    memory_after: Memory
    events: tuple[NodeEvent, ...]
    withdrawn: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredDecision:
    """A decision read back from the ledger, as the second look left it."""

    id: int
    decision: Decision
    withdrawn: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredInputs:
    """What a decision was made on, and what decide() said: enough to make it again."""

    snapshot: Snapshot
    policy: Policy
    memory: Memory
    decided: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChange:
    """A stack change read back, with the last word on it."""

    id: int
    decision_id: int
    stack: str
    before: Mapping[str, Nodes]
    after: Mapping[str, Nodes]
    victims: Mapping[str, tuple[str, ...]]
    candidate_digest: str
    state: ChangeState
    detail: str
    at: datetime

    @property
    def is_open(self) -> bool:
        """Whether something is left to do or to see. `victims` has an entry for each pool that shrinks."""
        if self.state is ChangeState.APPLIED:
            return bool(self.victims)
        return self.state in (ChangeState.STARTED, ChangeState.UNSETTLED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancellation:
    """The end of an order before its time: who, why, when."""

    who: str
    why: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredOrder:
    """A person's order read back. An order is never changed: it ends by its time or is cancelled."""

    order: Order
    cancelled: Cancellation | None

    def is_in_force(self, now: datetime) -> bool:
        """Whether it binds the agent now."""
        return self.cancelled is None and self.order.is_active(now)


class Sensor(Protocol):
    """All senses together."""

    def snapshot(self) -> Snapshot:
        """One picture of now. Raises only what makes every decision void: StackMissing, StackUnreadable."""

    def work(self) -> SeenWork:
        """What the last picture's readings told of ended work and of that at work. Asks nobody; never raises."""

    def forget(self) -> None:
        """Reuse no earlier reading: something was changed."""


class LedgerStore(Protocol):
    """Append-only memory of all that was seen, decided and done. Every method raises LedgerBroken."""

    def memory(self) -> Memory:
        """Where the last tick left off; an empty memory at the first start."""

    def record(self, tick: TickRecord) -> int:
        """Keep a tick whole or not at all; gives the decision's id. Durable when it returns."""

    def remember(self, decision_id: int, memory: Memory) -> None:
        """Keep what the carrying out of a decision taught; the next tick starts from it."""

    def begin(self, decision_id: int, change: ConfigChange, candidate_digest: str, at: datetime) -> int:
        """Keep the intent before anything is touched; gives the change's id. Durable when it returns."""

    def end(self, change_id: int, state: ChangeState, detail: str, at: datetime) -> None:
        """Keep how a change ended."""

    def open_changes(self) -> tuple[StoredChange, ...]:
        """Changes that are STARTED or UNSETTLED, and shrinks that are APPLIED, oldest first."""

    def changes(self, limit: int) -> tuple[StoredChange, ...]:
        """The newest changes, newest first."""

    def decisions(self, limit: int, *, actions_only: bool) -> tuple[StoredDecision, ...]:
        """The newest decisions, newest first."""

    def decision(self, decision_id: int) -> StoredDecision | None:
        """One decision by id."""

    def inputs(self, decision_id: int) -> StoredInputs | None:
        """What a decision was made on. Raises InputsUnreadable when another version stored what this cannot read."""

    def keep_ended(self, tasks: Sequence[EndedTask]) -> None:
        """Keep tasks that ended, each once: the first word on a task counts. Durable when it returns.

        Only the newest of a kin are kept, and of all: what the book would not use any more goes.
        """

    def ended_tasks(self) -> tuple[EndedTask, ...]:
        """The tasks that are kept, in the order in which they ended."""

    def runtimes(self) -> RuntimeBook:
        """What the kept tasks teach; the same after a restart."""

    def give_order(self, order: Order) -> Order:
        """Keep a person's order; gives it back with its number, whatever number it had. Durable when it returns."""

    def cancel_order(self, number: int, cancellation: Cancellation) -> None:
        """Keep that an order ends now. The first cancellation counts; harmless when it is over already."""

    def orders(self) -> tuple[StoredOrder, ...]:
        """All orders ever given, oldest first."""
