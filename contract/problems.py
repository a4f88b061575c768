"""What is wrong with an input, said so that a person can mend it: file, row, column, fix.

Every reader of a file collects all problems and raises them at once; nothing half-read leaves it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong in one place. `where` is the path inside the document, such as `pools[2].price`."""

    file: str
    where: str
    message: str
    fix: str
    row: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = self.file
        if self.row is not None:
            place += f":{self.row}" + (f":{self.column}" if self.column is not None else "")
        return f"{place}: {self.where}: {self.message}\n    fix: {self.fix}"


class InvalidInput(Exception):
    """A document cannot be used. Carries every problem found, in the order of the document."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))
