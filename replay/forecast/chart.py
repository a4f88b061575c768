"""The week as a picture: a heat map of characters for a terminal, and a page with an SVG for a browser.

Draws what the report holds; takes no figure of its own.
"""

from __future__ import annotations

from html import escape

from replay.forecast.demand import DAY_HOURS, Numbers
from replay.forecast.report import Report

_SHADES = " ░▒▓█"
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_CELL, _LEFT, _TOP = 26, 44, 24


def heat_map(week: Numbers, on_prem: float) -> list[str]:
    """One line a day, one character an hour by share of the peak; `!` marks hours above the owned GPUs."""
    peak = max(float(week.max()), 1e-9)
    lines = ["     " + "".join(f"{hour:02d}    " for hour in range(0, DAY_HOURS, 3)).rstrip()]
    for day, name in enumerate(_DAYS):
        hours = week[day * DAY_HOURS : (day + 1) * DAY_HOURS]
        cells = ("!" if 0 < on_prem < value else _SHADES[round(value / peak * (len(_SHADES) - 1))] for value in hours)
        lines.append(f"{name}  " + "".join(cell * 2 for cell in cells))
    return lines


def as_html(report: Report) -> str:
    """A page that stands alone: the planned week by hour, and every number on hovering."""
    week, on_prem = report.planned_week, report.wish.on_prem_gpus
    peak = max(float(week.max()), 1e-9)
    cells = [_cell(hour, float(gpus), peak, on_prem) for hour, gpus in enumerate(week)]
    cells += [f'<text x="4" y="{_TOP + day * _CELL + 17}">{name}</text>' for day, name in enumerate(_DAYS)]
    cells += [f'<text x="{_LEFT + hour * _CELL + 4}" y="16">{hour:02d}</text>' for hour in range(DAY_HOURS)]
    width, height = _LEFT + DAY_HOURS * _CELL + 8, _TOP + len(_DAYS) * _CELL + 8
    title = f"Forecast of {escape(report.demand.name)}"
    frame = f"; framed: above {on_prem} owned GPUs" if on_prem else ""
    says = f"GPUs planned for (p{report.wish.plan_for * 100:.0f}) by hour of the week, {report.wish.zone.key}{frame}"
    pre = f"<pre>{escape(report.prewarm)}</pre>" if report.prewarm else "<p>No windows are proposed.</p>"
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title>'
        "<style>body{font:14px system-ui;margin:2em}text{font:11px system-ui}</style>"
        f'<h1>{title}</h1><p>{escape(says)}</p><svg width="{width}" height="{height}" role="img">{"".join(cells)}</svg>'
        f"{pre}</html>\n"
    )


def _cell(hour: int, gpus: float, peak: float, on_prem: int) -> str:
    day, at = divmod(hour, DAY_HOURS)
    frame = ' stroke="#b00020" stroke-width="2"' if 0 < on_prem < gpus else ""
    return (
        f'<rect x="{_LEFT + at * _CELL}" y="{_TOP + day * _CELL}" width="{_CELL - 3}" height="{_CELL - 3}" '
        f'fill="#1565c0" fill-opacity="{0.05 + 0.95 * gpus / peak:.2f}"{frame}>'
        f"<title>{_DAYS[day]} {at:02d}:00: {gpus:.0f} GPUs</title></rect>"
    )
