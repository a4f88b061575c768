"""One HTML page that stands alone: no script, no font, no image from elsewhere; light or dark as the reader has it.

Gives shape to what it is handed; every text goes through `words`, whatever a trace's author called things.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from replay.charts import PATTERNS, STYLE, words

_STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--soft:#57606a;--grid:#d8dee4;--local:#356a9c;--cloud:#c25e00;--bg:#ffffff}
@media(prefers-color-scheme:dark){
:root{--ink:#e6edf3;--soft:#9198a1;--grid:#30363d;--local:#6ea8dc;--cloud:#f0a35e;--bg:#0d1117}}
body{font:14px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--bg);margin:2rem auto;max-width:1040px;
padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.25rem;margin-top:2.5rem;border-top:1px solid var(--grid);padding-top:1rem}
h3{font-size:1rem;margin-top:1.6rem}p.soft,caption{color:var(--soft)}
.wide{overflow-x:auto}table{border-collapse:collapse;font-size:13px}caption{text-align:left;padding:.2rem 0}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--grid);text-align:left;vertical-align:top}
.num{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}thead th{color:var(--soft);font-weight:600}
td,th{overflow-wrap:break-word;max-width:34rem}summary{cursor:pointer;margin:.4rem 0}
""".strip()


def page(title: str, parts: Iterable[str]) -> str:
    """The document; `parts` are HTML already."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>{words(title)}</title><style>{_STYLE}\n{STYLE}</style></head>\n"
        f"<body>{PATTERNS}<main><h1>{words(title)}</h1>\n" + "\n".join(parts) + "\n</main></body></html>\n"
    )


def table(caption: str, headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Sequence[str] = ()) -> str:
    """A table whose first column names its rows; the columns named in `numbers` stand to the right."""
    looks = [' class="num"' if heading in numbers else "" for heading in headings]
    pairs = zip(headings, looks, strict=True)
    head = "".join(f'<th scope="col"{look}>{words(heading)}</th>' for heading, look in pairs)
    body = "\n".join(_row(row, looks) for row in rows)
    return (
        f'<div class="wide" role="region" tabindex="0" aria-label="{words(caption)}"><table><caption>{words(caption)}'
        f"</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def paragraph(text: str, *, is_soft: bool = False) -> str:
    """A paragraph of plain text."""
    look = ' class="soft"' if is_soft else ""
    return f"<p{look}>{words(text, 2000)}</p>"


def folded(summary: str, inner: str) -> str:
    """What opens on a click."""
    return f"<details><summary>{words(summary)}</summary>{inner}</details>"


def _row(row: Sequence[str], looks: Sequence[str]) -> str:
    first, *others = zip(row, looks, strict=True)
    cells = "".join(f"<td{look}>{words(cell, 400)}</td>" for cell, look in others)
    return f'<tr><th scope="row"{first[1]}>{words(first[0])}</th>{cells}</tr>'
