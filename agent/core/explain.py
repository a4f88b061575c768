"""A decision in sentences: what was seen, what was considered, why each lost, what it costs.

Works from the decision alone, so that any recorded one can be explained later, also a "do nothing".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from agent.core.decision import Action, Alternative, Decision, Evidence, PoolChange, Proposal, Reason, ReasonCode
from contract.units import Money, zero

_MARK = {True: "met", False: "not met", None: "unknown"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loser:
    """What was not done, who considered it, what it would cost an hour (None: not reckoned), why it lost.

    `is_policy`: a whole proposal of another policy, with the sizes it asked for in `what`.
    """

    by: str
    what: str
    cost_per_hour: Money | None
    lost_because: Reason
    is_policy: bool = False


def headline(decision: Decision) -> str:
    """One line: what is done and what it costs."""
    if decision.action is Action.HOLD:
        return f"Hold: {decision.chosen.reason.text}."
    if decision.action is Action.VACATE:
        return f"Move work: {_show_vacated(decision.chosen)}."
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
    lines.extend(_show_loser(loser) for loser in losers(decision))
    return tuple(lines)


def losers(decision: Decision) -> tuple[Loser, ...]:
    """Everything that was considered and not done: the chosen policy's own, each other policy with its own, nothing.

    What two policies considered alike is told once.
    """
    told: dict[tuple[str, Money | None, Reason], Loser] = {}
    for loser in _losers(decision):
        told.setdefault((loser.what, loser.cost_per_hour, loser.lost_because), loser)
    return tuple(told.values())


def _losers(decision: Decision) -> Iterator[Loser]:
    chosen = decision.chosen
    yield from (_of(chosen.policy, other) for other in chosen.alternatives)
    for proposal, reason in decision.rejected:
        asked = "".join(f" {_show_change(change)}" for change in proposal.changes)
        what = f"{proposal.policy}: {proposal.action}{asked}"
        yield Loser(by=proposal.policy, what=what, cost_per_hour=None, lost_because=reason, is_policy=True)
        yield from (_of(proposal.policy, other) for other in proposal.alternatives)
    if decision.action is not Action.HOLD:
        text = f"{chosen.policy} asks for a change: {chosen.reason.text}"
        lost = Reason(code=ReasonCode.OUTRANKED, text=text)
        nothing = zero(decision.cost_per_hour.currency)
        yield Loser(by="hold", what="do nothing", cost_per_hour=nothing, lost_because=lost)


def _of(policy: str, other: Alternative) -> Loser:
    return Loser(by=policy, what=other.what, cost_per_hour=other.cost_per_hour, lost_because=other.lost_because)


def _show_loser(loser: Loser) -> str:
    if loser.is_policy:
        policy, _, asked = loser.what.partition(": ")
        return f"Considered {policy} ({asked}): {loser.lost_because.text}."
    return f"Considered {loser.what} at {loser.cost_per_hour} an hour: lost because {loser.lost_because.text}."


def _show_vacated(chosen: Proposal) -> str:
    said = [f"{node.node} is cordoned, {', '.join(node.tasks)} leave it" for node in chosen.vacates]
    return "; ".join((*said, *(f"{node.node} takes work again" for node in chosen.releases)))


def _show_change(change: PoolChange) -> str:
    return f"{change.pool} {change.before} -> {change.after} ({change.delta:+d})"


def _show_cost(cost: Money) -> str:
    return f"{cost} an hour more" if cost.amount >= 0 else f"{-cost} an hour less"


def _show_evidence(item: Evidence) -> str:
    return f"{item.name} {item.seen}; wanted {item.wanted} ({_MARK[item.met]})"
