"""Jobs waiting in order of arrival, one lane a size, so that a pass over thousands looks only at heads of lanes.

A size that does not fit now will not fit later in the same pass, for room only shrinks: its whole lane is passed
over at once. Gone jobs are dropped when they come to the head.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence


class Line:
    """Waiting jobs by number; numbers rise with arrival."""

    def __init__(self, gpus: Sequence[int]) -> None:
        self._gpus = gpus
        self._lanes: dict[int, deque[int]] = {}
        self._waiting: set[int] = set()

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, job: int) -> bool:
        return job in self._waiting

    def join(self, job: int) -> None:
        """A job arrives, the newest of all; or comes back, at its old place."""
        lane = self._lanes.setdefault(self._gpus[job], deque())
        if lane and lane[-1] > job:
            behind = []
            while lane and lane[-1] > job:
                behind.append(lane.pop())
            lane.append(job)
            lane.extend(reversed(behind))
        else:
            lane.append(job)
        self._waiting.add(job)

    def leave(self, job: int) -> None:
        """A job leaves from anywhere in the line."""
        self._waiting.remove(job)

    def last(self) -> int:
        """The newest waiting job."""
        return max(lane[-1] for lane in self._tidy() if lane)

    def offer(self, fits: Callable[[int], bool], start: Callable[[int], None], *, in_order: bool) -> None:
        """Start whoever fits, oldest first; `in_order`: nobody overtakes the first that does not fit."""
        open_lanes = [lane for lane in self._tidy() if lane]
        while open_lanes:
            lane = min(open_lanes, key=_head)
            job = lane[0]
            if fits(self._gpus[job]):
                self._waiting.discard(lane.popleft())
                start(job)
                self._drop_gone(lane)
            elif in_order:
                return
            else:
                open_lanes.remove(lane)
                continue
            if not lane:
                open_lanes.remove(lane)

    def _tidy(self) -> list[deque[int]]:
        for lane in self._lanes.values():
            self._drop_gone(lane)
        return list(self._lanes.values())

    def _drop_gone(self, lane: deque[int]) -> None:
        while lane and lane[0] not in self._waiting:
            lane.popleft()
        while lane and lane[-1] not in self._waiting:
            lane.pop()


def _head(lane: deque[int]) -> int:
    return lane[0]
