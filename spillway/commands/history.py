"""`spillway decisions` and `spillway explain`: the ledger, for people and for machines."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from agent.bootstrap import open_ledger
from agent.core.explain import Loser, headline, losers, sentences
from agent.core.learned_runtimes import runtime_sentences
from agent.core.rerun import Difference, rerun
from agent.errors import ExitCode, InputsUnreadable, NothingRecorded
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
    again: Annotated[bool, typer.Option("--rerun", help="decide again on the stored inputs and compare")] = False,
    ledger: LedgerOption = None,
    output: OutputOption = Format.TEXT,
) -> int:
    """Say why a decision was made: what was seen, what was considered, why each lost, what it costs.

    With --rerun the shipped rules decide once more on the inputs that the ledger kept; exit code 7 when
    they now say something else.
    """
    store = find_ledger(ledger)
    item = _find(store, which)
    if again:
        return _rerun(store, item, output)
    runtimes = _runtimes(store, item)
    if output is Format.JSON:
        print_json({**_explained(item), "runtimes": list(runtimes)})
        return ExitCode.OK
    out = console()
    first, *others = sentences(item.decision)
    out.print(f"[bold]Decision {item.id}, {item.decision.taken_at:%Y-%m-%d %H:%M:%S} UTC.[/] {escape(first)}")
    for line in others:
        out.print(f"  {escape(line)}")
    for line in runtimes:
        out.print(f"  {escape(line)}.")
    if item.withdrawn:
        out.print(f"  Withdrawn before anything was touched: {escape(item.withdrawn)}.")
    return ExitCode.OK


def _runtimes(store: LedgerStore, item: StoredDecision) -> tuple[str, ...]:
    """Where the run times came from that it was made on; nothing where another version stored the inputs."""
    try:
        inputs = store.inputs(item.id)
    except InputsUnreadable:
        return ()
    return () if inputs is None else runtime_sentences(inputs.snapshot)


def _rerun(store: LedgerStore, item: StoredDecision, output: Format) -> ExitCode:
    inputs = store.inputs(item.id)
    if inputs is None:
        raise NothingRecorded(f"there are no inputs of decision {item.id}", target="ledger", hint="name another one")
    found = rerun(inputs.snapshot, inputs.policy, inputs.memory, inputs.decided)
    if output is Format.JSON:
        print_json({**_summary(item), "same": not found, "differences": [plain(difference) for difference in found]})
    else:
        _show_rerun(item, found)
    return ExitCode.UNEXPECTED_CHANGES if found else ExitCode.OK


def _show_rerun(item: StoredDecision, found: Sequence[Difference]) -> None:
    out = console()
    name = f"Decision {item.id}, {item.decision.taken_at:%Y-%m-%d %H:%M:%S} UTC, decided again on its stored inputs"
    if not found:
        out.print(f"{name}: the same, bit for bit.")
        return
    out.print(f"{name}: {len(found)} field{'s differ' if len(found) > 1 else ' differs'}.")
    for difference in found:
        out.print(f"  {escape(difference.field)}")
        out.print(f"    stored: {escape(difference.stored or '(no such field)')}")
        out.print(f"    again:  {escape(difference.again or '(no such field)')}")


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
        "alternatives": [_loser(loser) for loser in losers(decision)],
        "caps": [plain(cap) for cap in decision.caps],
        "sentences": list(sentences(decision)),
    }


def _loser(loser: Loser) -> dict[str, object]:
    return {
        "what": loser.what,
        "by": loser.by,
        "cost_per_hour": None if loser.cost_per_hour is None else money_data(loser.cost_per_hour),
        "lost_because": {"code": loser.lost_because.code.value, "text": loser.lost_because.text},
    }


def money_data(money: Money) -> dict[str, str]:
    """Money for JSON: exact digits as text, and the currency."""
    return {"amount": str(money.rounded().amount), "currency": money.currency}
