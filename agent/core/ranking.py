"""What a GPU-hour of useful work costs in a pool, and which pool comes first for it (R6.3, R5.2).

    useful = price x (1 + rework + boot + stock)
    rework = nodes x chance an hour x (half of what lies between two checkpoints + slowest boot)
    boot   = slowest boot / runtime, when the runtime is known
    stock  = failures in a row x the policy's penalty

The chance an hour is the middle of the monthly band over 730 h. A gang stops when any node of it goes,
therefore `nodes`: all of them repeat what was not saved and wait for the new one. Work that ends before
its first checkpoint repeats half of itself. A node is paid from its launch, therefore the boot. Reserved
pools come first whatever they cost: they are paid anyway. Exact decimals, so that ties are ties.
"""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple, Protocol

from agent.core.rules.placement import PlacementRules
from contract.catalog import Billing, InterruptionBand, PoolRow
from contract.units import Money

_MONTH_HOURS = 730
# The open band is taken as 20 to 30 %: AWS gives no upper end.
_MONTHLY = {
    InterruptionBand.NONE: Decimal(0),
    InterruptionBand.UNDER_5: Decimal("0.025"),
    InterruptionBand.UNDER_10: Decimal("0.075"),
    InterruptionBand.UNDER_15: Decimal("0.125"),
    InterruptionBand.UNDER_20: Decimal("0.175"),
    InterruptionBand.ABOVE_20: Decimal("0.25"),
}
_LONGEST_CLASS = 16


class Priced(Protocol):
    """What must be known of an offer to weigh it."""

    @property
    def row(self) -> PoolRow: ...
    @property
    def gpu_hour(self) -> Money: ...
    @property
    def failures(self) -> int: ...


class Weight(NamedTuple):
    """The price of a GPU-hour of useful work, and the shares that stand in it besides the price."""

    useful: Decimal
    rework: Decimal
    boot: Decimal
    stock: Decimal


def runtime_class(runtime: timedelta | None) -> timedelta | None:
    """The middle of the span from one power of two of minutes to the next: tasks of one class are weighed alike."""
    if runtime is None:
        return None
    minutes = max(1, runtime // timedelta(minutes=1))
    return timedelta(seconds=90 << min(minutes.bit_length() - 1, _LONGEST_CLASS))


def longest_of_class(runtime: timedelta) -> timedelta:
    """The upper end of the class of a runtime: what ends in time though it takes so long, does so surely."""
    middle = runtime_class(runtime)
    return max(runtime, middle * 4 / 3) if middle is not None else runtime


def weigh(offer: Priced, runtime: timedelta | None, nodes: int, rules: PlacementRules) -> Weight:
    """What the pool costs for work of that runtime on so many nodes at once; 0 nodes: nobody knows for what."""
    row = offer.row
    rework = boot = Decimal(0)
    if nodes and row.interruption is not InterruptionBand.NONE:
        saved = rules.checkpoint_every if runtime is None else min(runtime, rules.checkpoint_every)
        lost = _hours(saved) / 2 + _hours(row.boot.slowest)
        rework = nodes * _MONTHLY[row.interruption] / _MONTH_HOURS * lost
    if runtime is not None:
        boot = _hours(row.boot.slowest) / _hours(runtime)
    stock = offer.failures * Decimal(str(rules.stock_penalty.value)) / 100
    return Weight(offer.gpu_hour.amount * (1 + rework + boot + stock), rework, boot, stock)


def rank(offer: Priced, weight: Weight) -> tuple[bool, Decimal, str]:
    """Sorts pools: reserved, then cheapest for the work, ties by name."""
    return offer.row.billing is not Billing.RESERVED, weight.useful, offer.row.pool


def show_weight(offer: Priced, weight: Weight) -> str:
    """`¥41.20 per useful GPU-hour (¥34.74, rework 0.1 %, boot 18.5 %)`."""
    useful = Money(weight.useful, offer.gpu_hour.currency)
    shares = (("rework", weight.rework), ("boot", weight.boot), ("failures", weight.stock))
    told = [f"{name} {share * 100:.1f} %" for name, share in shares if share]
    if not told:
        return f"{useful} per GPU-hour"
    return f"{useful} per useful GPU-hour ({offer.gpu_hour}, {', '.join(told)})"


@lru_cache(maxsize=4096)
def _hours(span: timedelta) -> Decimal:
    return Decimal(span // timedelta(microseconds=1)) / Decimal(3_600_000_000)
