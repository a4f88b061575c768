"""What the demo notes of each tick: enough for the summary, the table and the picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agent.core.decision import Action, Decision
from agent.core.explain import headline
from agent.core.snapshot import NodePhase, Snapshot
from agent.loop import TickReport
from agent.ports import ChangeState


@dataclass(frozen=True, slots=True, kw_only=True)
class Acted:
    """One decision that changed something: when the signal was sampled, when it was applied."""

    decision_id: int
    decision: Decision
    sampled_at: datetime
    applied_at: datetime

    @property
    def headline(self) -> str:
        """The decision in one line."""
        return headline(self.decision)


@dataclass(slots=True)
class Log:
    """Everything noted so far. Node times are the cloud's launch time and the first sight of usable GPUs."""

    ticks: int = 0
    acted: list[Acted] = field(default_factory=list)
    launched: dict[str, datetime] = field(default_factory=dict)
    ready: dict[str, datetime] = field(default_factory=dict)
    pool_of: dict[str, str] = field(default_factory=dict)
    failures: list[str] = field(default_factory=list)

    def note(self, report: TickReport, ended_at: datetime) -> None:
        """Take one tick's report in."""
        self.ticks += 1
        if report.error:
            self.failures.append(str(report.error))
        if report.snapshot is not None:
            self._note_nodes(report.snapshot)
        if report.decision is None or report.decision_id is None or report.decision.action is Action.HOLD:
            return
        if any(change.state is ChangeState.APPLIED for change in report.changes):
            acted = Acted(
                decision_id=report.decision_id,
                decision=report.decision,
                sampled_at=report.decision.taken_at,
                applied_at=ended_at,
            )
            self.acted.append(acted)

    def _note_nodes(self, snapshot: Snapshot) -> None:
        for pool in snapshot.pools:
            for node in pool.nodes():
                self.launched.setdefault(node.instance_id, node.since)
                self.pool_of.setdefault(node.instance_id, node.pool)
                if node.phase is NodePhase.GPU_READY:
                    self.ready.setdefault(node.instance_id, snapshot.taken_at)

    def request_delays(self) -> list[timedelta]:
        """For each growth: from the sample that completed the trigger to the cloud's first launch."""
        return [
            min(times) - acted.sampled_at
            for acted, nodes in self._bought()
            if (times := self._times(nodes, self.launched))
        ]

    def ready_delays(self) -> list[timedelta]:
        """For each growth: from that sample to the moment its last node was seen with usable GPUs."""
        return [
            max(times) - acted.sampled_at
            for acted, nodes in self._bought()
            if (times := self._times(nodes, self.ready))
        ]

    def _bought(self) -> list[tuple[Acted, list[str]]]:
        """Growths with the nodes that came of them: launched in their pools after, and before the next growth."""
        growths = [acted for acted in self.acted if acted.decision.action is Action.GROW]
        result = []
        for number, acted in enumerate(growths):
            until = growths[number + 1].sampled_at if number + 1 < len(growths) else None
            pools = {change.pool for change in acted.decision.changes}
            nodes = [
                node
                for node, at in self.launched.items()
                if self.pool_of[node] in pools and at >= acted.sampled_at and (until is None or at < until)
            ]
            result.append((acted, nodes))
        return result

    @staticmethod
    def _times(nodes: Sequence[str], times: dict[str, datetime]) -> list[datetime]:
        return [times[node] for node in nodes if node in times]
