"""R4.3: what is known by the calendar. Nodes are kept for a window, from its lead on; in others idle ones go back.

Where a window keeps nodes and another gives idle ones back at the same time, the kept ones stay: what
is given back is what no window needs. After a window nodes go back by the rule for idle ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agent.core.decision import Action, Evidence, Proposal, Reason, ReasonCode
from agent.core.drain import shrink_by
from agent.core.memory import Memory
from agent.core.policies.floors import Floor, all_floors, giving_back, spare, window_floors
from agent.core.policies.grow_by import blindness, grow_by, in_pools, shortfall
from agent.core.policies.idle_nodes import idle_nodes
from agent.core.policy import Policy
from agent.core.rules.windows import KeepWindow
from agent.core.snapshot import Snapshot
from contract.units import show_duration

NAME = "calendar"
_OFF = Proposal(
    policy=NAME, action=Action.HOLD, reason=Reason(code=ReasonCode.OFF, text="the policy has no calendar windows")
)
_CLOSED = Proposal(
    policy=NAME, action=Action.HOLD, reason=Reason(code=ReasonCode.NOTHING_TO_DO, text="no window is open")
)


def propose(snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    """Grow to what open windows keep, else give idle nodes back in windows that say so, else hold."""
    if not policy.calendar.windows:
        return _OFF
    kept = keep(NAME, policy.calendar.windows, snapshot, policy, memory)
    if kept is not None and kept.action is Action.GROW:
        return kept
    window = giving_back(policy, snapshot.taken_at)
    if window is not None:
        return _give_back(window, snapshot, policy, memory)
    return kept or _CLOSED


def keep(
    name: str, windows: Iterable[KeepWindow], snapshot: Snapshot, policy: Policy, memory: Memory
) -> Proposal | None:
    """Grow to the floor of the first short window that can be filled, or hold; None when no window keeps anything."""
    floors = window_floors(snapshot, windows)
    if not floors:
        return None
    evidence = tuple(_evidence(floor) for floor in floors)
    short = [floor for floor in floors if floor.missing]
    if not short:
        text = "; ".join(f"{floor.why} keeps {floor.nodes} nodes, {floor.have} are rented" for floor in floors)
        reason = Reason(code=ReasonCode.NOTHING_TO_DO, text=text)
        return Proposal(policy=name, action=Action.HOLD, reason=reason, evidence=evidence)
    if blind := blindness(snapshot):
        return Proposal(policy=name, action=Action.HOLD, reason=blind, evidence=evidence)
    wanted = [_fill(name, floor, snapshot, policy, memory) for floor in short]
    proposal = next((item for item in wanted if item.action is Action.GROW), wanted[0])
    return replace(proposal, evidence=evidence)


def _fill(name: str, floor: Floor, snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    growth = grow_by(snapshot, policy, memory, floor.missing, in_pools(floor.pools))
    text = f"{floor.why} keeps {floor.nodes} nodes, {floor.have} are rented{shortfall(growth, floor.missing)}"
    return Proposal(
        policy=name,
        action=Action.GROW if growth.changes else Action.HOLD,
        reason=Reason(code=ReasonCode.TRIGGERED if growth.changes else ReasonCode.NOTHING_FITS, text=text),
        changes=growth.changes,
        alternatives=growth.alternatives,
    )


def _give_back(window: KeepWindow, snapshot: Snapshot, policy: Policy, memory: Memory) -> Proposal:
    idle = idle_nodes(snapshot, policy, memory, lambda _state: window.idle_for)
    going, keepers = spare(idle, all_floors(snapshot, policy)) if idle else ((), ())
    going = going[: policy.idle_reclaim.max_step]
    span = show_duration(window.idle_for)
    evidence = (
        Evidence(name="idle rented nodes", seen=str(len(idle)), wanted=f"one or more idle for {span}", met=bool(idle)),
    )
    if not going:
        text = f"window {window.rule.name} is open, no rented node has been idle for {span}"
        if idle:
            text = f"window {window.rule.name} is open, the {len(idle)} idle nodes stay for {', '.join(keepers)}"
        code = ReasonCode.KEPT if idle else ReasonCode.NO_IDLE_NODE
        return Proposal(policy=NAME, action=Action.HOLD, reason=Reason(code=code, text=text), evidence=evidence)
    text = f"window {window.rule.name} gives back nodes idle for {span}, whatever local use is: {len(going)} go"
    return Proposal(
        policy=NAME,
        action=Action.SHRINK,
        reason=Reason(code=ReasonCode.TRIGGERED, text=text),
        evidence=evidence,
        changes=shrink_by(snapshot, going),
    )


def _evidence(floor: Floor) -> Evidence:
    where = f" in {', '.join(floor.pools)}" if floor.pools else ""
    return Evidence(
        name=f"rented nodes{where} for {floor.why}",
        seen=str(floor.have),
        wanted=f"at least {floor.nodes}",
        met=not floor.missing,
    )
