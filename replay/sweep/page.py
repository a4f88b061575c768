"""The page of a sweep: for each trace the picture of cost against wait, and the table behind it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from replay.charts import Caption, Dot, scatter, words
from replay.report.page import page, paragraph, table
from replay.sweep.summary import Row, Spread, Summary

_NUMBERS = ("mean wait, h", "p99 wait, h", "cost", "rented GPU-h", "on-prem use", "unfinished")
HEADINGS = ("policy", "seeds", *_NUMBERS, "beaten by none in")
NUMBERS = ("seeds", *_NUMBERS)


def sweep_page(found: Summary, settings: Sequence[tuple[str, str]]) -> str:
    """One self-contained document; the same summary gives the same bytes."""
    return page("Spillway sweep", _parts(found, settings))


def cells_of(row: Row) -> tuple[str, ...]:
    """A row as people read it; figures are means, with the standard deviation over seeds where there are several."""
    several = len(row.seeds) > 1
    return (
        row.policy,
        str(len(row.seeds)),
        _shown(row.figures["mean_wait_h"], ".3f", several),
        _shown(row.figures["p99_wait_h"], ".2f", several),
        f"{_shown(row.figures['cloud_cost'], ',.0f', several)} {row.currency}",
        _shown(row.figures["paid_gpu_h"], ",.0f", several),
        f"{100 * row.mean('on_prem_use'):.0f} %",
        _shown(row.figures["unfinished"], ",.0f", several),
        marks(row),
    )


def marks(row: Row) -> str:
    """In which of the two pictures the policy is on the front."""
    both = (("mean", row.is_best_by_mean), ("p99", row.is_best_by_p99))
    return " ".join(f"* {name}" for name, is_best in both if is_best)


def _parts(found: Summary, settings: Sequence[tuple[str, str]]) -> Iterator[str]:
    for number, (trace, members) in enumerate(groupby(found.rows, key=lambda row: row.trace)):
        rows = list(members)
        yield f"<h2>{words(trace)}</h2>"
        yield _picture(rows, f"s{number}-mean", "mean_wait_h", "mean wait")
        yield _picture(rows, f"s{number}-p99", "p99_wait_h", "p99 wait")
        caption = f"Means over seeds, with the standard deviation; * marks policies that no other beats, {trace}"
        yield table(caption, HEADINGS, [cells_of(row) for row in rows], numbers=NUMBERS)
    if found.failed:
        yield "<h2>Cells without figures</h2>"
        yield table("Cells that failed; the same call runs them again", ("cell", "why"), found.failed)
    yield "<h2>Settings</h2>"
    yield table("What all cells share", ("setting", "value"), settings)


def _picture(rows: Sequence[Row], key: str, figure: str, wait: str) -> str:
    dots = [_dot(row, figure, wait) for row in rows]
    named = ", ".join(dot.name for dot in dots if dot.is_best)
    said = f"Left and low is better. Filled and joined, for no other policy is as good in both: {named}."
    drawn = scatter(
        Caption(key=key, title=f"Cost against {wait}", words=said),
        (f"cloud cost, {rows[0].currency}", f"{wait}, hours"),
        dots,
    )
    return f"<h3>Cost against {words(wait)}</h3>{drawn}{paragraph(said, is_soft=True)}"


def _dot(row: Row, figure: str, wait: str) -> Dot:
    cost, hours = row.mean("cloud_cost"), row.mean(figure)
    return Dot(
        name=row.policy,
        x=cost,
        y=hours,
        words=f"{row.policy}: {cost:,.0f} {row.currency}, {wait} {hours:.3f} h, {len(row.seeds)} seeds",
        is_best=row.is_best_by_mean if figure == "mean_wait_h" else row.is_best_by_p99,
    )


def _shown(spread: Spread | None, shape: str, several: bool) -> str:
    if spread is None:
        return "-"
    mean = format(spread.mean, shape)
    return f"{mean} ± {format(spread.deviation, shape)}" if several else mean
