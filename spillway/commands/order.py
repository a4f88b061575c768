"""`spillway order`: what a person orders by hand (R4.5). Each order has who, why, until when; it ends by itself.

Only writes orders into the ledger; the agent takes them up at its next tick and names them in what it decides.
"""

from __future__ import annotations

import getpass
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from agent.bootstrap import clock_at, open_ledger
from agent.core.snapshot import Order, OrderKind
from agent.errors import BadCall, NothingRecorded, redact
from agent.ports import Cancellation, ChangeState, LedgerStore, StoredOrder
from contract.units import BadUnit, Nodes, parse_duration, show_duration
from spillway.output import Format, OutputOption, console, plain, print_json, table
from spillway.wiring import TwinOption, environment

app = typer.Typer(help="Orders by hand: more nodes now, or no more than so many.", no_args_is_help=True)

_LONGEST = timedelta(days=7)
# More than any site rents, and far from what a database cannot hold.
_MOST = 10_000
_LONGEST_TEXT = 300
_DONE_OR_BEING_DONE = (ChangeState.STARTED, ChangeState.APPLIED, ChangeState.VERIFIED)

ForOption = Annotated[str, typer.Option("--for", metavar="DURATION", help="how long it holds, at most 7d: 2h, 30m")]
WhyOption = Annotated[str, typer.Option("--why", help="the reason; stands in every decision that is made for it")]
WhoOption = Annotated[str | None, typer.Option("--who", help="who orders it (default: the user logged in)")]
NodesOption = Annotated[int, typer.Option("--nodes", min=1, max=_MOST, help="so many more than are rented now")]
ToOption = Annotated[int, typer.Option("--to", min=0, max=_MOST, help="rent at most so many nodes")]
NumberArgument = Annotated[int, typer.Argument(metavar="N", min=1, max=10**15, help="the number of the order")]
LedgerOption = Annotated[
    str | None, typer.Option("--ledger", help="file or SQLAlchemy URL of the ledger that the agent works on")
]
MoveOption = Annotated[
    bool,
    typer.Option(
        "--move-work",
        help="also move work that is not core off the nodes above it: home if there is room, else back to the queue",
    ),
]
AllOption = Annotated[bool, typer.Option("--all", help="also those that ended or were cancelled")]


class OrderState(StrEnum):
    """How an order stands."""

    IN_FORCE = "in_force"
    ENDED = "ended"
    CANCELLED = "cancelled"


@app.command("emergency")
def emergency(  # noqa: PLR0913 - options are parameters to Typer
    nodes: NodesOption,
    holds_for: ForOption,
    why: WhyOption,
    who: WhoOption = None,
    ledger: LedgerOption = None,
    twin: TwinOption = False,
    output: OutputOption = Format.TEXT,
) -> None:
    """Order so many nodes more, at once: no cool-down and no step holds it back, limits and budget do."""
    store, now = _open(ledger, twin)
    order = _order(OrderKind.EMERGENCY, nodes, now, holds_for, (who, why))
    _tell_given(store.give_order(_from_base(order, store)), output)


@app.command("shrink")
def shrink(  # noqa: PLR0913 - options are parameters to Typer
    to: ToOption,
    holds_for: ForOption,
    why: WhyOption,
    move_work: MoveOption = False,
    who: WhoOption = None,
    ledger: LedgerOption = None,
    twin: TwinOption = False,
    output: OutputOption = Format.TEXT,
) -> None:
    """Order to rent no more than so many nodes; those with work stay until it ends, unless --move-work is given.

    Moved work loses what it has not saved. Core work is never moved, and disruption budgets are heeded.
    """
    store, now = _open(ledger, twin)
    order = _order(OrderKind.VACATE if move_work else OrderKind.SHRINK, to, now, holds_for, (who, why))
    _tell_given(store.give_order(_from_base(order, store)), output)


@app.command("list")
def list_orders(
    show_all: AllOption = False,
    ledger: LedgerOption = None,
    twin: TwinOption = False,
    output: OutputOption = Format.TEXT,
) -> None:
    """List the orders in force, newest first."""
    store, now = _open(ledger, twin)
    found = [stored for stored in reversed(store.orders()) if show_all or stored.is_in_force(now)]
    if output is Format.JSON:
        print_json({"orders": [_data(stored, now) for stored in found]})
        return
    if not found:
        console().print("No order is in force." if not show_all else "No order was ever given.")
        return
    headings = ("no", "order", "who", "why", "since (UTC)", "until (UTC)", "state")
    console().print(table(headings, [_cells(stored, now) for stored in found], numbers=("no",)))


@app.command("cancel")
def cancel(  # noqa: PLR0913 - options are parameters to Typer
    number: NumberArgument,
    why: WhyOption,
    who: WhoOption = None,
    ledger: LedgerOption = None,
    twin: TwinOption = False,
    output: OutputOption = Format.TEXT,
) -> None:
    """End an order before its time."""
    store, now = _open(ledger, twin)
    stored = next((item for item in store.orders() if item.order.number == number), None)
    target, hint = f"order {number}", "list them with 'spillway order list --all'"
    if stored is None:
        raise NothingRecorded("was never given", target=target, hint=hint)
    if stored.cancelled:
        raise BadCall(f"was cancelled by {stored.cancelled.who} already", target=target, hint=hint)
    if now >= stored.order.until:
        raise BadCall(f"ended by itself at {_show(stored.order.until)} UTC", target=target, hint=hint)
    ends = Cancellation(who=_who(who), why=_text("--why", why), at=now)
    store.cancel_order(number, ends)
    if output is Format.JSON:
        print_json({"order": _data(StoredOrder(order=stored.order, cancelled=ends), now)})
    else:
        console().print(escape(f"Order {number} is cancelled by {ends.who}: {ends.why}."))


