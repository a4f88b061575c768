"""The parts of a trace's report: figures, pictures, decisions, differences, settings. One function a part.

Shows what was played; takes no figure of its own but sums over what the pictures have no room for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta

from agent.core.costing import gpu_cost
from contract.units import Money
from replay.bounds import Best
from replay.charts import Bar, Caption, Dot, Mark, bars, scatter, timeline
from replay.contest import Arena, Result, World, cloud_gpu_hour
from replay.headline import Headline
from replay.played import Played
from replay.report.curves import curves
from replay.report.front import Standing, front
from replay.report.page import folded, paragraph, table
from replay.site.run import Replay, Turn

_MOST_DECISIONS = 200
_MOST_MARKS = 400
_FEW_MARKS, _FEW_POINTS = 100, 400
_MOST_DEPARTMENTS = 8
_MOST_BAD_ROWS = 20
# More policies than this are compared in the table and in the scatter; bars of all would be a wall.
_MOST_BARS = 8
_FIGURES = (
    "mean wait",
    "p99 wait",
    "mean JCT",
    "cloud GPU-h",
    "rented GPU-h",
    "cost",
    "on-prem use",
    "cloud use",
    "idle",
    "core in 15 min",
    "lost",
    "unfinished",
    "turns",
)


def headline_part(played: Played) -> Iterator[str]:
    """All policies in one table, and the best that is possible."""
    trace, arena = played.arena.trace, played.arena
    yield paragraph(
        f"{len(trace.jobs):,} jobs, {trace.gpu_hours:,.0f} GPU-hours of work, from {trace.starts_at:%Y-%m-%d %H:%M}; "
        f"{arena.owned_nodes * arena.per_node} owned GPUs. The first row is the policy that is judged."
    )
    rows = [_figures(result.headline) for result in played.results]
    yield table("Headline figures by policy", ("policy", *_FIGURES), rows, numbers=_FIGURES)
    yield paragraph(best_words(played.best, played.results[0].headline))


def best_words(best: Best | None, judged: Headline) -> str:
    """What is known of how good any policy could be."""
    if best is None:
        return "Best possible: no bound above 0 is known at this mean wait."
    what = "the optimum is" if best.is_optimum else "no schedule does with less than"
    known = f"at a mean wait of {best.mean_wait_h:.3f} h {what} {best.gpu_h:,.0f} cloud GPU-h ({best.how})."
    if best.gap is None:
        return f"Best possible: {known}"
    used = f"{judged.policy} used {judged.cloud_gpu_h:,.0f}, of which {100 * best.gap:.0f} % are above it."
    return f"Best possible: {known} {used}"


def timeline_part(played: Played, key: str) -> Iterator[str]:
    """Capacity against demand: the judged policy in full, the others folded and coarser."""
    first, *others = played.results
    yield "<h3>Capacity against demand</h3>"
    yield _timeline(played.arena, first, f"{key}-time-0")
    for number, other in enumerate(others, start=1):
        drawn = _timeline(played.arena, other, f"{key}-time-{number}", is_coarse=True)
        yield folded(f"the same under {other.headline.policy}", drawn)


def bars_part(played: Played, key: str) -> Iterator[str]:
    """Waits by tier and spend by department."""
    shown = played.results[:_MOST_BARS]
    if len(shown) < len(played.results):
        yield paragraph(f"Bars: the first {len(shown)} of {len(played.results)} policies.", is_soft=True)
    tiers = list(dict.fromkeys(tier for result in shown for tier in result.headline.wait_by_tier))
    caption = Caption(key=f"{key}-waits", title="Mean wait by tier, hours", words=_of(shown, "mean wait by tier"))
    yield "<h3>Mean wait by tier</h3>"
    yield bars(caption, [(tier, [_wait_bar(tier, n, it.headline) for n, it in enumerate(shown)]) for tier in tiers])
    yield "<h3>Cloud spend by department</h3>"
    groups = _departments(shown)
    if groups:
        caption = Caption(
            key=f"{key}-spend", title="Cloud spend by department", words=_of(shown, "cloud spend by department")
        )
        yield bars(caption, groups)
    else:
        yield paragraph("Nothing was spent in the cloud.")


def scatter_part(played: Played, key: str) -> Iterator[str]:
    """Cost against mean wait, all policies and the best possible."""
    lines = [result.headline for result in played.results]
    marked = front([_standing(line) for line in lines])
    dots = [_dot(line, is_best=is_best) for line, is_best in zip(lines, marked, strict=True)]
    if played.best is not None:
        dots.append(_bound(played.arena, played.best))
    named = ", ".join(line.policy for line, is_best in zip(lines, marked, strict=True) if is_best)
    caption = Caption(
        key=f"{key}-scatter",
        title="Cost against mean wait",
        words=f"Left and low is better. Beaten by no other policy in both: {named}.",
    )
    yield "<h3>Cost against mean wait</h3>"
    yield scatter(caption, (f"cloud cost, {lines[0].cloud_cost.currency}", "mean wait, hours"), dots)
    yield paragraph(
        f"Filled: beaten by no other policy in both ({named}). Ring: no schedule with that mean wait costs less."
        " Policies that leave more jobs unfinished than others are never filled.",
        is_soft=True,
    )


def decisions_part(played: Played) -> Iterator[str]:
    """The first decisions of the judged policy."""
    yield "<h3>Decisions</h3>"
    run = played.results[0].outcome
    if not isinstance(run, Replay):
        yield paragraph("In this world the cloud has no nodes, so that there are no decisions about them.")
        return
    shown = run.turns[:_MOST_DECISIONS]
    start = played.arena.trace.starts_at
    rows = [
        (
            f"{start + timedelta(seconds=turn.at_s):%Y-%m-%d %H:%M:%S}",
            turn.by,
            _changes(turn),
            "" if turn.decision is None else f"{turn.decision.cost_per_hour}/h",
            turn.why,
        )
        for turn in shown
    ]
    caption = (
        f"{len(shown)} of {len(run.turns)} decisions of {played.results[0].headline.policy} that changed something"
    )
    yield table(caption, ("when", "by", "pools", "changes the bill by", "why"), rows, numbers=("changes the bill by",))


def differences_part(played: Played) -> Iterator[str]:
    """Where other policies rented differently."""
    yield "<h3>What another policy would have changed</h3>"
    if not played.differences:
        yield paragraph("Nothing: no other policy rented nodes at other times, or none was played beside it.")
        return
    rows = [
        (it.other, f"{it.since:%Y-%m-%d %H:%M}", f"{it.until:%Y-%m-%d %H:%M}", f"{it.gpus:+,.1f}", f"{it.gpu_h:+,.1f}")
        for it in played.differences
    ]
    numbers = ("GPUs more", "GPU-hours more")
    yield table("The spans that weigh most", ("policy", "from", "to", *numbers), rows, numbers=numbers)


def settings_part(played: Played) -> Iterator[str]:
    """What was left out of the trace, and what the run was made with."""
    arena, trace = played.arena, played.arena.trace
    truth = arena.truth
    yield "<h3>Rows and settings</h3>"
    yield paragraph(f"{len(trace.bad_rows)} bad rows left out; {trace.left_out} sound rows that are no GPU jobs.")
    if trace.bad_rows:
        problems = [(str(bad.row or ""), bad.where, bad.message, bad.fix) for bad in trace.bad_rows[:_MOST_BAD_ROWS]]
        shown = f"{len(problems)} of {len(trace.bad_rows)} bad rows"
        yield table(shown, ("row", "column", "what is wrong", "fix"), problems)
    rows = [
        ("world", arena.world.value),
        ("seed", str(truth.seed)),
        ("estimates of runtimes", truth.estimates.value),
        ("owned", f"{arena.owned_nodes * arena.per_node} GPUs, {arena.owned_nodes} nodes of {arena.per_node}"),
    ]
    if arena.world is World.REAL:
        spot = ", ".join(f"{pool}: {history.name}" for pool, history in sorted(truth.spot.items()))
        rows += [
            ("spot market", spot or "no spot pools"),
            ("nodes that never become ready", f"{100 * truth.boot_failures:g} %"),
            ("decision to cloud call", f"{truth.actuation_s:g} s"),
            ("shortest time billed", f"{truth.minimum_billing_s:g} s"),
            ("work lost with a node", f"up to {truth.checkpoint_s:g} s, since the last checkpoint"),
        ]
    yield table("Settings", ("setting", "value"), rows)


def _figures(it: Headline) -> tuple[str, ...]:
    return (
        it.policy,
        f"{it.mean_wait_h:.3f} h",
        f"{it.p99_wait_h:.2f} h",
        f"{it.mean_jct_h:.2f} h",
        f"{it.cloud_gpu_h:,.0f}",
        f"{it.paid_gpu_h:,.0f}",
        str(it.cloud_cost),
        _share(it.on_prem_use),
        _share(it.cloud_use),
        _share(it.idle_share),
        _share(it.core_served),
        f"{it.lost_h:,.1f} h",
        f"{it.unfinished:,}",
        "-" if it.direction_changes is None else f"{it.direction_changes:,}",
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def _timeline(arena: Arena, result: Result, key: str, *, is_coarse: bool = False) -> str:
    turns = result.outcome.turns if isinstance(result.outcome, Replay) else ()
    marks = _marks(arena, turns, _FEW_MARKS if is_coarse else _MOST_MARKS)
    drawn = curves(arena, result.outcome, _FEW_POINTS) if is_coarse else curves(arena, result.outcome)
    wanted = max((step[1] for step in drawn.steps), default=0)
    rented = max((step[2] for step in drawn.steps), default=0)
    said = (
        f"{drawn.owned} owned GPUs; at most {wanted:,} GPUs wanted and {rented:,} rented; "
        f"{len(turns):,} decisions, {len(marks)} of them marked."
    )
    name = result.headline.policy
    return timeline(Caption(key=key, title=f"GPUs over time under {name}", words=said), drawn, marks) + paragraph(
        said, is_soft=True
    )


def _marks(arena: Arena, turns: Sequence[Turn], most: int) -> list[Mark]:
    """The decisions that moved most nodes, in the order of time."""
    heaviest = sorted(turns, key=lambda turn: (-sum(abs(change.delta) for change in turn.changes), turn.at_s))[:most]
    return [
        Mark(
            at_s=turn.at_s,
            words=f"{arena.trace.starts_at + timedelta(seconds=turn.at_s):%Y-%m-%d %H:%M} {turn.by}: {_changes(turn)}"
            + (f"; {turn.why}" if turn.why else ""),
            is_growth=sum(change.delta for change in turn.changes) > 0,
        )
        for turn in sorted(heaviest, key=lambda turn: turn.at_s)
    ]


def _changes(turn: Turn) -> str:
    return ", ".join(f"{change.pool} {change.before} → {change.after}" for change in turn.changes)


def _of(results: Sequence[Result], what: str) -> str:
    return f"Bars of {what}, for the policies " + ", ".join(result.headline.policy for result in results)


def _wait_bar(tier: str, number: int, it: Headline) -> Bar:
    wait = it.wait_by_tier.get(tier)
    shown = "-" if wait is None else f"{wait:.3f} h"
    return Bar(name=it.policy, value=wait or 0.0, shown=shown, is_first=number == 0)


def _departments(shown: Sequence[Result]) -> list[tuple[str, list[Bar]]]:
    """The departments that spend most; the others in one group."""
    most: dict[str, float] = {}
    for result in shown:
        for name, money in result.headline.spend_by_department.items():
            most[name] = max(most.get(name, 0.0), float(money.amount))
    names = sorted((name for name in most if most[name] > 0), key=lambda name: (-most[name], name))
    groups = [(name, [name]) for name in names[:_MOST_DEPARTMENTS]]
    if rest := names[_MOST_DEPARTMENTS:]:
        groups.append((f"{len(rest)} others", rest))
    return [(title, [_spend_bar(members, n, it.headline) for n, it in enumerate(shown)]) for title, members in groups]


def _spend_bar(departments: Sequence[str], number: int, it: Headline) -> Bar:
    spent = Money(it.cloud_cost.amount * 0, it.cloud_cost.currency)
    for name in departments:
        spent += it.spend_by_department.get(name, spent * 0)
    return Bar(name=it.policy, value=float(spent.amount), shown=str(spent), is_first=number == 0)


def _standing(it: Headline) -> Standing:
    return Standing(cost=float(it.cloud_cost.amount), wait=it.mean_wait_h, unfinished=it.unfinished)


def _dot(it: Headline, *, is_best: bool) -> Dot:
    left = f", {it.unfinished} jobs unfinished" if it.unfinished else ""
    said = f"{it.policy}: {it.cloud_cost}, mean wait {it.mean_wait_h:.3f} h{left}"
    return Dot(name=it.policy, x=float(it.cloud_cost.amount), y=it.mean_wait_h, words=said, is_best=is_best)


def _bound(arena: Arena, best: Best) -> Dot:
    """The bound in money: at the dearest what the cheapest GPU-hour costs, so that nothing can be below."""
    if arena.world is World.INSTANT:
        price = cloud_gpu_hour(arena.catalog)
    else:
        rows = arena.catalog.cloud_pools()
        price = min((gpu_cost(arena.catalog, row) for row in rows), key=lambda money: money.amount)
    cost = float(price.amount) * best.gpu_h
    said = f"best possible: {best.gpu_h:,.0f} cloud GPU-h at the cheapest price, {price} an hour ({best.how})"
    return Dot(name="best possible", x=cost, y=best.mean_wait_h, words=said, is_bound=True)
