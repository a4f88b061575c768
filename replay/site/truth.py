"""What the real world adds to a trace: boot times, failures, stock, reclaims, minimum billing, wrong estimates.

All of it is drawn from the seed and from recorded histories, so that two policies meet the same world. Values only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random

from contract.catalog import PoolRow
from replay.spot_history import SpotHistory


class Estimates(StrEnum):
    """What a policy is told of runtimes: the truth, up to 3 times too much or too little, the past, nothing."""

    KNOWN = "known"
    WRONG = "wrong-x3"
    LEARNED = "learned"
    NONE = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """Durations in seconds. `spot`: how many nodes of a pool the market has, scaled to the pool's quota.

    `boot_failures`: share of nodes that never become ready. `outages_every_s`: mean time between sell-outs of a
    pool that is not spot, each `outage_s` long; 0: never. `checkpoint_s`: work since the last checkpoint goes with a
    node.
    """

    seed: int = 0
    estimates: Estimates = Estimates.KNOWN
    actuation_s: float = 3.0
    boot_failures: float = 0.01
    minimum_billing_s: float = 60.0
    checkpoint_s: float = 1800.0
    notice_s: float = 120.0
    outages_every_s: float = 10 * 86400.0
    outage_s: float = 2 * 3600.0
    spot: Mapping[str, SpotHistory] = field(default_factory=dict)

    def boots_in(self, row: PoolRow, node: int) -> float | None:
        """Seconds until the node has usable GPUs; None: it never will."""
        draw = Random(f"{self.seed} boot {row.pool} {node}")  # noqa: S311 - a draw of the simulation
        if draw.random() < self.boot_failures:
            return None
        return draw.uniform(row.boot.fastest.total_seconds(), row.boot.slowest.total_seconds())

    def in_stock(self, row: PoolRow, at_s: float) -> int:
        """How many nodes of the pool its cloud can have standing now."""
        if (history := self.spot.get(row.pool)) is not None:
            return round(row.quota * history.available(at_s) / max(1, history.most))
        if not self.outages_every_s:
            return int(row.quota)
        # Whether an outage covers this moment is drawn by slots of its length.
        slot = int(at_s // self.outage_s)
        draw = Random(f"{self.seed} outage {row.pool} {slot}")  # noqa: S311
        sold_out = draw.random() < self.outage_s / self.outages_every_s
        return 0 if sold_out else int(row.quota)

    def estimate_s(self, job: int, runtime_s: float) -> float | None:
        """What is told of a job's runtime at arrival; LEARNED is the engine's business."""
        if self.estimates is Estimates.KNOWN:
            return runtime_s
        if self.estimates is Estimates.WRONG:
            draw = Random(f"{self.seed} estimate {job}")  # noqa: S311
            return float(runtime_s * 3.0 ** draw.uniform(-1.0, 1.0))
        return None