def _open(ledger: str | None, twin: bool) -> tuple[LedgerStore, datetime]:
    """The agent's ledger, which must exist, and the time on the agent's clock. The demo's ledger has no agent."""
    found = environment(twin)
    project = Path(found.get("SPILLWAY_PROJECT_DIR", "."))
    name = ledger or found.get("SPILLWAY_LEDGER") or str(project / "out" / "ledger.db")
    return open_ledger(name, must_exist=True), clock_at(found.get("SPILLWAY_CLOCK_URL") or None).now()


def _order(kind: OrderKind, nodes: int, now: datetime, holds_for: str, words: tuple[str | None, str]) -> Order:
    who, why = words
    return Order(
        number=0,
        kind=kind,
        nodes=Nodes(nodes),
        base=Nodes(0),
        who=_who(who),
        why=_text("--why", why),
        since=now,
        until=now + _span(holds_for),
    )


def _from_base(order: Order, ledger: LedgerStore) -> Order:
    """With the number of nodes rented when it is given: by the last picture, and what was done on it since."""
    latest = ledger.decisions(1, actions_only=False)
    inputs = ledger.inputs(latest[0].id) if latest else None
    if inputs is None:
        return order
    sizes = {pool.pool: pool.configured for pool in inputs.snapshot.pools}
    for change in reversed(ledger.changes(len(sizes))):
        if change.decision_id == latest[0].id and change.state in _DONE_OR_BEING_DONE:
            sizes.update(change.after)
    return replace(order, base=Nodes(sum(sizes.values())))


def _span(text: str) -> timedelta:
    hint = f"write more than 0 and at most {show_duration(_LONGEST)}, such as 2h; then order again if it must last"
    try:
        span = parse_duration(text)
    except BadUnit as error:
        raise BadCall(str(error), target="--for", hint=hint) from error
    except OverflowError:
        span = timedelta.max
    if not timedelta(0) < span <= _LONGEST:
        raise BadCall(f"{text!r} is no time that an order may last", target="--for", hint=hint)
    return span


def _who(given: str | None) -> str:
    if given is not None:
        return _text("--who", given)
    try:
        return _text("--who", getpass.getuser())
    except (KeyError, OSError, ImportError) as error:
        raise BadCall("nobody is logged in", target="--who", hint="say who orders it: --who NAME") from error


def _text(option: str, given: str) -> str:
    """One line for people, without what looks like a secret: it stands in decisions, logs and reports for ever."""
    text = redact(" ".join(given.split()))
    if not text:
        raise BadCall("is empty", target=option, hint="every order says who gives it and why")
    if len(text) > _LONGEST_TEXT or not text.isprintable():
        hint = f"write one line of at most {_LONGEST_TEXT} printable characters"
        raise BadCall("is too long, or is no text", target=option, hint=hint)
    return text


def _tell_given(order: Order, output: Format) -> None:
    if output is Format.JSON:
        print_json({"order": _data(StoredOrder(order=order, cancelled=None), order.since)})
        return
    text = (
        f"Order {order.number}: {what_is_ordered(order)}, until {_show(order.until)} UTC, by {order.who}: {order.why}."
    )
    console().print(escape(text))
    console().print("The agent takes it up at its next tick; 'spillway order cancel' ends it before its time.")


def what_is_ordered(order: Order) -> str:
    """`at most 4 nodes, moving work that is not core`."""
    if order.kind is OrderKind.EMERGENCY:
        return f"{order.nodes} nodes more than the {order.base} rented then, {order.base + order.nodes} in all"
    moving = ", moving work that is not core" if order.kind is OrderKind.VACATE else ""
    return f"at most {order.nodes} nodes{moving}"


def _cells(stored: StoredOrder, now: datetime) -> tuple[str, ...]:
    order = stored.order
    state = _state(stored, now).replace("_", " ")
    if stored.cancelled:
        state = f"cancelled by {stored.cancelled.who}: {stored.cancelled.why}"
    since, until = _show(order.since), _show(order.until)
    return (str(order.number), what_is_ordered(order), order.who, order.why, since, until, state)


def _data(stored: StoredOrder, now: datetime) -> dict[str, object]:
    order = stored.order
    return {
        "number": order.number,
        "kind": order.kind.value,
        "nodes": order.nodes,
        "base": order.base,
        "who": order.who,
        "why": order.why,
        "since": order.since.isoformat(),
        "until": order.until.isoformat(),
        "state": _state(stored, now).value,
        "cancelled": plain(stored.cancelled),
    }


def _state(stored: StoredOrder, now: datetime) -> OrderState:
    if stored.cancelled:
        return OrderState.CANCELLED
    return OrderState.IN_FORCE if now < stored.order.until else OrderState.ENDED


def _show(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
