"""The HTML report of played traces: one page that can be passed on and opened anywhere.

Orders the parts of replay/report/; draws and counts nothing itself.
"""

from __future__ import annotations

from collections.abc import Sequence

from replay.charts import words
from replay.played import Played
from replay.report import sections
from replay.report.page import page


def report(played: Sequence[Played]) -> str:
    """One self-contained document; the same runs give the same bytes but for CPU time, which is not in it."""
    names = ", ".join(one.arena.trace.name for one in played)
    return page(f"Spillway replay: {names}", (_trace(number, one) for number, one in enumerate(played)))


def _trace(number: int, one: Played) -> str:
    key = f"t{number}"
    parts = (
        *sections.headline_part(one),
        *sections.timeline_part(one, key),
        *sections.scatter_part(one, key),
        *sections.bars_part(one, key),
        *sections.decisions_part(one),
        *sections.differences_part(one),
        *sections.settings_part(one),
    )
    return f"<section><h2>{words(one.arena.trace.name)}</h2>\n" + "\n".join(parts) + "</section>"
