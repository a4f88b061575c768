"""Shapes a trace can be given before it is run: shorter, denser, thinner, with other tiers or departments.

Pure and without chance: the same trace and the same arguments give the same trace. A shape never
leaves an empty trace behind; it raises BadShape instead, with what to change.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from contract.work import Tier
from replay.trace import Job, Trace

SECONDS_A_DAY = 86_400


class BadShape(ValueError):
    """A shape that cannot be given to this trace; the message says what would do."""


def first_days(trace: Trace, days: float) -> Trace:
    """The jobs that arrive in the first so many days; they run on after that as they did."""
    if not days > 0:
        raise BadShape(f"{days:g} days hold no job; give more than 0")
    return replace(trace, jobs=tuple(job for job in trace.jobs if job.arrival_s < days * SECONDS_A_DAY))


def scale_arrivals(trace: Trace, factor: float) -> Trace:
    """Arrivals `factor` times as dense: at 2, the same jobs in half the time.

    Run times stay; a deadline keeps its distance from the arrival.
    """
    if not (math.isfinite(factor) and factor > 0):
        raise BadShape(f"arrivals cannot be {factor:g} times as dense; give a finite factor above 0")
    return replace(trace, jobs=tuple(_at(job, job.arrival_s / factor) for job in trace.jobs))


def thin(trace: Trace, every: int) -> Trace:
    """Each `every`-th job, the first included: the same pattern with less load."""
    if every < 1:
        raise BadShape(f"each {every}th job is none; give 1 or more")
    return replace(trace, jobs=trace.jobs[::every])


def tiers_by_department(trace: Trace, mapping: Mapping[str, Tier]) -> Trace:
    """Every job gets the tier of its department; departments that are not in the mapping keep theirs."""
    strange = sorted(set(mapping) - {job.department for job in trace.jobs})
    if strange:
        known = ", ".join(sorted({job.department for job in trace.jobs}))
        raise BadShape(f"no job is of department {', '.join(strange)}; the trace has {known}")
    return _each(trace, lambda place, job: replace(job, tier=mapping.get(job.department, job.tier)))


def with_departments(trace: Trace, departments: Iterable[str]) -> Trace:
    """Jobs given to the departments in turn, by arrival: for traces that name none."""
    names = tuple(departments)
    if not names:
        raise BadShape("give at least one department")
    return _each(trace, lambda place, job: replace(job, department=names[place % len(names)]))


def _each(trace: Trace, change: Callable[[int, Job], Job]) -> Trace:
    return replace(trace, jobs=tuple(change(place, job) for place, job in enumerate(trace.jobs)))


def _at(job: Job, arrival_s: float) -> Job:
    """The job at another time, its deadline with it."""
    deadline_s = None if job.deadline_s is None else arrival_s + (job.deadline_s - job.arrival_s)
    return replace(job, arrival_s=arrival_s, deadline_s=deadline_s)
