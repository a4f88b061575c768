"""What was found wrong in a trace file: gathered row by row, told once, with the file, the row and the fix.

Knows nothing of formats; a reader reports here and goes on with the next row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from contract.problems import InvalidInput, Problem

# More than this many say nothing new; the rest is a count.
SHOWN = 20


@dataclass(slots=True, kw_only=True)
class RowFindings:
    """The problems of one file. Keeps all of them only where bad rows are to be left out and handed on."""

    file: str
    keep_all: bool = False
    bad_lines: set[int] = field(default_factory=set)
    _problems: list[Problem] = field(default_factory=list)
    _count: int = 0

    def add(self, line: int, where: str, message: str, fix: str) -> None:
        """One thing wrong in one row; a row may have several."""
        self.bad_lines.add(line)
        self._count += 1
        if self.keep_all or len(self._problems) < SHOWN:
            self._problems.append(Problem(file=self.file, where=where, message=message, fix=fix, row=line))

    def refuse(self, message: str, fix: str, *, where: str = "the file", row: int | None = None) -> NoReturn:
        """The file as a whole cannot be used; leaving rows out would not help. Tells what was found before, too."""
        told = [Problem(file=self.file, where=where, message=message, fix=fix, row=row)]
        raise InvalidInput([*told, *self._shown()])

    def raise_if_any(self) -> None:
        """All that was found, at once."""
        if self._problems:
            raise InvalidInput(self._shown())

    def by_row(self) -> tuple[Problem, ...]:
        """One problem a bad row, in the order of the file."""
        rows: dict[int, list[Problem]] = {}
        for problem in self._problems:
            rows.setdefault(problem.row or 0, []).append(problem)
        return tuple(_joined(rows[line]) for line in sorted(rows))

    def _shown(self) -> list[Problem]:
        shown = self._problems[:SHOWN]
        hidden = self._count - len(shown)
        if hidden <= 0:
            return shown
        message = f"{hidden} more problems; {len(self.bad_lines)} rows are bad in all"
        fix = "mend the rows above first, or leave all bad rows out with --skip-bad"
        return [*shown, Problem(file=self.file, where="the file", message=message, fix=fix)]


def _joined(problems: list[Problem]) -> Problem:
    """The problems of one row as one."""
    first = problems[0]
    if len(problems) == 1:
        return first
    return Problem(
        file=first.file,
        where=", ".join(problem.where for problem in problems),
        message="; ".join(problem.message for problem in problems),
        fix="; ".join(dict.fromkeys(problem.fix for problem in problems)),
        row=first.row,
    )
