"""The optimum of recorded traces: proved bound, seconds and memory; and the search on the 500 jobs of Starburst."""

from __future__ import annotations

import resource
from dataclasses import dataclass
from pathlib import Path

from replay.optimum.bound import Fineness, lower_bound
from replay.optimum.incumbent import Effort, improve
from replay.optimum.model import check
from replay.synthetic import starburst_500
from replay.trace import Trace
from replay.traces.registry import read_trace

_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
_ITP = _DATA / "microsoft_itp_2021"
_PHILLY = _DATA / "philly_jobs" / "philly_jobs_2017-09-04_to_2017-10-29.csv.gz"
_COARSE = Fineness(cells=3000, iterations=50, seconds=200)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Setting:
    """A trace, its nodes, a mean wait in hours, and the cloud GPU-h that Starburst's own simulator reaches at it."""

    path: Path
    nodes: int
    max_mean_wait_h: float
    starburst_gpu_h: float


_SETTINGS = (
    _Setting(path=_ITP / "cluster04.csv.gz", nodes=74, max_mean_wait_h=0.1562, starburst_gpu_h=25_034),
    _Setting(path=_ITP / "cluster04.csv.gz", nodes=74, max_mean_wait_h=0.2402, starburst_gpu_h=18_667),
    _Setting(path=_ITP / "cluster03.csv.gz", nodes=21, max_mean_wait_h=0.7942, starburst_gpu_h=45_756),
    _Setting(path=_PHILLY, nodes=69, max_mean_wait_h=0.1285, starburst_gpu_h=86_604),
    _Setting(path=_PHILLY, nodes=69, max_mean_wait_h=0.7136, starburst_gpu_h=50_205),
)


def measure() -> list[tuple[str, str]]:
    """Rows of (what, figure)."""
    rows = _published()
    for setting in _SETTINGS:
        if not setting.path.exists():
            rows.append((setting.path.name, "data set is not here"))
            continue
        rows.append(_recorded(read_trace(setting.path), setting))
    return rows


def _published() -> list[tuple[str, str]]:
    """The 500 jobs at the wait of the published table; its own best schedule is 209.79 GPU-h."""
    jobs, nodes, wait = starburst_500().jobs, 4, 0.05163
    bound = lower_bound(jobs, nodes, wait)
    found = improve(jobs, nodes, wait, seed=1, effort=Effort(seconds=120))
    wrong = check(found, jobs, nodes, wait)
    gap = 1 - bound.gpu_h / found.cloud_gpu_h
    return [
        ("500 jobs, 4 nodes, 0.05163 h: proved", f"{bound.gpu_h:.2f} GPU-h or more in {bound.seconds:.0f} s"),
        (
            "500 jobs, 4 nodes, 0.05163 h: found in 120 s",
            f"{found.cloud_gpu_h:.2f} GPU-h at {found.mean_wait_h:.5f} h, gap {gap:.0%}, {len(wrong)} faults",
        ),
    ]


def _recorded(trace: Trace, setting: _Setting) -> tuple[str, str]:
    bound = lower_bound(trace.jobs, setting.nodes, setting.max_mean_wait_h, _COARSE)
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{trace.name}, {setting.nodes} nodes, {setting.max_mean_wait_h} h: proved",
        f"{bound.gpu_h:,.0f} GPU-h or more (Starburst reaches {setting.starburst_gpu_h:,.0f}) in {bound.seconds:.0f} s;"
        f" peak memory so far {peak_mib:,.0f} MiB",
    )
