"""A replay for people and for machines: the table, the best possible, the differences; the same as JSON."""

from __future__ import annotations

from collections.abc import Mapping

from rich.markup import escape

from replay.contest import Result
from replay.headline import Headline
from replay.played import Played
from spillway.output import console, plain, table

_NUMBERS = (
    "mean wait",
    "p99 wait",
    "cloud GPU-h",
    "rented",
    "cost",
    "on-prem use",
    "cloud use",
    "idle",
    "turns",
    "s",
)


def as_data(played: Played) -> Mapping[str, object]:
    """One trace with all results as plain JSON values; amounts of money are texts with their digits."""
    trace, best = played.arena.trace, played.best
    data: dict[str, object] = {
        "trace": trace.name,
        "world": played.arena.world.value,
        "jobs": len(trace.jobs),
        "gpu_h": trace.gpu_hours,
        "on_prem_gpus": played.arena.owned_nodes * played.arena.per_node,
        "bad_rows": len(trace.bad_rows),
        "left_out": trace.left_out,
        "seed": played.arena.truth.seed,
        "estimates": played.arena.truth.estimates.value,
        "policies": [_policy(result.headline) for result in played.results],
        "differences": [plain(difference) for difference in played.differences],
    }
    if best is not None:
        data["optimum" if best.is_optimum else "lower_bound"] = {
            "cloud_gpu_h": best.gpu_h,
            "mean_wait_h": best.mean_wait_h,
            "gap": best.gap,
            "how": best.how,
        }
    else:
        data["lower_bound"] = None
    return data


def show(played: Played) -> None:
    """The comparison on standard output."""
    out, arena = console(), played.arena
    trace = arena.trace
    left = f", {len(trace.bad_rows)} bad rows left out" if trace.bad_rows else ""
    out.print(
        f"[bold]{escape(trace.name)}[/]: {len(trace.jobs)} jobs, {trace.gpu_hours:,.0f} GPU-h, "
        f"{arena.owned_nodes * arena.per_node} owned GPUs, world {arena.world}{left}"
    )
    out.print(table(("policy", *_NUMBERS), [_row(result) for result in played.results], numbers=_NUMBERS))
    for result in played.results:
        if unfinished := result.headline.unfinished:
            out.print(
                f"[bold]{escape(result.headline.policy)}[/] leaves {unfinished} of {result.headline.jobs} jobs "
                "unfinished 30 days after the last should have ended: their waits so far are in the figures."
            )
    _show_best(played)
    _show_differences(played)


def _show_best(played: Played) -> None:
    out, best, judged = console(), played.best, played.results[0].headline
    if best is None:
        out.print("Best possible: no bound above 0 is known at this mean wait.")
        return
    what = "the optimum" if best.is_optimum else "no schedule does with less than"
    gap = "" if best.gap is None else f"; at most {100 * best.gap:.0f} % of what {judged.policy} uses can be saved"
    out.print(f"At a mean wait of {best.mean_wait_h:.3f} h {what} {best.gpu_h:,.0f} cloud GPU-h ({best.how}){gap}.")


def _show_differences(played: Played) -> None:
    out = console()
    others = {difference.other for difference in played.differences}
    for result in played.results[1:]:
        if result.headline.policy not in others:
            continue
        mine = [difference for difference in played.differences if difference.other == result.headline.policy]
        heaviest = max(mine, key=lambda difference: abs(difference.gpu_h))
        more = "more" if heaviest.gpu_h > 0 else "fewer"
        out.print(
            f"{result.headline.policy} instead: most from {heaviest.since:%Y-%m-%d %H:%M} to "
            f"{heaviest.until:%Y-%m-%d %H:%M}, {abs(heaviest.gpus):.0f} GPUs {more}, {heaviest.gpu_h:+,.0f} GPU-h; "
            f"in all {_bill(played.results[0], result)}."
        )


def _bill(first: Result, other: Result) -> str:
    delta = other.headline.cloud_cost - first.headline.cloud_cost
    return f"{delta} more" if delta.amount >= 0 else f"{-delta} less"


def _row(result: Result) -> tuple[str, ...]:
    it = result.headline
    return (
        it.policy,
        f"{it.mean_wait_h:.3f} h",
        f"{it.p99_wait_h:.2f} h",
        f"{it.cloud_gpu_h:,.0f}",
        f"{it.paid_gpu_h:,.0f}",
        str(it.cloud_cost),
        f"{100 * it.on_prem_use:.0f} %",
        _share(it.cloud_use),
        _share(it.idle_share),
        "-" if it.direction_changes is None else str(it.direction_changes),
        f"{it.seconds:.1f}",
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _policy(it: Headline) -> Mapping[str, object]:
    """Money becomes an amount with its currency beside it."""
    shown = plain(it)
    data: dict[str, object] = dict(shown) if isinstance(shown, dict) else {}
    data["cloud_cost"] = float(it.cloud_cost.amount)
    data["currency"] = it.cloud_cost.currency
    data["spend_by_department"] = {name: float(money.amount) for name, money in it.spend_by_department.items()}
    return data
