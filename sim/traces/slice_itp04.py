"""How the demo's trace was cut from Microsoft's ITP cluster 04: run it to get the same file again.

The source gives submission, duration and GPUs. Department, preemptible and GPU memory are not in it;
they are assigned here by rule, so that tiers and spot pools have something to tell apart.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

FIRST_HOUR = 1137
HOURS = 3
SHORTEST_S = 60
LONGEST_S = 9000
MOST_GPUS = 32
HEADER = ("job", "submitted_s", "duration_s", "gpus", "department", "preemptible", "gpu_memory_gib")


def rows(source: Path) -> Iterator[tuple[str, int, int, int, str, str, int]]:
    """The slice, oldest first. `source` is cluster04.csv.gz of the shared data."""
    start = FIRST_HOUR * 3600
    with gzip.open(source, "rt", encoding="utf-8", newline="") as file:
        jobs = sorted(
            (round(float(row["submission_time"])), row["job"], round(float(row["duration"])), int(row["num_gpu"]))
            for row in csv.DictReader(file)
        )
    for submitted, job, duration, gpus in jobs:
        in_window = start <= submitted < start + HOURS * 3600
        if in_window and SHORTEST_S <= duration <= LONGEST_S and gpus <= MOST_GPUS:
            yield (f"itp04-{job.rpartition('-')[2]}", submitted - start, duration, gpus, *_assigned(job, gpus))


def _assigned(job: str, gpus: int) -> tuple[str, str, int]:
    """By size, and for small jobs by a hash of the name: gangs are production work on 80 GiB cards."""
    if gpus >= 8:
        return "production", "false", 80
    share = hashlib.sha256(job.encode()).digest()[0]
    memory = (80, 40, 24, 24)[share % 4]
    return ("research", "true", memory) if share < 128 else ("production", "false", memory)


def main() -> None:
    """`python -m sim.traces.slice_itp04 SOURCE TARGET`."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        writer.writerows(rows(source))


if __name__ == "__main__":
    main()
