"""`spillway policy check|schema`: what a policy file means, in sentences, and what of it to look at twice.

A policy that contradicts itself is refused by its reader; each contradiction is shown with key and fix
and the exit code is 2. What is legal and may surprise (windows that overlap) is shown, not refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from typing import Annotated

import typer

from agent.core.calendar_windows import Opening, Overlap, WindowRule, next_opening, overlaps
from agent.core.policy import Policy, explain_policy, parse_policy, policy_schema
from agent.core.rules.contradictions import keep_windows, unknown_pools
from contract.catalog import read_catalog
from contract.yaml_document import read_document
from spillway.output import Format, OutputOption, console, print_json

app = typer.Typer(help="The rules of renting and giving back: what they mean, and their schema.", no_args_is_help=True)
_DEFAULT = Path("stacks/policy.yaml")
_AHEAD = timedelta(days=365)
FileArgument = Annotated[Path, typer.Argument(help="the policy file")]
CatalogOption = Annotated[
    Path | None, typer.Option("--catalog", help="the catalogue whose pools the policy may name; beside it by default")
]
FromOption = Annotated[
    datetime | None,
    typer.Option("--from", formats=["%Y-%m-%d"], help="show openings and overlaps from this day on; today by default"),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Meeting:
    """Two windows that are open at the same time: how often, and the first time."""

    first: str
    second: str
    times: int
    next: Overlap
    says: str


@app.command("check")
def check(
    file: FileArgument = _DEFAULT,
    catalog: CatalogOption = None,
    since: FromOption = None,
    output: OutputOption = Format.TEXT,
) -> None:
    """Say what the policy means; contradictions are named with key and fix, and the exit code is 2."""
    policy = _read(file, catalog)
    now = since.replace(tzinfo=UTC) if since else datetime.now(UTC)
    rules = [window.rule for _, window in keep_windows(policy)]
    ahead = [found for rule in rules if (found := next_opening((rule,), now))]
    meetings = _meetings(policy, rules, now)
    if output is Format.JSON:
        print_json(_as_data(file, policy, ahead, meetings))
        return
    for line in _as_text(file, policy, ahead, meetings):
        console().print(line, markup=False)


@app.command("schema")
def schema() -> None:
    """Print the JSON schema of a policy file, for editors."""
    print_json(policy_schema())


def _read(file: Path, catalog: Path | None) -> Policy:
    """The policy, checked against the catalogue that is named or stands beside it. Raises InvalidInput."""
    value, findings = read_document(file)
    policy = parse_policy(value, findings)
    beside = catalog or file.parent / "catalog.yaml"
    if catalog or beside.exists():
        for found in unknown_pools(policy, read_catalog(beside)):
            findings.add((found.key,), found.says, found.fix)
    findings.raise_if_any()
    return policy


def _meetings(policy: Policy, rules: list[WindowRule], now: datetime) -> list[_Meeting]:
    found = sorted(overlaps(rules, now, now + _AHEAD), key=lambda item: sorted((item.first, item.second)))
    pairs = groupby(found, key=lambda item: sorted((item.first, item.second)))
    return [_meeting(policy, first, second, sorted(times)) for (first, second), times in pairs]


def _meeting(policy: Policy, first: str, second: str, times: list[Overlap]) -> _Meeting:
    giving = {window.rule.name for _, window in keep_windows(policy) if window.give_back_idle}
    says = "the higher number is kept"
    if {first, second} & giving:
        says = "what the one keeps stays, other idle nodes go back"
    if {first, second} <= giving:
        says = "idle nodes go back by the first in the file"
    return _Meeting(first=first, second=second, times=len(times), next=times[0], says=says)


def _as_text(file: Path, policy: Policy, ahead: list[Opening], meetings: list[_Meeting]) -> Iterator[str]:
    yield f"{file}: the policy is good"
    for section, said in explain_policy(policy):
        yield ""
        yield section
        yield from (f"  {line}" for line in said)
    if ahead:
        yield ""
        yield "next openings"
        yield from (f"  {item.name}: {_show(item.start)} to {_show(item.end)}" for item in sorted(ahead))
    if meetings:
        yield ""
        yield "overlaps in the next 12 months"
        for item in meetings:
            yield (
                f"  {item.first} and {item.second}: {item.times} times, first {_show(item.next.start)} "
                f"to {_show(item.next.end)}; {item.says}"
            )


def _as_data(file: Path, policy: Policy, ahead: list[Opening], meetings: list[_Meeting]) -> dict[str, object]:
    return {
        "file": str(file),
        "problems": [],
        "sentences": {section: list(said) for section, said in explain_policy(policy)},
        "next_openings": [
            {"window": item.name, "start": item.start.isoformat(), "end": item.end.isoformat()}
            for item in sorted(ahead)
        ],
        "overlaps": [
            {
                "windows": [item.first, item.second],
                "times": item.times,
                "first_start": item.next.start.isoformat(),
                "first_end": item.next.end.isoformat(),
                "says": item.says,
            }
            for item in meetings
        ],
    }


def _show(moment: datetime) -> str:
    return f"{moment:%a %Y-%m-%d %H:%M} UTC"
