"""What a format is: its name, its columns, and the one function that turns its rows into jobs.

Every file of this package but the shared ones holds one format and ends in its `READER`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from replay.trace import Job
from replay.traces.table import Table


class TraceFormat(StrEnum):
    """The formats that can be read."""

    ACME = "acme"
    ALIBABA_DLRM = "alibaba-dlrm"
    ALIBABA_LORA = "alibaba-lora"
    CHRONUS = "chronus"
    GENERIC = "generic"
    MICROSOFT_ITP = "microsoft-itp"
    MURI = "muri"
    OPENB = "openb"
    PHILLY = "philly"
    SHOCKWAVE = "shockwave"
    TIRESIAS = "tiresias"


# The line of the file, and its job with times on the clock of the file.
Rows = Iterator[tuple[int, Job]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One format. A header fits that has every required column, and no column that is not listed."""

    format: TraceFormat
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()
    jobs: Callable[[Table], Rows]

    def missing(self, header: list[str]) -> list[str]:
        """The columns without which the format cannot be read."""
        return [column for column in self.required if column not in header]

    def unknown(self, header: list[str]) -> list[str]:
        """The columns the format does not have: perhaps a slip of the pen in one that matters."""
        return [column for column in header if column not in self.required and column not in self.optional]
