"""`spillway catalog show|check`: the catalogue as a table, and its problems with row and fix."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from agent.core.costing import gpu_cost
from contract.catalog import Catalog, PoolRow, read_catalog
from contract.units import show_duration
from spillway.output import Format, OutputOption, console, print_json, table

app = typer.Typer(help="The supply of compute: pools, prices, quotas.", no_args_is_help=True)
FileOption = Annotated[Path, typer.Option("--file", "-f", help="the catalogue")]
_DEFAULT = Path("stacks/catalog.yaml")
_HEADINGS = ("pool", "cluster", "node", "nodes", "billing", "per node-hour", "per GPU-hour", "price of", "boots in")


@app.command("show")
def show(file: FileOption = _DEFAULT, output: OutputOption = Format.TEXT) -> None:
    """Show every pool with what it costs."""
    catalog = read_catalog(file)
    if output is Format.JSON:
        pools = [_as_data(catalog, row) for row in catalog.pools.values()]
        print_json({"home_currency": catalog.home_currency, "pools": pools})
        return
    rows = [_as_cells(catalog, row) for row in catalog.pools.values()]
    console().print(table(_HEADINGS, rows, numbers=("nodes", "per node-hour", "per GPU-hour")))


@app.command("check")
def check(file: FileOption = _DEFAULT, output: OutputOption = Format.TEXT) -> None:
    """Check the catalogue; bad rows are named with row, column and fix, and the exit code is 2."""
    catalog = read_catalog(file)
    if output is Format.JSON:
        print_json({"file": str(file), "pools": len(catalog.pools), "problems": []})
        return
    cloud = catalog.cloud_pools()
    nodes = sum(row.quota for row in cloud)
    total = len(catalog.pools)
    console().print(f"{file}: {total} pools are good; {len(cloud)} of them can be rented, {nodes} nodes at most")


def _as_cells(catalog: Catalog, row: PoolRow) -> tuple[str, ...]:
    boots = f"{show_duration(row.boot.fastest)}-{show_duration(row.boot.slowest)}" if row.is_cloud else "is there"
    return (
        row.pool,
        row.cluster,
        f"{row.gpus_per_node}x {row.gpu_model} {row.gpu_memory}G",
        str(row.quota),
        row.billing.value,
        str(row.price),
        str(gpu_cost(catalog, row)),
        row.price_date.isoformat(),
        boots,
    )


def _as_data(catalog: Catalog, row: PoolRow) -> dict[str, object]:
    return {
        "pool": row.pool,
        "site": row.site,
        "cluster": row.cluster,
        "provider": row.provider.value,
        "region": row.region,
        "instance_types": list(row.instance_types),
        "gpu_model": row.gpu_model.value,
        "gpus_per_node": row.gpus_per_node,
        "gpu_memory_gib": row.gpu_memory,
        "quota_nodes": row.quota,
        "billing": row.billing.value,
        "price_per_node_hour": {"amount": str(row.price.amount), "currency": row.price.currency},
        "price_in_home_currency": str(catalog.in_home_currency(row.price).amount),
        "price_date": row.price_date.isoformat(),
        "price_source": row.price_source,
        "labels": row.node_labels(),
    }
