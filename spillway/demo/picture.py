"""The timeline as one SVG: demand against capacity, the queue, the spend, and every decision marked.

Made from the twin's samples. Colours follow the reader's light or dark theme; idle and coming
capacity differ by pattern too, not by colour alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape

_WIDTH, _LEFT, _RIGHT = 980, 64, 20
_STYLE = """
.timeline{--ink:#1b1f24;--soft:#57606a;--grid:#d8dee4;--local:#4878a8;--cloud:#d9822b;--spend:#7a4fa3;--bg:#ffffff}
@media(prefers-color-scheme:dark){
.timeline{--ink:#e6edf3;--soft:#9198a1;--grid:#30363d;--local:#6ea8dc;--cloud:#f0a35e;--spend:#b894dd;--bg:#0d1117}}
.timeline{font:12px system-ui,sans-serif}.bg{fill:var(--bg)}text{fill:var(--soft)}.head{fill:var(--ink);font-weight:600}
.grid{stroke:var(--grid)}.local{fill:var(--local);opacity:.75}.cloud{fill:var(--cloud);opacity:.85}
.queue{fill:var(--local);opacity:.45}
.demand{fill:none;stroke:var(--ink);stroke-width:1.6}.spend{fill:none;stroke:var(--spend);stroke-width:2}
.cap{stroke:var(--local);stroke-dasharray:5 4}.mark{stroke:var(--cloud);stroke-width:1.2}
.mark.in{stroke:var(--soft);stroke-dasharray:2 3}.num{fill:var(--ink);font-size:11px}
""".strip()
_PATTERNS = """
<pattern id="idle" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6" fill="var(--cloud)" opacity=".25"/>
<line x1="0" y1="0" x2="0" y2="6" stroke="var(--cloud)"/></pattern>
<pattern id="coming" width="5" height="5" patternUnits="userSpaceOnUse">
<rect width="5" height="5" fill="var(--grid)" opacity=".5"/><circle cx="2" cy="2" r="1" fill="var(--soft)"/></pattern>
""".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One sample, GPUs and money at one moment."""

    at: datetime
    demand: int
    local_capacity: int
    local_held: int
    cloud_held: int
    cloud_idle: int
    cloud_coming: int
    queued: int
    spent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One decision on the time axis."""

    at: datetime
    label: str
    words: str
    is_growth: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Panel:
    """A strip of the picture with its own upright scale."""

    top: int
    height: int
    highest: float

    def y(self, value: float) -> float:
        return self.top + self.height * (1 - value / self.highest)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Time:
    """The time axis."""

    start: datetime
    span: timedelta

    def x(self, at: datetime) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * ((at - self.start) / self.span)


def timeline_svg(points: Sequence[Point], marks: Sequence[Mark], currency: str) -> str:
    """The picture. `points` in time order, at least two."""
    time = _Time(start=points[0].at, span=points[-1].at - points[0].at)
    gpus = _Panel(top=58, height=250, highest=_ceiling(max(_stacked(point) for point in points)))
    queue = _Panel(top=348, height=70, highest=_ceiling(max(point.queued for point in points)))
    spend = _Panel(top=458, height=90, highest=_ceiling(max(point.spent for point in points)))
    parts = [
        f'<rect class="bg" width="{_WIDTH}" height="590"/>',
        _grid(gpus, "GPUs"),
        _areas(points, time, gpus),
        _line("demand", points, time, lambda point: gpus.y(point.demand)),
        f'<line class="cap" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{gpus.y(points[0].local_capacity):.1f}" '
        f'y2="{gpus.y(points[0].local_capacity):.1f}"/>',
        _grid(queue, "tasks queued"),
        _area("queue", points, time, (lambda point: queue.y(point.queued), lambda _: queue.y(0))),
        _grid(spend, f"cloud spend, {currency}"),
        _line("spend", points, time, lambda point: spend.y(point.spent)),
        *(_mark(mark, time, gpus, spend) for mark in marks),
        _hours(time, spend),
        _legend(),
    ]
    words = f"GPU demand and capacity over {time.span}, {len(marks)} decisions"
    return (
        f'<svg class="timeline" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} 590" role="img" '
        f'aria-label="{escape(words)}"><style>{_STYLE}</style><defs>{_PATTERNS}</defs>{"".join(parts)}</svg>'
    )


def _stacked(point: Point) -> int:
    return max(point.demand, point.local_held + point.cloud_held + point.cloud_idle + point.cloud_coming)


def _areas(points: Sequence[Point], time: _Time, panel: _Panel) -> str:
    def levels(point: Point) -> tuple[int, ...]:
        local = point.local_held
        busy = local + point.cloud_held
        return (0, local, busy, busy + point.cloud_idle, busy + point.cloud_idle + point.cloud_coming)

    layers = (("local", ""), ("cloud", ""), ("", "url(#idle)"), ("", "url(#coming)"))
    drawn = []
    for number, (name, fill) in enumerate(layers):
        edges = (
            lambda point, level=number + 1: panel.y(levels(point)[level]),
            lambda point, level=number: panel.y(levels(point)[level]),
        )
        drawn.append(_area(name, points, time, edges, fill))
    return "".join(drawn)


Edge = Callable[[Point], float]


def _area(name: str, points: Sequence[Point], time: _Time, edges: tuple[Edge, Edge], fill: str = "") -> str:
    upper = [f"{time.x(point.at):.1f},{edges[0](point):.1f}" for point in points]
    lower = [f"{time.x(point.at):.1f},{edges[1](point):.1f}" for point in reversed(points)]
    look = f'fill="{fill}"' if fill else f'class="{name}"'
    return f'<polygon {look} points="{" ".join(upper + lower)}"/>'


def _line(name: str, points: Sequence[Point], time: _Time, edge: Edge) -> str:
    path = " ".join(f"{time.x(point.at):.1f},{edge(point):.1f}" for point in points)
    return f'<polyline class="{name}" points="{path}"/>'


def _grid(panel: _Panel, title: str) -> str:
    lines = [f'<text class="head" x="{_LEFT}" y="{panel.top - 8}">{escape(title)}</text>']
    for share in (0.0, 0.5, 1.0):
        y = panel.y(panel.highest * share)
        lines.append(f'<line class="grid" x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        figure = f"{panel.highest * share:,.0f}"
        lines.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{figure}</text>')
    return "".join(lines)


def _mark(mark: Mark, time: _Time, first: _Panel, last: _Panel) -> str:
    x = time.x(mark.at)
    look = "mark" if mark.is_growth else "mark in"
    return (
        f'<g><title>{escape(mark.words)}</title><line class="{look}" x1="{x:.1f}" x2="{x:.1f}" y1="{first.top}" '
        f'y2="{last.top + last.height}"/><text class="num" x="{x:.1f}" y="{first.top + first.height + 14}" '
        f'text-anchor="middle">{escape(mark.label)}</text></g>'
    )


def _hours(time: _Time, panel: _Panel) -> str:
    y = panel.top + panel.height + 18
    first = time.start.replace(minute=0, second=0, microsecond=0) + timedelta(hours=1)
    marks = []
    while first <= time.start + time.span:
        marks.append(f'<text x="{time.x(first):.1f}" y="{y}" text-anchor="middle">{first:%H:%M}</text>')
        first += timedelta(hours=1)
    return "".join(marks)


def _legend() -> str:
    entries = (
        ('class="local"', "local, in use"),
        ('class="cloud"', "cloud, in use"),
        ('fill="url(#idle)"', "cloud, paid and idle"),
        ('fill="url(#coming)"', "cloud, booting"),
    )
    parts = []
    x = _LEFT
    for look, words in entries:
        parts.append(f'<rect {look} x="{x}" y="12" width="14" height="14"/><text x="{x + 20}" y="23">{words}</text>')
        x += 150
    for look, words in (("demand", "demand"), ("cap", "local capacity")):
        parts.append(f'<line class="{look}" x1="{x}" x2="{x + 18}" y1="19" y2="19"/>')
        parts.append(f'<text x="{x + 24}" y="23">{words}</text>')
        x += 90
    return "".join(parts)


def _ceiling(value: float) -> float:
    """A round number at or above the value, so that half of it is round too."""
    step = 10.0
    while value > step * 10:
        step *= 10
    return max(step, -(-value // step) * step)
