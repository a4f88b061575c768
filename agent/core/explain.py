"""A decision in sentences: what was seen, what was considered, why each lost, what it costs.

Works from the decision alone, so that any recorded one can be explained later, also a "do nothing".
"""

from __future__ import annotations

from agent.core.decision import Action, Decision, Evidence, PoolChange
from contract.units import Money

_MARK = {True: "met", False: "not met", None: "unknown"}


def headline(decision: Decision) -> str:
    """One line: what is done and what it costs."""
    if decision.action is Action.HOLD:
        return f"Hold: {decision.chosen.reason.text}."
    changes = ", ".join(_show_change(change) for change in decision.changes)
    verb = "Burst" if decision.action is Action.GROW else "Give back"
    return f"{verb}: {changes}; {_show_cost(decision.cost_per_hour)}."


def sentences(decision: Decision) -> tuple[str, ...]:
    """The whole story, one sentence an entry, headline first."""
    lines = [headline(decision)]
    if decision.action is not Action.HOLD:
        lines.append(f"Because ({decision.chosen.policy}): {decision.chosen.reason.text}.")
    lines.extend(f"Seen: {_show_evidence(item)}." for item in decision.chosen.evidence)
    for change in decision.changes:
        if change.victims:
            lines.append(
                f"Leaving {change.pool}: {', '.join(change.victims)}; all other nodes are protected meanwhile."
            )
    lines.extend(f"Cut down: {cap.text}." for cap in decision.caps)
    lines.extend(
        f"Considered {other.what} at {other.cost_per_hour} an hour: lost because {other.lost_because.text}."
        for other in decision.chosen.alternatives
    )
    lines.extend(
        f"Considered {proposal.policy} ({proposal.action}): {reason.text}." for proposal, reason in decision.rejected
    )
    return tuple(lines)


def _show_change(change: PoolChange) -> str:
    return f"{change.pool} {change.before} -> {change.after} ({change.delta:+d})"


def _show_cost(cost: Money) -> str:
    return f"{cost} an hour more" if cost.amount >= 0 else f"{-cost} an hour less"


def _show_evidence(item: Evidence) -> str:
    return f"{item.name} {item.seen}; wanted {item.wanted} ({_MARK[item.met]})"
