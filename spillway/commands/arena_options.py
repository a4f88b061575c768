"""What the commands that replay read alike from their options: the owned nodes and the spot markets."""

from __future__ import annotations

from agent.errors import BadCall
from contract.catalog import Catalog
from replay.spot_history import SpotHistory, shipped_history

GPUS_PER_NODE = 8


def owned_nodes(on_prem: int, rows: Catalog) -> int:
    """Nodes of 8 for so many GPUs; 0: those of the catalogue. Raises BadCall."""
    if not on_prem:
        return sum(int(row.quota) for row in rows.onprem_pools())
    if on_prem % GPUS_PER_NODE:
        raise BadCall(f"{on_prem} GPUs are no whole nodes of 8", target="--on-prem", hint="give a multiple of 8")
    return on_prem // GPUS_PER_NODE


def spot_markets(rows: Catalog) -> dict[str, SpotHistory]:
    """The shipped recording for every spot pool of the catalogue."""
    history = shipped_history()
    return {row.pool: history for row in rows.cloud_pools() if row.is_preemptible}
