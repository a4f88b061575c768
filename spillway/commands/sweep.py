"""`spillway sweep TRACE…`: many policies, patiences and seeds on many traces, on all cores or on a cluster.

Reads files, hands the cells out, shows what came; what a cell is, how it is kept and who runs it stands in
replay/sweep. The same call goes on where a broken one ended.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from datetime import timedelta
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Annotated, NamedTuple

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from agent.bootstrap import read_policy
from agent.core.rules.wait_or_pay import Join
from agent.errors import BadCall, ExitCode
from contract.catalog import read_catalog
from contract.units import BadUnit, parse_duration
from replay.contest import Entrant, NoSuchEntrant, World, enter
from replay.headline import Headline
from replay.site.truth import Estimates, Truth
from replay.sweep.cells import Cell, Setting, TraceFile, cells, load, trace_file, with_patience
from replay.sweep.crew import Answer, Crew, Failed, alone, processes, run
from replay.sweep.page import HEADINGS, NUMBERS, cells_of, sweep_page
from replay.sweep.store import Store, SweepRunning, opened
from replay.sweep.summary import Summary, as_data, summary
from replay.trace import Trace
from replay.traces.reader import TraceFormat
from spillway.commands.arena_options import GPUS_PER_NODE, owned_nodes, spot_markets
from spillway.output import Format, OutputOption, console, errors, must_be_writable, print_json, table, write_file

STACKS = Path("stacks")
_MOST_SEEDS, _LONGEST_SEED = 10_000, 9
_CLUSTER_TIMEOUT = "10s"

TracesArgument = Annotated[list[Path], typer.Argument(help="recorded jobs; formats: docs/traces.md")]
PoliciesOption = Annotated[list[Path], typer.Option("--policy", help="a policy file; may be given many times")]
AgainstOption = Annotated[
    list[str], typer.Option("--against", help="a baseline beside them, as in 'spillway replay'; many times")
]
PatienceOption = Annotated[
    str, typer.Option("--patience", help="each policy once with each of these, such as 3m,6m,15m; wait_or_pay.patience")
]
SeedsOption = Annotated[str, typer.Option("--seeds", help="of boot times, failures and stock, such as 0-4 or 0,3,7")]
WorldOption = Annotated[
    World, typer.Option("--world", help="real: nodes, boots, stock, money; instant: Starburst's cloud without limit")
]
OnPremOption = Annotated[int, typer.Option("--on-prem", min=0, help="owned GPUs, a multiple of 8; 0: the catalogue's")]
EstimatesOption = Annotated[Estimates, typer.Option("--estimates", help="what the policy is told of runtimes")]
WorkersOption = Annotated[int, typer.Option("--workers", min=0, help="processes; 0: one a core; 1: this one")]
ClusterOption = Annotated[
    str, typer.Option("--cluster", help="address of a Dask scheduler, such as tcp://10.0.0.5:8786")
]
OutOption = Annotated[Path, typer.Option("--out", help="folder of the results; the same call goes on from there")]
HtmlOption = Annotated[Path | None, typer.Option("--html", help="write a page with the pictures of cost against wait")]


def sweep(  # noqa: PLR0913 - the options of a command are its interface
    traces: TracesArgument,
    policy: PoliciesOption = [STACKS / "policy.yaml"],  # noqa: B006 - typer's way to say "may be given many times"
    against: AgainstOption = [],  # noqa: B006
    patience: PatienceOption = "",
    seeds: SeedsOption = "0",
    world: WorldOption = World.REAL,
    on_prem: OnPremOption = 0,
    estimates: EstimatesOption = Estimates.KNOWN,
    days: Annotated[float, typer.Option("--first-days", min=0.0, help="only the first days; 0: all")] = 0.0,
    trace_format: Annotated[TraceFormat | None, typer.Option("--format", help="when the columns do not tell")] = None,
    skip_bad: Annotated[bool, typer.Option("--skip-bad", help="leave bad rows out")] = False,
    catalog: Annotated[Path, typer.Option("--catalog", help="pools, prices, boot times, quotas")] = (
        STACKS / "catalog.yaml"
    ),
    workers: WorkersOption = 0,
    cluster: ClusterOption = "",
    out: OutOption = Path("out/sweep"),
    output: OutputOption = Format.TEXT,
    html: HtmlOption = None,
) -> None:
    """Run every policy on every trace under every seed, and show which are beaten by no other."""
    must_be_writable(html)
    rows = read_catalog(catalog)
    setting = Setting(
        catalog=rows,
        owned_nodes=owned_nodes(on_prem, rows),
        world=world,
        truth=Truth(estimates=estimates, spot=spot_markets(rows)),
    )
    numbers = _seeds(seeds)
    entrants = _entrants(policy, against, _patience(patience), setting)
    files = _files(_read(path, TraceReading(trace_format, days, skip_bad)) for path in traces)
    wanted = cells([(name, file) for name, file, _ in files], entrants, numbers, setting)
    with _store(out) as store, _crew(workers, cluster, files) as crew:
        found = _swept(wanted, store, crew)
    if html is not None:
        write_file(html, sweep_page(found, _told(setting, numbers)))
    _answer(found, output)
    if found.failed:
        raise typer.Exit(int(ExitCode.ERROR))


class TraceReading(NamedTuple):
    """How trace files are read."""

    format: TraceFormat | None
    days: float
    skip_bad: bool


# A trace's name for people, its file, and its jobs.
Read = tuple[str, TraceFile, Trace]


def _read(path: Path, how: TraceReading) -> Read:
    try:
        file = trace_file(path, format=how.format, days=how.days, skip_bad=how.skip_bad)
    except OSError as error:
        raise BadCall(
            f"cannot be read: {error.strerror}", target=str(path), hint="give a readable file of recorded jobs"
        ) from error
    trace = load(file)
    return trace.name, file, trace


def _files(read: Iterable[Read]) -> list[Read]:
    """Each content once; names that two contents share tell the path too."""
    once: dict[str, Read] = {}
    for name, file, trace in read:
        once.setdefault(file.digest, (name, file, trace))
    files = list(once.values())
    counts = Counter(name for name, _, _ in files)
    return [(f"{name} ({file.path})" if counts[name] > 1 else name, file, trace) for name, file, trace in files]


def _entrants(
    paths: Sequence[Path], against: Sequence[str], patience: Sequence[timedelta], setting: Setting
) -> list[Entrant]:
    """Policies, each once a patience, then baselines, which place and sample as the first policy does."""
    once = list(dict.fromkeys(paths))
    stems = Counter(path.stem for path in once)
    policies = [
        Entrant(name=path.stem if stems[path.stem] == 1 else str(path), policy=read_policy(path, setting.catalog))
        for path in once
    ]
    deaf = [it.name for it in policies if it.policy.wait_or_pay.join is Join.THRESHOLDS]
    if patience and deaf and setting.world is World.REAL:
        errors().print(
            f"note: wait_or_pay is off in {escape(', '.join(deaf))}, so that --patience changes nothing there"
        )
    try:
        others = [enter(text, policies[0].policy, setting.world) for text in dict.fromkeys(against)]
    except NoSuchEntrant as error:
        raise BadCall(str(error), target="--against", hint="name a baseline; policy files go to --policy") from error
    return [*with_patience(policies, patience), *others]


def _patience(text: str) -> list[timedelta]:
    try:
        found = list(dict.fromkeys(parse_duration(part.strip()) for part in text.split(",") if part.strip()))
    except BadUnit as error:
        raise BadCall(str(error), target="--patience", hint="write it such as 3m,6m,15m") from error
    if any(value <= timedelta(0) for value in found):
        raise BadCall("a patience of 0 is none", target="--patience", hint="write it such as 3m,6m,15m")
    return found


def _seeds(text: str) -> list[int]:
    hint = "write it such as 0-4 or 0,3,7"
    found: dict[int, None] = {}
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        ends = (first, last) if dash else (first, first)
        # Longer numbers than any seed would only cost time to be refused.
        if not all(end.isascii() and end.isdecimal() and len(end) <= _LONGEST_SEED for end in ends):
            raise BadCall(f"{part.strip()!r} is not a seed", target="--seeds", hint=hint)
        low, high = int(ends[0]), int(ends[1])
        if high < low or high - low >= _MOST_SEEDS:
            raise BadCall(f"{part.strip()!r} is not a range of up to {_MOST_SEEDS} seeds", target="--seeds", hint=hint)
        found |= dict.fromkeys(range(low, high + 1))
    return list(found)


@contextmanager
def _store(out: Path) -> Iterator[Store]:
    """The folder, for this sweep alone."""
    with ExitStack() as stack:
        try:
            store = stack.enter_context(opened(out))
        except SweepRunning as error:
            hint = "wait for it, end it, or give another folder with --out"
            raise BadCall(str(error), target=str(out), hint=hint) from error
        except OSError as error:
            hint = "give a folder that can be written with --out"
            raise BadCall(f"cannot be written: {error.strerror}", target=str(out), hint=hint) from error
        yield store


@contextmanager
def _crew(workers: int, address: str, files: Sequence[Read]) -> Iterator[Crew]:
    if address:
        with _on_cluster(address, files) as crew:
            yield crew
        return
    count = workers or len(os.sched_getaffinity(0))
    yield alone() if count == 1 else processes(count)


@contextmanager
def _on_cluster(address: str, files: Sequence[Read]) -> Iterator[Crew]:
    """A Dask cluster; its workers need this product installed, and get the traces from here."""
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        hint = "pip install 'spillway[cluster]'"
        raise BadCall("the package 'distributed' is not installed", target="--cluster", hint=hint) from error
    try:
        client = distributed.Client(address, timeout=_CLUSTER_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        hint = "give the address of a running Dask scheduler, such as tcp://10.0.0.5:8786"
        raise BadCall(f"no Dask scheduler answers at {address}: {error}", target="--cluster", hint=hint) from error
    with client:
        workers = sum(client.nthreads().values())
        if not workers:
            raise BadCall(f"the scheduler at {address} has no workers", target="--cluster", hint="start some")
        # What is scattered stands for the trace itself: Dask hands its workers the value.
        sent = {file: client.scatter(trace, broadcast=True, hash=False) for _, file, trace in files}
        yield Crew(make=client.get_executor, workers=workers, sent=sent)


def _swept(wanted: Sequence[Cell], store: Store, crew: Crew) -> Summary:
    """Run what is not done yet. Broken off, it says what is kept."""
    found = {cell.identity: kept for cell in wanted if (kept := store.find(cell)) is not None}
    todo = list({cell.identity: cell for cell in wanted if cell.identity not in found}.values())
    failed: dict[str, str] = {}
    if found:
        errors().print(f"{len(found)} of {len(wanted)} cells were done before")
    try:
        with closing(_watched(todo, crew)) as answers:
            for cell, answer in answers:
                if isinstance(answer, Failed):
                    failed[cell.identity] = answer.why
                    errors().print(f"[bold red]failed[/] {escape(cell.name)}: {escape(answer.why)}")
                else:
                    _keep(store, cell, answer)
                    found[cell.identity] = answer
    except KeyboardInterrupt:
        errors().print(f"stopped: {len(found)} of {len(wanted)} cells are kept; the same call goes on from there")
        raise
    return summary(wanted, found, failed)


def _keep(store: Store, cell: Cell, headline: Headline) -> None:
    try:
        store.keep(cell, headline)
    except OSError as error:
        raise BadCall(
            f"a result cannot be written: {error.strerror}", target=store.folder, hint="make room, then call again"
        ) from error


def _watched(todo: Sequence[Cell], crew: Crew) -> Generator[tuple[Cell, Answer], None, None]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=errors(), transient=True, disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(f"cells on {crew.workers} workers", total=len(todo))
        for cell, answer in run(todo, crew):
            progress.advance(task)
            yield cell, answer


def _told(setting: Setting, seeds: Sequence[int]) -> list[tuple[str, str]]:
    return [
        ("world", setting.world.value),
        ("seeds", ", ".join(map(str, seeds))),
        ("estimates of runtimes", setting.truth.estimates.value),
        ("owned GPUs", str(setting.owned_nodes * GPUS_PER_NODE)),
    ]


def _answer(found: Summary, output: Format) -> None:
    if output is Format.JSON:
        print_json(as_data(found))
        return
    for trace, rows in groupby(found.rows, key=lambda row: row.trace):
        console().print(f"[bold]{escape(trace)}[/]")
        console().print(table(HEADINGS, [cells_of(row) for row in rows], numbers=NUMBERS))
    if found.failed:
        errors().print(f"{len(found.failed)} cells failed; the same call runs them again")
