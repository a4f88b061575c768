"""Charts as inline SVG: a timeline of steps, bars, a scatter. Drawn from numbers and words that are given.

Every chart says in words what it shows, follows the reader's light or dark theme through the page's colours
(replay/report/page.py), and tells things apart by shape, pattern or label as well as by colour.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from html import escape
from math import ceil, floor, log10

WIDTH = 980
_LEFT, _RIGHT, _TOP = 64, 20, 40
_PLOT = WIDTH - _LEFT - _RIGHT
_HEIGHT = 250
_LABEL = 230
_ROW = 17
_DOT_LABEL = (170.0, 13.0)
_TICKS_H = (1, 2, 3, 6, 12, 24, 48, 7 * 24, 14 * 24, 28 * 24, 84 * 24, 365 * 24)
_MOST_TICKS = 10

STYLE = """
svg{display:block;width:100%;height:auto;max-width:980px;font:12px system-ui,sans-serif}
svg text{fill:var(--soft)}svg .strong{fill:var(--ink)}.grid{stroke:var(--grid)}
.busy{fill:var(--local);opacity:.6}.rented{fill:url(#rented);stroke:var(--cloud);stroke-width:1}
.demand{fill:none;stroke:var(--ink);stroke-width:1.4}.owned{stroke:var(--local);stroke-width:1.4;stroke-dasharray:6 4}
.grow{fill:var(--cloud);stroke:var(--ink);stroke-width:.5}.shrink{fill:var(--bg);stroke:var(--soft);stroke-width:1.2}
.bar{fill:var(--local);opacity:.55}.bar.first{fill:var(--cloud);opacity:.9}
.dot{fill:var(--bg);stroke:var(--soft);stroke-width:1.6}.dot.best{fill:var(--cloud);stroke:var(--ink)}
.dot.bound{fill:none;stroke:var(--local);stroke-width:2}.front{fill:none;stroke:var(--cloud);stroke-dasharray:4 3}
""".strip()

# Once a page: what is rented is hatched, so that it is told apart without colour.
PATTERNS = (
    '<svg width="0" height="0" style="position:absolute" aria-hidden="true"><defs><pattern id="rented" width="6" '
    'height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" '
    'fill="var(--cloud)" opacity=".25"/><line x1="0" y1="0" x2="0" y2="6" stroke="var(--cloud)"/></pattern></defs>'
    "</svg>"
)

# Seconds since the start; GPUs wanted, rented, and owned ones in use from then to the next step.
Step = tuple[float, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """`key`: unique in the page. `title` is short, `words` says what a reader who sees no picture should know."""

    key: str
    title: str
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Curves:
    """What was wanted, owned and rented over time, already thinned out; `end_s` is after the last step."""

    steps: Sequence[Step]
    owned: int
    starts_at: datetime
    end_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One decision on the time axis."""

    at_s: float
    words: str
    is_growth: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar of a group; `shown` is its value as people read it."""

    name: str
    value: float
    shown: str
    is_first: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Dot:
    """A point of a scatter. `is_best`: none is better in both; `is_bound`: where nothing can be below."""

    name: str
    x: float
    y: float
    words: str
    is_best: bool = False
    is_bound: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scale:
    """Values of an axis onto pixels."""

    low: float
    high: float
    start: float
    length: float

    def at(self, value: float) -> float:
        return self.start + self.length * (value - self.low) / (self.high - self.low)


def words(text: object, most: int = 300) -> str:
    """Any text for a page: escaped, in one line, without characters that cannot be seen, not endless."""
    seen = "".join(mark if mark.isprintable() else " " if mark.isspace() else "\ufffd" for mark in str(text))
    return escape(seen if len(seen) <= most else seen[: most - 1] + "…")


def timeline(caption: Caption, curves: Curves, marks: Sequence[Mark] = ()) -> str:
    """Demand as a line over what was owned and in use, and what was rented on top of all that is owned."""
    top = max((max(step[1], curves.owned + step[2]) for step in curves.steps), default=0)
    time = _Scale(low=0.0, high=max(curves.end_s, 1.0), start=_LEFT, length=_PLOT)
    gpus = _Scale(low=0.0, high=_ceiling(max(top, curves.owned)), start=_TOP + _HEIGHT, length=-_HEIGHT)
    rented = [(at, curves.owned + more) for at, _, more, _ in curves.steps]
    level = gpus.at(curves.owned)
    parts = [
        *_rulers(gpus),
        f'<path class="busy" d="{_area([(s[0], s[3]) for s in curves.steps], curves, time, gpus, 0)}"/>',
        f'<path class="rented" d="{_area(rented, curves, time, gpus, curves.owned)}"/>',
        f'<line class="owned" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{level:.1f}" y2="{level:.1f}"/>',
        f'<path class="demand" d="{_steps([(s[0], s[1]) for s in curves.steps], curves.end_s, time, gpus)}"/>',
        *_dates(curves, time),
        *(_mark(mark, time) for mark in marks),
        *_legend(bool(marks)),
    ]
    return _svg(caption, _TOP + _HEIGHT + 44, parts)


def bars(caption: Caption, groups: Sequence[tuple[str, Sequence[Bar]]]) -> str:
    """One group under the other, one labelled bar a row; lengths compare across groups."""
    most = max((bar.value for _, group in groups for bar in group), default=0.0) or 1.0
    room = WIDTH - _LABEL - 150
    parts, y = [], 16
    for name, group in groups:
        parts.append(f'<text class="strong" x="0" y="{y}" font-weight="600">{words(name, 60)}</text>')
        for bar in group:
            y += _ROW
            look = "bar first" if bar.is_first else "bar"
            width = max(0.0, room * bar.value / most)
            parts.append(
                f"<g><title>{words(name)}, {words(bar.name)}: {words(bar.shown)}</title>"
                f'<text x="{_LABEL - 8}" y="{y}" text-anchor="end">{words(bar.name, 34)}</text>'
                f'<rect class="{look}" x="{_LABEL}" y="{y - 11}" width="{width:.1f}" height="13"/>'
                f'<text class="strong" x="{_LABEL + width + 6:.1f}" y="{y}">{words(bar.shown)}</text></g>'
            )
        y += _ROW + 8
    return _svg(caption, y, parts)


def scatter(caption: Caption, axes: tuple[str, str], dots: Sequence[Dot]) -> str:
    """Left and low is better; the best are filled and joined, the bound is a ring."""
    x = _Scale(low=0.0, high=_ceiling(max((dot.x for dot in dots), default=0.0)), start=_LEFT, length=_PLOT)
    y = _Scale(low=0.0, high=_ceiling(max((dot.y for dot in dots), default=0.0)), start=_TOP + _HEIGHT, length=-_HEIGHT)
    front = sorted((dot.x, dot.y) for dot in dots if dot.is_best)
    path = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in front)
    right, below = WIDTH - _RIGHT, _TOP + _HEIGHT
    parts = [
        *_rulers(y),
        f'<text class="strong" x="{_LEFT}" y="18">{words(axes[1])}</text>',
        *(
            f'<text x="{x.at(x.high * share):.1f}" y="{below + 18}" text-anchor="middle">'
            f"{_figure(x.high * share)}</text>"
            for share in (0, 0.25, 0.5, 0.75, 1)
        ),
        f'<text class="strong" x="{right}" y="{below + 38}" text-anchor="end">{words(axes[0])}</text>',
        f'<polyline class="front" points="{path}"/>' if len(front) > 1 else "",
        *_dots(dots, x, y),
    ]
    return _svg(caption, _TOP + _HEIGHT + 46, parts)


def _svg(caption: Caption, height: float, parts: Sequence[str]) -> str:
    key = words(caption.key)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
        f'aria-labelledby="{key}-title {key}-desc"><title id="{key}-title">{words(caption.title)}</title>'
        f'<desc id="{key}-desc">{words(caption.words, 1000)}</desc>{"".join(parts)}</svg>'
    )


def _rulers(scale: _Scale) -> Iterator[str]:
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = scale.at(scale.high * share)
        yield f'<line class="grid" x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{_figure(scale.high * share)}</text>'


def _steps(points: Sequence[tuple[float, int]], end_s: float, time: _Scale, gpus: _Scale) -> str:
    if not points:
        return ""
    first, *others = points
    drawn = [f"M{time.at(first[0]):.1f} {gpus.at(first[1]):.1f}"]
    before = first[1]
    for at, value in others:
        if value != before:
            drawn.append(f"H{time.at(at):.1f}V{gpus.at(value):.1f}")
            before = value
    return "".join([*drawn, f"H{time.at(end_s):.1f}"])


def _area(points: Sequence[tuple[float, int]], curves: Curves, time: _Scale, gpus: _Scale, floor_at: int) -> str:
    line = _steps(points, curves.end_s, time, gpus)
    return f"{line}V{gpus.at(floor_at):.1f}H{time.at(points[0][0]):.1f}Z" if line else ""


def _dates(curves: Curves, time: _Scale) -> Iterator[str]:
    hours = curves.end_s / 3600
    every = next((tick for tick in _TICKS_H if hours / tick <= _MOST_TICKS), max(1, ceil(hours / _MOST_TICKS)))
    start = curves.starts_at
    midnight = start.replace(hour=0, minute=0, second=0, microsecond=0)
    skipped = ceil((start - midnight) / timedelta(hours=every))
    at, end = midnight + timedelta(hours=every * skipped), start + timedelta(seconds=curves.end_s)
    while at <= end:
        x = time.at((at - start).total_seconds())
        shown = f"{at:%Y-%m-%d}" if every >= 24 else f"{at:%m-%d %H:%M}"
        yield f'<text x="{x:.1f}" y="{_TOP + _HEIGHT + 36}" text-anchor="middle">{shown}</text>'
        at += timedelta(hours=every)


def _mark(mark: Mark, time: _Scale) -> str:
    """A triangle below the axis: up and filled where nodes are rented, down and hollow where they go back."""
    x, y = time.at(mark.at_s), _TOP + _HEIGHT + 3
    look, shape = ("grow", f"M{x:.1f} {y}l5 10h-10z") if mark.is_growth else ("shrink", f"M{x:.1f} {y + 10}l5-10h-10z")
    return f'<path class="{look}" d="{shape}"><title>{words(mark.words, 240)}</title></path>'


def _legend(has_marks: bool) -> Iterator[str]:
    swatch = '<rect class="{}" x="{}" y="10" width="14" height="12"/>'
    line = '<line class="{}" x1="{}" x2="{}" y1="16" y2="16"/>'
    x = _LEFT
    for look, says in (("busy", "owned, in use"), ("rented", "rented, on top of all owned")):
        yield swatch.format(look, x) + f'<text x="{x + 20}" y="20">{says}</text>'
        x += 40 + 7 * len(says)
    for look, says in (("demand", "demand, waiting too"), ("owned", "all owned")):
        yield line.format(look, x, x + 18) + f'<text x="{x + 24}" y="20">{says}</text>'
        x += 44 + 7 * len(says)
    if has_marks:
        yield f'<path class="grow" d="M{x + 5} 10l5 10h-10z"/><text x="{x + 16}" y="20">rents</text>'
        yield f'<path class="shrink" d="M{x + 65} 20l5-10h-10z"/><text x="{x + 76}" y="20">gives back</text>'


def _dots(dots: Sequence[Dot], x: _Scale, y: _Scale) -> Iterator[str]:
    """Labels beside their dots, pushed down where another stands already."""
    taken: list[tuple[float, float]] = []
    wide, high = _DOT_LABEL
    for dot in sorted(dots, key=lambda dot: (-dot.y, dot.x, dot.name)):
        at, up = x.at(dot.x), y.at(dot.y)
        look = "dot bound" if dot.is_bound else "dot best" if dot.is_best else "dot"
        label = up + 4
        while any(abs(label - other_y) < high and abs(at - other_x) < wide for other_x, other_y in taken):
            label += 1
        taken.append((at, label))
        is_right = at < _LEFT + 0.75 * _PLOT
        place = f'x="{at + 9:.1f}"' if is_right else f'x="{at - 9:.1f}" text-anchor="end"'
        yield (
            f'<g><title>{words(dot.words)}</title><circle class="{look}" cx="{at:.1f}" cy="{up:.1f}" r="5"/>'
            f'<text class="strong" {place} y="{label:.1f}">{words(dot.name, 34)}</text></g>'
        )


def _figure(value: float) -> str:
    """A quarter of a round number needs its decimals, a whole one none."""
    return f"{value:,.0f}" if value == round(value) else f"{value:.4g}"


def _ceiling(value: float) -> float:
    """A round number at or above the value, so that its quarters are readable; 1 for nothing."""
    if not 0 < value < float("inf"):
        return 1.0
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1, 2, 4, 5, 8, 10, 20) if step * power >= value)
