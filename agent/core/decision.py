"""What a decision is made of: evidence, reasons, alternatives, proposals, and the decision itself.

All data, no behaviour beyond reading it: explain.py makes sentences, the ledger keeps it whole.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from contract.units import Money, Nodes


class Action(StrEnum):
    """What a proposal wants."""

    HOLD = "hold"
    GROW = "grow"
    SHRINK = "shrink"
    VACATE = "vacate"


class ReasonCode(StrEnum):
    """Why something was done, not done, or done less; the codes that log, API and CLI show."""

    TRIGGERED = "triggered"
    BELOW_THRESHOLD = "below_threshold"
    FALLING = "falling"
    WINDOW_TOO_SHORT = "window_too_short"
    SIGNAL_UNKNOWN = "signal_unknown"
    COVERED_BY_COMING = "covered_by_coming"
    NOTHING_FITS = "nothing_fits"
    NO_IDLE_NODE = "no_idle_node"
    OVERDUE_NODE = "overdue_node"
    UNFILLED_ORDER = "unfilled_order"
    HALF_GANG = "half_gang"
    POOL_UNKNOWN = "pool_unknown"
    BACKED_OFF = "backed_off"
    OFF_HOURS = "off_hours"
    NOT_SETTLED = "not_settled"
    WORTH_WAITING = "worth_waiting"
    QUOTA = "quota"
    STEP_LIMIT = "step_limit"
    COOL_DOWN = "cool_down"
    NODE_LIMIT = "node_limit"
    COST_LIMIT = "cost_limit"
    POOL_LIMIT = "pool_limit"
    BUDGET = "budget"
    ORDER = "order"
    RECLAIMED = "reclaimed"
    KEPT = "kept"
    DEARER = "dearer"
    TOO_SMALL = "too_small"
    LITTLE_MEMORY = "little_memory"
    OTHER_LABELS = "other_labels"
    NO_SPOT = "no_spot"
    NOT_HOSTED = "not_hosted"
    DATA_STAYS = "data_stays"
    LATENCY = "latency"
    NO_CPU_POOL = "no_cpu_pool"
    KIND_BILLING = "kind_billing"
    TIER_BILLING = "tier_billing"
    DEADLINE = "deadline"
    GANG = "gang"
    OUTRANKED = "outranked"
    NOTHING_TO_DO = "nothing_to_do"
    OFF = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A code for machines and a clause for people."""

    code: ReasonCode
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One measured thing beside what was asked of it; `met` None where nothing could be measured."""

    name: str
    seen: str
    wanted: str
    met: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolChange:
    """A new configured size of one pool. `victims` are the instance ids that shall go, all of them.

    `replaces`: the nodes under notice whose replacements a growth brings, or whose places a shrink ends. `units`: a
    growth may be cut only between these counts, for part of a gang's nodes is worth nothing; none: anywhere.
    """

    pool: str
    stack: str
    before: Nodes
    after: Nodes
    victims: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()
    units: tuple[int, ...] = ()

    @property
    def delta(self) -> int:
        """Nodes more (positive) or fewer."""
        return self.after - self.before


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacated:
    """A node that takes no new work, and the tasks whose pods are to leave it; no pool changes its size by it."""

    node: str
    pool: str
    instance: str
    tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """Something else that could have been done, its cost per hour, and why it was not."""

    what: str
    cost_per_hour: Money
    lost_because: Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """One policy's opinion. A HOLD has no changes and always a reason.

    A VACATE has none either: `vacates` are nodes to be emptied, `releases` nodes that take work again.
    """

    policy: str
    action: Action
    reason: Reason
    evidence: tuple[Evidence, ...] = ()
    changes: tuple[PoolChange, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    vacates: tuple[Vacated, ...] = ()
    releases: tuple[Vacated, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The outcome of one tick. `cost_per_hour` is the change of the bill, negative when shrinking.

    `caps` say how the chosen proposal was cut down; `rejected` are the other proposals, each with the
    reason it lost.
    """

    taken_at: datetime
    chosen: Proposal
    cost_per_hour: Money
    caps: tuple[Reason, ...] = ()
    rejected: tuple[tuple[Proposal, Reason], ...] = ()

    @property
    def action(self) -> Action:
        """What is to be done."""
        return self.chosen.action

    @property
    def changes(self) -> tuple[PoolChange, ...]:
        """The pools whose size changes."""
        return self.chosen.changes
