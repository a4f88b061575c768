"""Interruptible work with a deadline: spot, on-demand or wait (R6.3), by the rules of Uniform Progress (NSDI 2024).

Spot alone may come too late, on-demand alone is dear. The rules ask for no forecast of spot: work
should lie on the straight line from start to deadline, on-demand catches up what spot did not give,
and a safety net keeps so much time that on-demand can still finish. Pure: whoever asks rents and moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

_NONE = timedelta(0)


class Place(StrEnum):
    """Where the work is, or should be."""

    SPOT = "spot"
    ON_DEMAND = "on-demand"
    WAIT = "wait"


class Rule(StrEnum):
    """Which rule decided; the names are those of the paper."""

    THRIFTY = "thrifty"
    SAFETY_NET = "safety-net"
    EXPLOITATION = "exploitation"
    TAKING_RISKS = "taking-risks"
    UNIFORM_PROGRESS = "uniform-progress"
    HYSTERESIS = "hysteresis"


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far the work is. `work` and `done` are computing time; `done` is what would survive where it is now.

    `changeover`: from a choice of another place until work goes on there, all that costs time included:
    booting, loading, and computing again what a lost machine had not saved. `start_left`: what of it is
    still to come. `look_every`: how long a lost machine may go unnoticed, so how long until the next choice.
    """

    started_at: datetime
    deadline: datetime
    work: timedelta
    done: timedelta
    changeover: timedelta
    where: Place = Place.WAIT
    start_left: timedelta = _NONE
    is_spot_available: bool = False
    look_every: timedelta = _NONE

    @property
    def left(self) -> timedelta:
        """Computing time that is still needed."""
        return max(self.work - self.done, _NONE)

    def line(self, at: datetime) -> timedelta:
        """What would be done at a moment if every hour gave the same; all of it at the deadline."""
        span = _between(self.started_at, self.deadline)
        elapsed = min(max(_between(self.started_at, at), _NONE), span)
        return self.work * (elapsed / span) if span > _NONE else self.work

    def slack(self, now: datetime) -> timedelta:
        """Time that may pass without computing, where the work is already running."""
        return _between(now, self.deadline) - self.left


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Where the work should be until the next look, by which rule, and why in words."""

    where: Place
    rule: Rule
    reason: str


def choose(state: Progress, now: datetime) -> Choice:
    """The place until the next look. On-demand is taken to be there whenever it is asked for."""
    if state.left == _NONE:
        return Choice(where=Place.WAIT, rule=Rule.THRIFTY, reason="the work is done")
    if state.where is Place.SPOT and state.slack(now) < state.changeover:
        reason = "going on-demand would come late, staying on spot may not"
        return Choice(where=Place.SPOT, rule=Rule.EXPLOITATION, reason=reason)
    if state.slack(now) < _reserve(state):
        return _safety_net(state, now)
    if state.where is Place.SPOT:
        return Choice(where=Place.SPOT, rule=Rule.EXPLOITATION, reason="spot is used until it is taken away")
    if state.where is Place.ON_DEMAND:
        return _on_demand(state, now)
    if state.is_spot_available:
        return Choice(where=Place.SPOT, rule=Rule.TAKING_RISKS, reason="spot is to be had")
    behind = state.line(now) - state.done
    if behind > _NONE:
        reason = f"no spot, and {_hours(behind)} behind the line to the deadline"
        return Choice(where=Place.ON_DEMAND, rule=Rule.UNIFORM_PROGRESS, reason=reason)
    reason = f"no spot, and {_hours(-behind)} ahead of the line to the deadline"
    return Choice(where=Place.WAIT, rule=Rule.UNIFORM_PROGRESS, reason=reason)


def _reserve(state: Progress) -> timedelta:
    """Slack below which the work must be on-demand.

    Off spot it pays for one start on spot that comes to nothing, for not noticing that at once, and for
    the start on-demand; on spot the first start is paid already, but for what is left of it.
    """
    first = state.start_left if state.where is Place.SPOT else state.changeover
    return first + state.look_every + state.changeover


def _safety_net(state: Progress, now: datetime) -> Choice:
    start = state.start_left if state.where is Place.ON_DEMAND else state.changeover
    late = start - state.slack(now)
    reason = f"on-demand until done: {_hours(state.left)} of work, {_hours(_between(now, state.deadline))} of time"
    if late > _NONE:
        reason += f"; it comes {_hours(late)} late even so"
    return Choice(where=Place.ON_DEMAND, rule=Rule.SAFETY_NET, reason=reason)


def _on_demand(state: Progress, now: datetime) -> Choice:
    """Leave only for spot, and only with a lead that pays for going and coming back.

    Leaving it to wait would save little: without spot the line catches up, and the next start is paid again.
    """
    if not state.is_spot_available:
        where, reason = Place.ON_DEMAND, "on-demand until spot is to be had"
    elif state.done < state.line(now + 2 * state.changeover):
        where, reason = Place.ON_DEMAND, "on-demand until two changeovers ahead of the line to the deadline"
    else:
        where, reason = Place.SPOT, "spot is to be had, and two changeovers ahead of the line to the deadline"
    return Choice(where=where, rule=Rule.HYSTERESIS, reason=reason)


def _between(since: datetime, until: datetime) -> timedelta:
    """Elapsed time: subtracting two times of one zone would leave out a change of its clocks."""
    return until.astimezone(UTC) - since.astimezone(UTC)


def _hours(span: timedelta) -> str:
    return f"{span / timedelta(hours=1):.1f} h"
