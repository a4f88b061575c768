"""What the rented machines cost: per second, by node, exact.

Both clouds bill per second with a minimum of 60 s (AWS: "EC2 On-Demand pricing", Linux, per-second
billing with a 60-second minimum; Alibaba pay-as-you-go GPU instances: per second). The twin starts
at the accepted launch and ends when the machine is gone: both clouds stop a little earlier, so a
bill here is never too low. Owned machines are not billed. Must not round: rounding is for reports.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from contract.catalog import Catalog
from contract.units import Money, zero
from sim.world.nodes import Node, Phase

MINIMUM_S = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """One line of the bill. `cost` is in the currency of the price, `home_cost` at home."""

    node: str
    instance_id: str
    pool: str
    from_s: float
    to_s: float
    is_open: bool
    seconds: int
    cost: Money
    home_cost: Money


@dataclass(frozen=True, slots=True)
class Bill:
    """All charges up to a moment."""

    charges: tuple[Charge, ...]
    currency: str

    @property
    def total(self) -> Money:
        """The sum in the home currency."""
        return sum((charge.home_cost for charge in self.charges), zero(self.currency))

    def by_pool(self) -> dict[str, Money]:
        """Sums in the home currency, pools in order of their first charge."""
        sums: dict[str, Money] = {}
        for charge in self.charges:
            sums[charge.pool] = sums.get(charge.pool, zero(self.currency)) + charge.home_cost
        return sums


def billed_seconds(from_s: float, to_s: float) -> int:
    """Whole seconds, a begun one counts, never below the minimum."""
    return max(MINIMUM_S, math.ceil(to_s - from_s))


def cost_of(price: Money, seconds: int) -> Money:
    """What `seconds` cost at a price per hour."""
    return Money(price.amount * seconds / Decimal(3600), price.currency)


def make_bill(catalog: Catalog, nodes: Iterable[Node], now_s: float) -> Bill:
    """The bill of these machines as of now."""
    rented = (node for node in nodes if not node.is_local)
    charges = tuple(_charge(catalog, node, now_s) for node in rented)
    return Bill(charges, catalog.home_currency)


def _charge(catalog: Catalog, node: Node, now_s: float) -> Charge:
    to_s = node.entered_s.get(Phase.GONE, now_s)
    seconds = billed_seconds(node.ordered_s, to_s)
    cost = cost_of(node.row.price, seconds)
    return Charge(
        node=node.name,
        instance_id=node.instance_id,
        pool=node.row.pool,
        from_s=node.ordered_s,
        to_s=to_s,
        is_open=node.phase is not Phase.GONE,
        seconds=seconds,
        cost=cost,
        home_cost=catalog.in_home_currency(cost),
    )
