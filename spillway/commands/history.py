"""`spillway decisions` and `spillway explain`: the ledger, for people and for machines."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from agent.bootstrap import open_ledger
from agent.core.decision import Action, Alternative, Decision, ReasonCode
from agent.core.explain import headline, sentences
from agent.errors import NothingRecorded
from agent.ports import LedgerStore, StoredDecision
from contract.units import Money
from spillway.output import Format, OutputOption, console, errors, plain, print_json, table

LedgerOption = Annotated[str | None, typer.Option("--ledger", help="file or SQLAlchemy URL of the ledger")]
_PLACES = (Path("out/ledger.db"), Path("out/demo/ledger.db"))


def decisions(
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="how many, newest first")] = 20,
    all_ticks: Annotated[bool, typer.Option("--all", help="also the ticks that changed nothing")] = False,
    ledger: LedgerOption = None,
    output: OutputOption = Format.TEXT,
) -> None:
    """List what was decided, newest first."""
    stored = find_ledger(ledger).decisions(limit, actions_only=not all_ticks)
    if output is Format.JSON:
        print_json({"decisions": [_summary(item) for item in stored]})
        return
    rows = [(str(item.id), f"{item.decision.taken_at:%Y-%m-%d %H:%M:%S}", _headline(item)) for item in stored]
    console().print(table(("id", "at (UTC)", "decision"), rows, numbers=("id",)))


def explain(
    which: Annotated[str, typer.Argument(metavar="[ID|latest]", help="an id, or the newest action")] = "latest",
    ledger: LedgerOption = None,
    output: OutputOption = Format.TEXT,
) -> None:
    """Say why a decision was made: what was seen, what was considered, why each lost, what it costs."""
    item = _find(find_ledger(ledger), which)
    if output is Format.JSON:
        print_json(_explained(item))
        return
    out = console()
    first, *others = sentences(item.decision)
    out.print(f"[bold]Decision {item.id}, {item.decision.taken_at:%Y-%m-%d %H:%M:%S} UTC.[/] {escape(first)}")
    for line in others:
        out.print(f"  {escape(line)}")
    if item.withdrawn:
        out.print(f"  Withdrawn before anything was touched: {escape(item.withdrawn)}.")


def find_ledger(named: str | None) -> LedgerStore:
    """The ledger named, else the environment's, else the project's, else the last demo's."""
    name = named or os.environ.get("SPILLWAY_LEDGER")
    if name:
        return open_ledger(name, must_exist=True)
    for place in _PLACES:
        if place.is_file():
            if place is _PLACES[-1]:
                errors().print("(reading the ledger of the last demo; name another with --ledger)", style="dim")
            return open_ledger(str(place), must_exist=True)
    hint = "run 'spillway demo' or 'spillway run' first, or name one with --ledger"
    raise NothingRecorded("there is no ledger", target=" or ".join(map(str, _PLACES)), hint=hint)


def _find(ledger: LedgerStore, which: str) -> StoredDecision:
    hint = "list them with 'spillway decisions --all'"
    if which == "latest":
        newest = ledger.decisions(1, actions_only=True) or ledger.decisions(1, actions_only=False)
        if not newest:
            raise NothingRecorded("nothing was decided yet", target="ledger", hint="run 'spillway tick' first")
        return newest[0]
    # Longer numbers than any id are no number to a database.
    if not which.isdecimal() or len(which) > 15:
        raise NothingRecorded(f"{which!r} is neither an id nor 'latest'", target="ledger", hint=hint)
    found = ledger.decision(int(which))
    if found is None:
        raise NothingRecorded(f"there is no decision {which}", target="ledger", hint=hint)
    return found


def _headline(item: StoredDecision) -> str:
    text = headline(item.decision)
    return f"{text} Withdrawn: {item.withdrawn}." if item.withdrawn else text


def _summary(item: StoredDecision) -> dict[str, object]:
    return {
        "id": item.id,
        "taken_at": item.decision.taken_at.isoformat(),
        "action": item.decision.action.value,
        "headline": _headline(item),
        "cost_per_hour": money_data(item.decision.cost_per_hour),
        "withdrawn": item.withdrawn,
    }


def _explained(item: StoredDecision) -> dict[str, object]:
    decision = item.decision
    return {
        **_summary(item),
        "decision": {
            "action": decision.action.value,
            "policy": decision.chosen.policy,
            "reason": plain(decision.chosen.reason),
            "changes": [plain(change) for change in decision.changes],
        },
        "evidence": [plain(piece) for piece in decision.chosen.evidence],
        "alternatives": [_alternative(other) for other in decision.chosen.alternatives] + _losers(decision),
        "caps": [plain(cap) for cap in decision.caps],
        "sentences": list(sentences(decision)),
    }


def _alternative(other: Alternative) -> dict[str, object]:
    return {
        "what": other.what,
        "cost_per_hour": money_data(other.cost_per_hour),
        "lost_because": {"code": other.lost_because.code.value, "text": other.lost_because.text},
    }


def _losers(decision: Decision) -> list[dict[str, object]]:
    losers: list[dict[str, object]] = [
        {
            "what": f"{proposal.policy}: {proposal.action}",
            "cost_per_hour": None,
            "lost_because": {"code": reason.code.value, "text": reason.text},
        }
        for proposal, reason in decision.rejected
    ]
    if decision.action is not Action.HOLD:
        nothing = {"amount": "0", "currency": decision.cost_per_hour.currency}
        text = f"{decision.chosen.policy} asks for a change: {decision.chosen.reason.text}"
        lost = {"code": ReasonCode.OUTRANKED.value, "text": text}
        losers.append({"what": "do nothing", "cost_per_hour": nothing, "lost_because": lost})
    return losers


def money_data(money: Money) -> dict[str, str]:
    """Money for JSON: exact digits as text, and the currency."""
    return {"amount": str(money.rounded().amount), "currency": money.currency}
