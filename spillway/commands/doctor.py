"""`spillway doctor`: is everything there that the agent needs? Each line that fails ends in what to do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta

from rich.markup import escape

from agent.bootstrap import Wired, build
from agent.core.snapshot import Snapshot, Unknown
from agent.errors import ExitCode, SpillwayError
from agent.ports import ChangeState
from agent.settings import Settings, read_settings
from contract.problems import InvalidInput
from spillway.output import Format, OutputOption, console, print_json, table
from spillway.wiring import TwinOption, environment

_PRICE_AGE = timedelta(days=365)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One check: good, or what is wrong and what to do. An advice leaves the exit code at 0."""

    check: str
    good: bool
    detail: str
    hint: str = ""
    is_advice: bool = False

    @property
    def word(self) -> str:
        """The verdict in a word."""
        return "ok" if self.good else "advice" if self.is_advice else "WRONG"


def doctor(twin: TwinOption = False, output: OutputOption = Format.TEXT) -> int:
    """Check settings, files, Pulumi, state, clusters, metrics and prices; exit 1 if something is wrong."""
    findings = _examine(environment(twin))
    if output is Format.JSON:
        print_json({"findings": [_as_data(finding) for finding in findings]})
    else:
        out = console()
        rows = [(item.word, item.check, item.detail) for item in findings]
        out.print(table(("", "check", "found"), rows))
        for finding in findings:
            if not finding.good:
                out.print(f"[bold]next, for {escape(finding.check)}:[/] {escape(finding.hint)}")
    return ExitCode.OK if all(finding.good or finding.is_advice for finding in findings) else ExitCode.ERROR


def _examine(variables: Mapping[str, str]) -> list[Finding]:
    settings, finding = _try("settings", lambda: read_settings(variables))
    if not isinstance(settings, Settings):
        return [finding]
    wired, built = _try("files, ledger, Pulumi", lambda: build(settings))
    if not isinstance(wired, Wired):
        return [finding, built]
    findings = [finding, built, *(_stack(wired, stack) for stack in settings.stacks)]
    snapshot, sensed = _try("senses", wired.agent.sensor.snapshot)
    findings.append(sensed)
    if isinstance(snapshot, Snapshot):
        findings.extend(_signals(snapshot))
        findings.append(_prices(wired, snapshot))
    findings.append(_open_changes(wired))
    return findings


def _try(check: str, question: Callable[[], object]) -> tuple[object, Finding]:
    try:
        return question(), Finding(check=check, good=True, detail="readable")
    except SpillwayError as error:
        return None, Finding(check=check, good=False, detail=str(error), hint=error.hint)
    except InvalidInput as error:
        return None, Finding(check=check, good=False, detail=str(error), hint=error.problems[0].fix)


def _stack(wired: Wired, stack: str) -> Finding:
    try:
        pools = wired.stacks.bindings(stack)
        done = wired.stacks.recover(stack)
    except SpillwayError as error:
        return Finding(check=f"stack {stack}", good=False, detail=str(error), hint=error.hint)
    if not pools:
        hint = f"bring it up once: pulumi up --stack {stack}"
        return Finding(check=f"stack {stack}", good=False, detail="holds no pool", hint=hint)
    return Finding(check=f"stack {stack}", good=True, detail="; ".join((f"{len(pools)} pools, not locked", *done)))


def _signals(snapshot: Snapshot) -> list[Finding]:
    readings: dict[str, object] = {"local GPU use": snapshot.local_use, "queue": snapshot.queued_tasks()}
    readings |= {f"pool {pool.pool}": pool.observed for pool in snapshot.pools}
    found = []
    for name, value in readings.items():
        if isinstance(value, Unknown):
            hint = "while it is unknown the size is held; see what answers at that address"
            found.append(Finding(check=name, good=False, detail=value.why, hint=hint))
        else:
            shown = f"{len(value)} nodes" if isinstance(value, tuple) else str(value)
            found.append(Finding(check=name, good=True, detail=shown))
    return found


def _prices(wired: Wired, snapshot: Snapshot) -> Finding:
    today = snapshot.taken_at.date()
    old = [row.pool for row in wired.catalog.cloud_pools() if today - row.price_date > _PRICE_AGE]
    if not old:
        return Finding(check="prices", good=True, detail="all younger than a year")
    hint = "look them up again and renew price_per_node_hour and price_date in stacks/catalog.yaml"
    detail = f"older than a year: {', '.join(old)}"
    return Finding(check="prices", good=False, detail=detail, hint=hint, is_advice=True)


def _open_changes(wired: Wired) -> Finding:
    killed = [change for change in wired.ledger.open_changes() if change.state is ChangeState.STARTED]
    if not killed:
        return Finding(check="open changes", good=True, detail="none")
    names = ", ".join(f"{change.id} of {change.stack}" for change in killed)
    hint = "the next tick finishes them; run 'spillway tick'"
    return Finding(check="open changes", good=False, detail=names, hint=hint)


def _as_data(finding: Finding) -> dict[str, object]:
    return {
        "check": finding.check,
        "verdict": finding.word.lower(),
        "good": finding.good,
        "detail": finding.detail,
        "hint": finding.hint,
    }
