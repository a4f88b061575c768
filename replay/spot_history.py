"""Recorded spot capacity: how many machines could be had, or kept, at each moment.

A step function from a file of changes; a replay longer than the recording starts it again. Says what
was there, never what to do about it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from math import fsum, inf, nextafter
from pathlib import Path

from replay.traces.findings import RowFindings
from replay.traces.source import text_rows
from replay.traces.table import Table

# The column of the machines, by who published the file: SkyPilot, Bamboo.
COLUMNS = ("available_or_running_nodes", "instances")
END = "END"
_FIX = "give a file with the columns t_s and " + " or ".join(COLUMNS)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpotHistory:
    """`nodes[i]` from `times_s[i]` to the next; the first time is 0, and after `period_s` all begins again."""

    name: str
    times_s: tuple[float, ...]
    nodes: tuple[int, ...]
    period_s: float

    @property
    def most(self) -> int:
        """The most machines there ever were."""
        return max(self.nodes)

    @property
    def mean(self) -> float:
        """Machines on average over the recording."""
        ends = (*self.times_s[1:], self.period_s)
        held = (nodes * (end - start) for start, end, nodes in zip(self.times_s, ends, self.nodes, strict=True))
        return sum(held) / self.period_s

    def available(self, at_s: float) -> int:
        """Machines at a moment, in seconds since the start of the replay."""
        return self.nodes[bisect_right(self.times_s, at_s % self.period_s) - 1]

    def next_change(self, at_s: float) -> float:
        """The first moment after `at_s` at which the file has a row; the value may be the same. `at_s`: 0 or more.

        A moment is a float: where the row's own time is none, the next one after it. Rounded to the nearest, the answer
        could be before the row, even `at_s` itself, and who goes from change to change would stand still.
        """
        within = at_s % self.period_s
        place = bisect_right(self.times_s, within)
        following = self.times_s[place] if place < len(self.times_s) else self.period_s
        moment = fsum((at_s, following, -within))
        is_before_the_row = fsum((at_s, following, -within, -moment)) > 0
        return nextafter(moment, inf) if is_before_the_row else moment


def read_spot_history(path: Path) -> SpotHistory:
    """Read a file of changes: `t_s` and the machines from then on, plain or .gz.

    SkyPilot's files end in a row END, which is when the recording ended; Bamboo's do not, and there the
    last row is the end. Raises InvalidInput with everything that is wrong.
    """
    findings = RowFindings(file=path.name)
    rows = text_rows(path, findings)
    first = next(rows, None)
    header = [cell.strip() for cell in first[1]] if first else []
    column = next((each for each in COLUMNS if sorted(header) == sorted(("t_s", each))), None)
    if column is None:
        findings.refuse(f"the columns are not those of a spot history: {', '.join(header)[:80]!r}", _FIX)
    steps = list(_steps(Table(header, rows, findings), column))
    findings.raise_if_any()
    if len(steps) < 2 or steps[-1][0] <= 0:
        findings.refuse("holds no span of time", "give at least one row of machines and the row that ends it")
    if steps[0][0] != 0:
        findings.refuse(f"starts at {steps[0][0]:g} s", "subtract the first time from all, so that it starts at 0")
    *kept, (ended_s, _) = steps
    times, nodes = zip(*kept, strict=True)
    return SpotHistory(name=path.name.partition(".csv")[0], times_s=times, nodes=nodes, period_s=ended_s)


def _steps(table: Table, column: str) -> Iterator[tuple[float, int]]:
    """Times and machines, the end as the last; every row must come after the one before."""
    before, is_over = -1.0, False
    for _ in table:
        if is_over:
            table.bad(column, "comes after the row END", "END must be the last row")
            return
        at_s = table.seconds("t_s")
        if at_s < 0:
            table.bad("t_s", f"{at_s:g} s is before the start", "give seconds from 0 on")
        elif at_s <= before:
            table.bad("t_s", f"{at_s:g} s does not come after {before:g} s", "sort the rows by t_s; one row a time")
        before = max(before, at_s)
        is_over = table.text(column) == END
        yield at_s, 0 if is_over else table.count(column, at_least=0, unit="machines")
    if column == COLUMNS[0] and table.line and not is_over:
        table.bad(column, "the last row is not END, so the file is torn", "fetch the file again")


def shipped_history() -> SpotHistory:
    """The recorded spot market that comes with the product: Bamboo's, A100 in one zone, December 2021 (MIT)."""
    return read_spot_history(Path(__file__).parent / "data" / "bamboo" / "bamboo_gcp_a100x1_us_east1b_2021-12.csv")
